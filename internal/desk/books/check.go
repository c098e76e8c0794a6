package books

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// Check compares the totals before a day with the balances that the program of the book has at its beginning. It is an
// error if they differ.
func Check(ctx context.Context, format, program, file string, b *Book, day string) error {
	older := func(yield func(Transaction, error) bool) {
		for t, err := range b.all() {
			if (err != nil || t.Date < day) && !yield(t, err) {
				return
			}
		}
	}
	program, err := programOf(format, program)
	if err != nil {
		return err
	}
	return formats[format].check(ctx, program, file, older, day)
}

// checkLedger compares with `ledger balance`.
func checkLedger(ctx context.Context, program, file string, older entries, day string) error {
	balances, err := ledgerBalances(ctx, program, file, "--end", day)
	if err != nil {
		return err
	}
	return agrees(older, balances)
}

// checkHledger compares with `hledger balance`.
func checkHledger(ctx context.Context, program, file string, older entries, day string) error {
	options, err := hledgerOptions(ctx, program, file)
	if err != nil {
		return err
	}
	out, err := output(ctx, nil, program, append(options, "balance", "--flat", "-E", "-e", day, "-O", "json")...)
	if err != nil {
		return err
	}
	var report []json.RawMessage // of the accounts, and the total
	var rows [][4]json.RawMessage
	if err = json.Unmarshal(out, &report); err == nil && len(report) > 0 {
		err = json.Unmarshal(report[0], &rows)
	}
	balances := make(map[held]*sum)
	for _, row := range rows {
		var account string
		var amounts []hledgerAmount
		if err := json.Unmarshal(row[0], &account); err != nil {
			return fmt.Errorf("the balances of hledger cannot be parsed: %w", err)
		}
		if err := json.Unmarshal(row[3], &amounts); err != nil {
			return fmt.Errorf("the balances of hledger cannot be parsed: %w", err)
		}
		for _, a := range amounts {
			units, ok := new(big.Rat).SetString(a.Quantity.Mantissa.String())
			if !ok || !units.IsInt() || a.Quantity.Places < 0 {
				return fmt.Errorf("the balance of %q is not a number: %s", account, a.Quantity.Mantissa)
			}
			addTo(balances, held{account, a.Commodity}, numberOf(units.Num(), a.Quantity.Places))
		}
	}
	if err != nil {
		return fmt.Errorf("the balances of hledger cannot be parsed: %w", err)
	}
	return equal(older, "hledger", balances)
}

// checkBeancount compares with the balances of beancount's library.
func checkBeancount(ctx context.Context, program, file string, older entries, day string) error {
	out, err := output(ctx, strings.NewReader(beancountScript), pythonOf(program), "-", file, day)
	if err != nil {
		return err
	}
	var in struct {
		Balances []struct{ Account, Number, Commodity string }
	}
	if err := json.Unmarshal(out, &in); err != nil {
		return fmt.Errorf("the balances of beancount cannot be parsed: %w", err)
	}
	balances := make(map[held]*sum)
	for _, row := range in.Balances {
		n, err := ParseNumber(row.Number)
		if err != nil {
			return err
		}
		addTo(balances, held{row.Account, row.Commodity}, n)
	}
	return equal(older, "beancount", balances)
}

func addTo(all map[held]*sum, of held, n Number) {
	if all[of] == nil {
		all[of] = new(sum)
	}
	all[of].add(n)
}

// equal compares the sums of the postings with the balances of a program. hledger's numbers have hledgerPlaces decimals
// at most, so longer ones may be rounded.
func equal(older entries, program string, balances map[held]*sum) error {
	read, err := sums(older)
	if err != nil {
		return err
	}
	for of := range balances {
		if read[of] == nil {
			read[of] = new(sum)
		}
	}
	for _, of := range sortedHeld(read) {
		s, balance, within := read[of], balances[of], new(big.Rat)
		if balance == nil {
			balance = new(sum)
		}
		if max(s.places, balance.places) >= hledgerPlaces {
			within.SetFrac(big.NewInt(int64(s.n+1)), power(hledgerPlaces))
		}
		if d := new(big.Rat).Sub(&s.total, &balance.total); d.Abs(d).Cmp(within) > 0 {
			return fmt.Errorf("%s's balance of %q is %s %s, but its postings add up to %s: the opening entries would "+
				"be wrong, so nothing is imported. Replace the entries before that day by one entry of it with their "+
				"totals, and import the book without --opening", program, of.account,
				balance.total.FloatString(balance.places), of.commodity, s.total.FloatString(s.places))
		}
	}
	return nil
}
