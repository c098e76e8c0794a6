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

// ledgerFields are the fields that `ledger register` prints of each posting, as CSV (RFC 4180). Ledger's csv and xml
// commands leave out the position of a posting, or its decimals.
var ledgerFields = []string{
	"quoted_rfc(filename)", "xact.beg_line", "beg_line",
	`quoted_rfc(format_date(xact.date, "%Y-%m-%d"))`, `quoted_rfc(format_date(date, "%Y-%m-%d"))`,
	"quoted_rfc(code)", "quoted_rfc(payee)", "quoted_rfc(xact.note)", "quoted_rfc(note)",
	"pending", "quoted_rfc(display_account)",
	"quantity(amount)", "quoted_rfc(commodity(amount))", "quantity(cost)", "quoted_rfc(commodity(cost))",
	"quoted_rfc(amount)",
}

// readLedger reads a journal with `ledger register`, which also checks that entries balance and assertions hold.
func readLedger(ctx context.Context, program, file string) (Book, error) {
	format := "%(" + strings.Join(ledgerFields, "),%(") + ")\n"
	out, err := output(ctx, nil, program, "--args-only", "-f", file, "--format", format, "register")
	if err != nil {
		return Book{}, err
	}
	return parseLedger(out)
}

// parseLedger parses rows of ledgerFields.
func parseLedger(text []byte) (Book, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = len(ledgerFields)
	rows, err := r.ReadAll()
	if err != nil {
		return Book{}, fmt.Errorf("the output of ledger cannot be parsed: %w", err)
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

// unquoted removes the quotes that ledger writes around some commodities.
func unquoted(commodity string) string { return strings.Trim(commodity, `"`) }

var (
	// shownPlaces matches the decimals of a formatted amount. The field quantity has no trailing zeros.
	shownPlaces = regexp.MustCompile(`\.([0-9]+)(?:[^0-9.,]|$)`)

	valueTag = regexp.MustCompile(`^\s*([^\s:]+):\s+(.*\S)\s*$`)
	plainTag = regexp.MustCompile(`^\s*:(\S+):\s*$`)
)

// noted returns the metadata in a note: a line "key: value" is a pair, ":one:two:" are tags, and the rest is a comment.
func noted(note string) (all []Pair) {
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
