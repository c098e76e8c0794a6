package books

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// ledgerFields are the fields that `ledger register` prints of each posting, as CSV (RFC 4180). Ledger's csv and xml
// commands leave out the position of a posting, or its decimals.
var ledgerFields = []string{
	"quoted_rfc(filename)", "xact.beg_line", "beg_line",
	`quoted_rfc(format_date(xact.date, "%Y-%m-%d"))`, `quoted_rfc(format_date(date, "%Y-%m-%d"))`,
	"quoted_rfc(code)", "quoted_rfc(payee)", "quoted_rfc(xact.note)", "quoted_rfc(note)",
	"pending", "quoted_rfc(account)", "virtual", "quoted_rfc(display_account)", "calculated",
	"quantity(amount)", "quoted_rfc(commodity(amount))", "quantity(cost)", "quoted_rfc(commodity(cost))",
	"quoted_rfc(amount)",
}

// The first field of a row: whether the row is the first one of its entry, or of another date than the one before.
const (
	firstRow = "first"
	laterRow = "later"
)

// readLedger reads a journal with `ledger register`, which also checks that entries balance and assertions hold. A
// report leaves out postings that would be printed as zero, unless --empty and --unround tell it not to. So the totals
// of what was read are compared with those of `ledger balance`.
func readLedger(ctx context.Context, program, file string) (Book, error) {
	fields := ",%(" + strings.Join(ledgerFields, "),%(") + ")\n"
	// Without the environment and ~/.ledgerrc, whose options may hide postings.
	options := []string{"--args-only", "-f", file, "--empty", "--unround"}
	var postings, totals []byte
	runs, running := errgroup.WithContext(ctx)
	runs.Go(func() (err error) {
		postings, err = output(running, nil, program, append(options[:len(options):len(options)],
			"--format", firstRow+fields+"%/"+laterRow+fields, "register")...)
		return err
	})
	runs.Go(func() (err error) {
		totals, err = output(running, nil, program, append(options[:len(options):len(options)],
			"--flat", "--no-total", "--format", "%(quoted_rfc(account)),%(quoted_rfc(strip(amount)))\n", "balance")...)
		return err
	})
	if err := runs.Wait(); err != nil {
		return Book{}, err
	}
	b, err := parseLedger(postings)
	if err != nil {
		return Book{}, err
	}
	return b, b.agrees(totals)
}

// parseLedger parses rows of ledgerFields.
func parseLedger(text []byte) (Book, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = 1 + len(ledgerFields)
	rows, err := r.ReadAll()
	if err != nil {
		return Book{}, fmt.Errorf("the output of ledger cannot be parsed: %w", err)
	}
	b := Book{}
	own := "" // date of the row before
	for _, row := range rows {
		t, p, err := parseLedgerRow(row[1:])
		if err != nil {
			return Book{}, err
		}
		last := len(b.Transactions) - 1
		// A file may be included twice, so a position is not enough to tell entries apart.
		sameEntry := last >= 0 && b.Transactions[last].Position == t.Position && (row[0] == laterRow || own != row[5])
		if own = row[5]; !sameEntry {
			b.Transactions = append(b.Transactions, t)
			last++
		}
		entry := &b.Transactions[last]
		entry.Postings = append(entry.Postings, p)
	}
	return b, nil
}

// parseLedgerRow parses one row of ledgerFields: the entry without its postings, and the posting.
func parseLedgerRow(row []string) (t Transaction, p Posting, err error) {
	file, first, line, date, own := row[0], row[1], row[2], row[3], row[4]
	code, payee, entryNote, note, pending := row[5], row[6], row[7], row[8], row[9]
	account, isVirtual, shownAccount := row[10], row[11] == "true", row[12]
	inferred, quantity, commodity, cost, costCommodity, shown := row[13], row[14], row[15], row[16], row[17], row[18]

	t = Transaction{Position: Position{File: file}, Date: date, Description: payee, Metadata: notePairs(entryNote)}
	t.Line, err = strconv.Atoi(first)
	if err != nil {
		return t, p, fmt.Errorf("the output of ledger cannot be parsed: %w", err)
	}
	t.code(code)
	if pending == "true" {
		t.Metadata = append(t.Metadata, Pair{"status", "pending"})
	}

	p = Posting{Account: account, Virtual: isVirtual && shownAccount == "("+account+")", Inferred: inferred == "true",
		Metadata: notePairs(strings.TrimSuffix(note, entryNote))}
	p.Line, _ = strconv.Atoi(line)
	units, err := ParseNumber(quantity)
	shown, _, _ = strings.Cut(strings.ReplaceAll(shown, commodity, ""), "{")
	if match := shownPlaces.FindStringSubmatch(shown); match != nil {
		units = units.withPlaces(len(match[1]))
	}
	p.Quantity = Amount{units, unquoted(commodity)}
	if err == nil && cost != "" && commodity != costCommodity {
		units, err = ParseNumber(cost)
		p.Weight = &Amount{units, unquoted(costCommodity)}
	}
	switch {
	case err != nil:
		p.Wrong = err.Error()
	case own != date:
		p.Wrong = dated(p.Account, own)
	}
	return t, p, nil
}

// unquoted removes the quotes that ledger writes around some commodities.
func unquoted(commodity string) string { return strings.Trim(commodity, `"`) }

var (
	// shownPlaces matches the decimals of a formatted amount. The field quantity has no trailing zeros.
	shownPlaces = regexp.MustCompile(`\.([0-9]+)(?:[^0-9.,]|$)`)

	valueTag = regexp.MustCompile(`^\s*([^\s:]+):\s+(.*\S)\s*$`)
	plainTag = regexp.MustCompile(`^\s*:(\S+):\s*$`)
)

// notePairs returns the metadata in a note: a line "key: value" is a pair, ":one:two:" are tags, and the rest is a
// comment.
func notePairs(note string) (all []Pair) {
	var words, comment []string
	for line := range strings.Lines(note) {
		if match := valueTag.FindStringSubmatch(line); match != nil {
			all = append(all, Pair{match[1], match[2]})
		} else if match := plainTag.FindStringSubmatch(line); match != nil {
			words = append(words, strings.Split(match[1], ":")...)
		} else if line = strings.TrimSpace(line); line != "" {
			comment = append(comment, line)
		}
	}
	all = append(all, listed("tags", words)...)
	if len(comment) > 0 {
		all = append(all, Pair{"comment", strings.Join(comment, " ")})
	}
	return all
}
