package books

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// readHledger reads a journal with `hledger print`, which also checks that entries balance and assertions hold.
func readHledger(ctx context.Context, program, file string) (Book, error) {
	out, err := output(ctx, nil, program, "-f", file, "print", "-x", "-O", "json")
	if err != nil {
		return Book{}, err
	}
	b, err := parseHledger(out)
	if err != nil {
		return Book{}, err
	}
	declared, err := output(ctx, nil, program, "-f", file, "accounts", "--declared")
	if err != nil {
		return Book{}, err
	}
	for name := range strings.Lines(string(declared)) {
		if name = strings.TrimSpace(name); name != "" {
			b.Declared = append(b.Declared, name)
		}
	}
	return b, nil
}

// hledgerPlaces is the maximum number of decimals in hledger's JSON. hledger rounds numbers with more.
const hledgerPlaces = 10

// hledgerTransaction has the fields that are used of a transaction of `hledger print -O json`.
type hledgerTransaction struct {
	Date        string      `json:"tdate"`
	Date2       string      `json:"tdate2"`
	Code        string      `json:"tcode"`
	Description string      `json:"tdescription"`
	Status      string      `json:"tstatus"`
	Tags        [][2]string `json:"ttags"`
	Comment     string      `json:"tcomment"`
	Sources     []struct {
		Name string `json:"sourceName"`
		Line int    `json:"sourceLine"`
	} `json:"tsourcepos"`
	Postings []struct {
		Account string          `json:"paccount"`
		Amounts []hledgerAmount `json:"pamount"`
		Date    string          `json:"pdate"`
		Type    string          `json:"ptype"`
		Tags    [][2]string     `json:"ptags"`
	} `json:"tpostings"`
}

type hledgerAmount struct {
	Commodity string `json:"acommodity"`
	Quantity  struct {
		Mantissa json.Number `json:"decimalMantissa"`
		Places   int         `json:"decimalPlaces"`
	} `json:"aquantity"`
	Price *hledgerPrice `json:"aprice"`
	Cost  *hledgerPrice `json:"acost"` // in newer versions
}

type hledgerPrice struct {
	Tag      string        `json:"tag"` // UnitPrice or TotalPrice; in newer versions, UnitCost or TotalCost
	Contents hledgerAmount `json:"contents"`
}

func (a hledgerAmount) amount() (Amount, error) {
	units, ok := new(big.Rat).SetString(a.Quantity.Mantissa.String()) // a large mantissa is written as 1.0e29
	switch {
	case !ok || !units.IsInt() || a.Quantity.Places < 0:
		return Amount{}, fmt.Errorf("%s is not a number that can be imported", a.Quantity.Mantissa)
	case a.Quantity.Places >= hledgerPlaces:
		return Amount{}, fmt.Errorf("a number of %q has %d decimals or more, so hledger may have rounded it",
			a.Commodity, hledgerPlaces)
	}
	return Amount{numberOf(units.Num(), a.Quantity.Places), a.Commodity}, nil
}

// weight returns the price of the whole amount, with the sign of the amount, or nil without a price.
func (a hledgerAmount) weight(quantity Number) (*Amount, error) {
	price := cmp.Or(a.Price, a.Cost)
	if price == nil {
		return nil, nil //nolint:nilnil // it has none
	}
	w, err := price.Contents.amount()
	switch {
	case err != nil:
		return nil, err
	case strings.HasPrefix(price.Tag, "Unit"):
		w.Number = w.Number.times(quantity)
	case !strings.HasPrefix(price.Tag, "Total"):
		return nil, fmt.Errorf("unknown kind of price %q", price.Tag)
	case quantity.sign() != w.Number.sign(): // only some versions write the sign
		w.Number = w.Number.negated().trimmed()
	}
	return &w, nil
}

// parseHledger parses the output of `hledger print -O json`.
func parseHledger(text []byte) (Book, error) {
	var in []hledgerTransaction
	if err := json.Unmarshal(text, &in); err != nil {
		return Book{}, fmt.Errorf("the output of hledger cannot be parsed: %w", err)
	}
	b := Book{}
	for _, t := range in {
		to := Transaction{Date: t.Date, Description: t.Description}
		if len(t.Sources) > 0 {
			to.Position = Position{t.Sources[0].Name, t.Sources[0].Line}
		}
		to.Metadata = tags(t.Tags)
		to.code(t.Code)
		if t.Date2 != "" {
			to.Metadata = append(to.Metadata, Pair{"date2", t.Date2})
		}
		if t.Status == "Pending" {
			to.Metadata = append(to.Metadata, Pair{"status", "pending"})
		}
		if len(t.Tags) == 0 && strings.TrimSpace(t.Comment) != "" {
			to.Metadata = append(to.Metadata, Pair{"comment", strings.TrimSpace(t.Comment)})
		}
		for _, p := range t.Postings { // their lines are unknown
			for _, a := range p.Amounts {
				posting := Posting{Account: p.Account, Metadata: tags(p.Tags)}
				var err error
				if posting.Quantity, err = a.amount(); err == nil {
					posting.Weight, err = a.weight(posting.Quantity.Number)
				}
				switch {
				case err != nil:
					posting.Wrong = err.Error()
				case p.Type == "VirtualPosting" && !posting.Quantity.Number.isZero():
					posting.Wrong = virtual(p.Account)
				case p.Date != "" && p.Date != t.Date:
					posting.Wrong = dated(p.Account, p.Date)
				}
				to.Postings = append(to.Postings, posting)
			}
		}
		b.Transactions = append(b.Transactions, to)
	}
	return b, nil
}

func virtual(account string) string {
	return fmt.Sprintf("(%s) is an unbalanced virtual posting, which cannot be imported", account)
}

func dated(account, date string) string {
	return fmt.Sprintf("the posting to %s has its own date, %s, but all postings of a transaction have one time",
		account, date)
}

func tags(all [][2]string) []Pair { return pairs(all).all() }

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
