package books

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// held is an account and a commodity, by their names in the book.
type held struct{ account, commodity string }

// sums adds up the quantities of entries, by account and commodity.
func sums(transactions []Transaction) map[held]*sum {
	all := make(map[held]*sum)
	for _, t := range transactions {
		for _, p := range t.Postings {
			of := held{p.Account, p.Quantity.Commodity}
			addTo(all, of, p.Quantity.Number)
		}
	}
	return all
}

// agrees compares the sums of the postings with the balances of `ledger balance`, as CSV of accounts and amounts. It is
// an error if a posting was not read, or was read twice.
func (b Book) agrees(balances []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(balances)).ReadAll()
	if err != nil {
		return fmt.Errorf("the balances of ledger cannot be parsed: %w", err)
	}
	sums := sums(b.Transactions)
	symbols := make(map[string][]string) // by account
	for _, of := range sortedHeld(sums) {
		symbols[of.account] = append(symbols[of.account], of.commodity)
	}
	for _, row := range rows {
		account := row[0]
		longestFirst := slices.SortedFunc(slices.Values(symbols[account]), func(a, b string) int {
			return cmp.Compare(len(b), len(a))
		})
		for amount := range strings.Lines(row[1]) {
			amount = strings.TrimSpace(amount)
			commodity, number := split(amount, longestFirst)
			of := held{account, commodity}
			switch s := sums[of]; {
			case s != nil && s.isWritten(number):
				delete(sums, of)
			case s != nil || number != "0":
				return differs(account, amount, s)
			}
		}
	}
	for _, of := range sortedHeld(sums) {
		if s := sums[of]; !s.isWritten("0") {
			return differs(of.account, "nothing", s)
		}
	}
	return nil
}

func differs(account, balance string, s *sum) error {
	read := "nothing"
	if s != nil {
		read = s.total.FloatString(s.places)
	}
	return fmt.Errorf("ledger's balance of %q is %s, but its postings add up to %s: this version of ledger cannot be "+
		"read safely, so nothing is imported. Another one can be given by --program", account, balance, read)
}

// split splits an amount into one of the given commodities and the number.
func split(amount string, commodities []string) (commodity, number string) {
	for _, c := range commodities {
		for _, symbol := range []string{`"` + c + `"`, c} {
			if before, after, ok := strings.Cut(amount, symbol); ok && c != "" {
				return c, strings.TrimSpace(before + after)
			}
		}
	}
	return "", amount
}

// sum is a sum of numbers.
type sum struct {
	total     big.Rat
	n, places int // how many numbers, and the most decimals of them
}

func (s *sum) add(n Number) {
	s.total.Add(&s.total, n.value())
	s.n, s.places = s.n+1, max(s.places, n.trimmed().places)
}

// dividedPlaces is the least number of decimals of a quotient, of which ledger prints only the first ones.
const dividedPlaces = 6

// isWritten reports whether a text stands for the sum. Point and comma may be the mark of decimals or of thousands.
// Each quotient in the sum may be rounded.
func (s *sum) isWritten(text string) bool {
	within := new(big.Rat)
	if s.places >= dividedPlaces {
		within.SetFrac(big.NewInt(int64(s.n)), power(s.places))
	}
	for _, marks := range [][2]string{{".", ","}, {",", "."}} {
		n, err := ParseNumber(strings.Replace(strings.ReplaceAll(text, marks[1], ""), marks[0], ".", 1))
		difference := new(big.Rat).Sub(n.value(), &s.total)
		if err == nil && difference.Abs(difference).Cmp(within) <= 0 {
			return true
		}
	}
	return false
}
