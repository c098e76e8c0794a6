package books

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

//go:embed read_beancount.py
var beancountScript string

// readBeancount reads a book with beancount's loader, including the plugins of the book, as bean-check does.
func readBeancount(ctx context.Context, program, file string) (Book, error) {
	out, err := output(ctx, strings.NewReader(beancountScript), pythonOf(program), "-", file)
	if err != nil && strings.Contains(err.Error(), "No module named 'beancount'") {
		err = exec.ErrNotFound
	}
	if err != nil {
		return Book{}, err
	}
	return parseBeancount(out)
}

// beancountBook is the output of the script.
type beancountBook struct {
	Errors []struct {
		File string
		Line int
		Text string
	}
	Accounts, Commodities []struct {
		Name string
		Meta pairs
	}
	Transactions []struct {
		File, Date, Flag, Payee, Narration string
		Line                               int
		Tags, Links                        []string
		Meta                               pairs
		Postings                           []struct {
			Account       string
			Line          int
			Units, Weight *beancountAmount
			Meta          pairs
		}
	}
	LeftOut map[string]int `json:"left_out"`
}

type beancountAmount struct{ Number, Commodity string }

func (a beancountAmount) amount() (Amount, error) {
	n, err := ParseNumber(a.Number)
	return Amount{n, a.Commodity}, err
}

// pairs are metadata as [[key, value], …].
type pairs [][2]string

func (p pairs) all() (all []Pair) {
	for _, pair := range p {
		all = append(all, Pair{pair[0], pair[1]})
	}
	return all
}

// parseBeancount parses the output of the script.
func parseBeancount(text []byte) (Book, error) {
	var in beancountBook
	if err := json.Unmarshal(text, &in); err != nil {
		return Book{}, fmt.Errorf("the output of beancount's loader cannot be parsed: %w", err)
	}
	b := Book{Accounts: make(map[string]string), Assets: make(map[string]string)}
	for _, e := range in.Errors {
		b.Problems = append(b.Problems, Problem{Position{e.File, e.Line}, strings.TrimSpace(e.Text)})
	}
	for _, a := range in.Accounts {
		b.Declared = append(b.Declared, a.Name)
		b.Accounts[a.Name] = valueOf(a.Meta.all(), TagAccount)
	}
	for _, c := range in.Commodities {
		b.Assets[c.Name] = valueOf(c.Meta.all(), TagAsset)
	}
	for _, t := range in.Transactions {
		to := Transaction{Position: Position{t.File, t.Line}, Date: t.Date, Metadata: t.Meta.all(),
			Description: described(t.Payee, t.Narration)}
		to.Metadata = append(to.Metadata, listed("tags", t.Tags)...)
		to.Metadata = append(to.Metadata, listed("links", t.Links)...)
		if t.Flag != "*" {
			to.Metadata = append(to.Metadata, Pair{"flag", t.Flag})
		}
		for _, p := range t.Postings {
			posting := Posting{Line: p.Line, Account: p.Account, Metadata: p.Meta.all()}
			if p.Units == nil {
				posting.Wrong = "the posting has no amount"
			} else {
				var err error
				if posting.Quantity, err = p.Units.amount(); err != nil {
					posting.Wrong = err.Error()
				}
				if p.Weight != nil {
					weight, err := p.Weight.amount()
					if err != nil {
						posting.Wrong = err.Error()
					}
					posting.Weight = &weight
				}
			}
			to.Postings = append(to.Postings, posting)
		}
		b.Transactions = append(b.Transactions, to)
	}
	for _, kind := range slices.Sorted(maps.Keys(in.LeftOut)) {
		b.Notes = append(b.Notes, fmt.Sprintf("%s directives are not imported (%d)", kind, in.LeftOut[kind]))
	}
	return b, nil
}

// described joins payee and narration, as plain-text books do.
func described(payee, narration string) string {
	if payee == "" || narration == "" {
		return payee + narration
	}
	return payee + " | " + narration
}

func listed(key string, values []string) []Pair {
	if len(values) == 0 {
		return nil
	}
	return []Pair{{key, strings.Join(values, ",")}}
}
