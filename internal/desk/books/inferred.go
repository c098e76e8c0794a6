package books

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// hledgerPlaces is the maximum number of decimals in hledger's JSON. hledger rounds numbers with more.
const hledgerPlaces = 10

// mayBeInferred reports whether hledger may have computed an amount with more decimals than anybody wrote: an amount
// that balances a price, and has more decimals than others of its commodity.
func (b *Book) mayBeInferred() (bool, error) {
	written, computed := make(map[string]int), make(map[string]int) // most decimals, by commodity
	for t, err := range b.all() {
		if err != nil {
			return false, err
		}
		isPriced := t.isPriced()
		for _, p := range t.Postings {
			of := written
			if isPriced && p.Weight == nil {
				of = computed
			}
			of[p.Quantity.Commodity] = max(of[p.Quantity.Commodity], p.Quantity.Number.decimals())
		}
	}
	for commodity, decimals := range computed {
		if decimals > written[commodity] {
			return true, nil
		}
	}
	return false, nil
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
func elided(out io.Reader) (entries [][]bool, err error) {
	lines := bufio.NewReader(out)
	for err == nil {
		var line []byte
		line, err = lines.ReadBytes('\n')
		switch match := writtenPosting.FindSubmatch(bytes.TrimRight(line, "\n")); {
		case len(line) > 0 && '0' <= line[0] && line[0] <= '9':
			entries = append(entries, nil)
		case match != nil && len(entries) > 0:
			amount := string(match[1])
			last := &entries[len(entries)-1]
			*last = append(*last, amount == "" || strings.HasPrefix(amount, "=") || strings.HasPrefix(amount, ";"))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// writtenPosting matches a line of a posting, and what follows the account after two spaces.
var writtenPosting = regexp.MustCompile(`^\s+(?:[*!]\s+)?[^;\s](?:.*?)(?:\s\s+(.*))?$`)

// completeHledger marks the postings that stand in the book without an amount, and refuses the written numbers that
// hledger may have rounded. If the entries do not match, it marks none.
func (b *Book) completeHledger(elided [][]bool) {
	b.complete = func(n int, t *Transaction) {
		for i := range t.Postings {
			p := &t.Postings[i]
			if len(elided) == b.Len() && p.Nth < len(elided[n]) {
				p.Inferred = elided[n][p.Nth]
			}
			if !p.Inferred && p.Wrong == "" && p.Quantity.Number.places >= hledgerPlaces {
				p.Wrong = fmt.Sprintf("a number of %q has %d decimals or more, and hledger rounds such numbers for "+
					"other programs: round it in the book, or let another program read it, with --format ledger",
					p.Quantity.Commodity, hledgerPlaces)
			}
		}
	}
}
