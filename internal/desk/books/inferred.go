package books

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// hledgerPlaces is the maximum number of decimals in hledger's JSON. hledger rounds numbers with more.
const hledgerPlaces = 10

// mayBeInferred reports whether hledger may have computed an amount with more decimals than anybody wrote: an amount
// that balances a price, and has more decimals than others of its commodity.
func (b Book) mayBeInferred() bool {
	written := make(map[string]int) // most decimals, by commodity
	for _, t := range b.Transactions {
		isPriced := t.isPriced()
		for _, p := range t.Postings {
			if !isPriced || p.Weight != nil {
				written[p.Quantity.Commodity] = max(written[p.Quantity.Commodity], p.Quantity.Number.decimals())
			}
		}
	}
	for _, t := range b.Transactions {
		if !t.isPriced() {
			continue
		}
		for _, p := range t.Postings {
			if p.Weight == nil && p.Quantity.Number.decimals() > written[p.Quantity.Commodity] {
				return true
			}
		}
	}
	return false
}

func (t Transaction) isPriced() bool {
	for _, p := range t.Postings {
		if p.Weight != nil {
			return true
		}
	}
	return false
}

// elided returns the postings without an amount in the output of `hledger print`, by entry and number. hledger's JSON
// has all amounts. It does not tell which ones it inferred.
func elided(text []byte) (entries [][]bool) {
	for line := range bytes.Lines(text) {
		switch match := writtenPosting.FindSubmatch(bytes.TrimRight(line, "\n")); {
		case len(line) > 0 && '0' <= line[0] && line[0] <= '9':
			entries = append(entries, nil)
		case match != nil && len(entries) > 0:
			amount := string(match[1])
			last := &entries[len(entries)-1]
			*last = append(*last, amount == "" || strings.HasPrefix(amount, "=") || strings.HasPrefix(amount, ";"))
		}
	}
	return entries
}

// writtenPosting matches a line of a posting, and what follows the account after two spaces.
var writtenPosting = regexp.MustCompile(`^\s+(?:[*!]\s+)?[^;\s](?:.*?)(?:\s\s+(.*))?$`)

// markInferred marks the postings that stand in the book without an amount. If the entries do not match, it marks none.
func (b Book) markInferred(elided [][]bool) {
	if len(elided) != len(b.Transactions) {
		return
	}
	for i, t := range b.Transactions {
		for n := range t.Postings {
			if p := &t.Postings[n]; p.number < len(elided[i]) {
				p.Inferred = elided[i][p.number]
			}
		}
	}
}

// refuseRounded refuses the written numbers that hledger may have rounded.
func (b Book) refuseRounded() {
	for _, t := range b.Transactions {
		for n := range t.Postings {
			if p := &t.Postings[n]; !p.Inferred && p.Wrong == "" && p.Quantity.Number.places >= hledgerPlaces {
				p.Wrong = fmt.Sprintf("a number of %q has %d decimals or more, and hledger rounds such numbers for "+
					"other programs: round it in the book, or let another program read it, with --format ledger",
					p.Quantity.Commodity, hledgerPlaces)
			}
		}
	}
}
