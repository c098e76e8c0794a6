package books

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ledgerFields are what `ledger register` is asked to print of each posting, as fields of CSV (RFC 4180), in this
// order. Ledger's own csv and xml commands leave out where a posting stands, or how it is written.
var ledgerFields = []string{
	"quoted_rfc(filename)", "xact.beg_line", "beg_line",
	`quoted_rfc(format_date(xact.date, "%Y-%m-%d"))`, `quoted_rfc(format_date(date, "%Y-%m-%d"))`,
	"quoted_rfc(code)", "quoted_rfc(payee)", "quoted_rfc(xact.note)", "quoted_rfc(note)",
	"pending", "quoted_rfc(display_account)",
	"quantity(amount)", "quoted_rfc(commodity(amount))", "quantity(cost)", "quoted_rfc(commodity(cost))",
	"quoted_rfc(amount)",
}

// readLedger reads a journal by `ledger register`, which checks it: what doesn't balance, and assertions that fail, are
// its errors.
func readLedger(ctx context.Context, file string) (Book, error) {
	format := "%(" + strings.Join(ledgerFields, "),%(") + ")\n"
	out, err := output(ctx, installLedger, nil, "ledger", "--args-only", "-f", file, "--format", format, "register")
	if err != nil {
		return Book{}, err
	}
	return parseLedger(out)
}

// parseLedger reads what ledger was asked to print.
func parseLedger(text []byte) (Book, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = len(ledgerFields)
	rows, err := r.ReadAll()
	if err != nil {
		return Book{}, fmt.Errorf("what ledger printed cannot be read: %w", err)
	}
	b := Book{}
	for _, row := range rows {
		file, first, line, date, own := row[0], row[1], row[2], row[3], row[4]
		code, payee, entryNote, note, pending := row[5], row[6], row[7], row[8], row[9]
		account, quantity, commodity, cost, costCommodity := row[10], row[11], row[12], row[13], row[14]
		shown, _, _ := strings.Cut(strings.ReplaceAll(row[15], commodity, ""), "{")
		at := Position{File: file}
		at.Line, _ = strconv.Atoi(first)
		last := len(b.Transactions) - 1
		if last < 0 || b.Transactions[last].Position != at {
			t := Transaction{Position: at, Date: date, Description: payee, Metadata: noted(entryNote)}
			t.code(code)
			if pending == "true" {
				t.Metadata = append(t.Metadata, Pair{"status", "pending"})
			}
			b.Transactions = append(b.Transactions, t)
			last++
		}
		p := Posting{Metadata: noted(strings.TrimSuffix(note, entryNote))}
		p.Line, _ = strconv.Atoi(line)
		p.Account = strings.Trim(account, "()[]")
		units, err := ParseNumber(quantity)
		if of := shownPlaces.FindStringSubmatch(shown); of != nil {
			units = units.withPlaces(len(of[1]))
		}
		p.Quantity = Amount{units, unquoted(commodity)}
		if err == nil && cost != "" && commodity != costCommodity {
			units, err = ParseNumber(cost)
			p.Weight = &Amount{units, unquoted(costCommodity)}
		}
		switch {
		case err != nil:
			p.Wrong = err.Error()
		case strings.HasPrefix(account, "(") && !p.Quantity.Number.isZero():
			p.Wrong = virtual(p.Account)
		case own != date:
			p.Wrong = dated(p.Account, own)
		}
		t := &b.Transactions[last]
		t.Postings = append(t.Postings, p)
	}
	return b, nil
}

// unquoted is a commodity without the quotes that ledger writes around some.
func unquoted(commodity string) string { return strings.Trim(commodity, `"`) }

var (
	// shownPlaces finds the decimals of an amount as ledger shows it: the number itself comes without zeros at its end.
	shownPlaces = regexp.MustCompile(`\.([0-9]+)(?:[^0-9.,]|$)`)

	valueTag = regexp.MustCompile(`^\s*([^\s:]+):\s+(.*\S)\s*$`)
	plainTag = regexp.MustCompile(`^\s*:(\S+):\s*$`)
)

// noted is the metadata in a note: a line "key: value" is a pair, ":one:two:" are tags, and the rest is the comment.
func noted(note string) (all []Pair) {
	var words, comment []string
	for line := range strings.Lines(note) {
		if of := valueTag.FindStringSubmatch(line); of != nil {
			all = append(all, Pair{of[1], of[2]})
		} else if of := plainTag.FindStringSubmatch(line); of != nil {
			words = append(words, strings.Split(of[1], ":")...)
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
