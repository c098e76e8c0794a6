package books

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// held is an account and a commodity, by their names in the book.
type held struct{ account, commodity string }

// sums adds up the quantities of entries, by account and commodity.
func sums(of entries) (all map[held]*sum, err error) {
	all = make(map[held]*sum)
	for t, err := range of {
		if err != nil {
			return nil, err
		}
		for _, p := range t.Postings {
			addTo(all, held{p.Account, p.Quantity.Commodity}, p.Quantity.Number)
		}
	}
	return all, nil
}

// agrees compares the sums of the postings with the balances of `ledger balance`, as CSV of accounts and amounts. It is
// an error if a posting was not read, or was read twice.
func agrees(all entries, balances []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(balances)).ReadAll()
	if err != nil {
		return fmt.Errorf("the balances of ledger cannot be parsed: %w", err)
	}
	sums, err := sums(all)
	if err != nil {
		return err
	}
	symbols := make(map[string][]string) // by account
	for _, of := range sortedHeld(sums) {
		symbols[of.account] = append(symbols[of.account], of.commodity)
	}
	for _, row := range rows {
		account := row[0]
		longestFirst := slices.SortedFunc(slices.Values(symbols[account]), func(a, b string) int {
			return cmp.Compare(len(b), len(a))
		})
		numbers := make(map[held][]string) // a commodity has several if some of its lots have fixed prices
		for amount := range strings.Lines(row[1]) {
			amount = fixedPrice.ReplaceAllString(strings.TrimSpace(amount), "")
			commodity, number := split(amount, longestFirst)
			of := held{account, commodity}
			numbers[of] = append(numbers[of], number)
		}
		for _, of := range sortedHeld(numbers) {
			switch s := sums[of]; {
			case s != nil && s.isWritten(numbers[of]...):
				delete(sums, of)
			case s != nil || !slices.Equal(numbers[of], []string{"0"}):
				return differs(account, strings.TrimSpace(strings.Join(numbers[of], " and ")+" "+of.commodity), s)
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

// fixedPrice matches the price that ledger prints after an amount of a lot with a fixed price, as {=$3.00}.
var fixedPrice = regexp.MustCompile(` \{=[^}]*\}$`)

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

// isWritten reports whether texts add up to the sum. Point and comma may be the mark of decimals or of thousands. Each
// quotient in the sum may be rounded.
func (s *sum) isWritten(texts ...string) bool {
	within := new(big.Rat)
	if s.places >= dividedPlaces {
		within.SetFrac(big.NewInt(int64(s.n)), power(s.places))
	}
	for _, marks := range [][2]string{{".", ","}, {",", "."}} {
		difference, isValid := new(big.Rat).Neg(&s.total), true
		for _, text := range texts {
			n, err := ParseNumber(strings.Replace(strings.ReplaceAll(text, marks[1], ""), marks[0], ".", 1))
			difference.Add(difference, n.value())
			isValid = isValid && err == nil
		}
		if isValid && difference.Abs(difference).Cmp(within) <= 0 {
			return true
		}
	}
	return false
}
