package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
)

// Pages of totals add up by asset, to the last of 38 digits. What is beyond them is an error.
func TestAddTotals(t *testing.T) {
	total := func(asset, quantity string, accounts int) client.GroupTotal {
		n, err := events.ParseAmount(quantity, events.FoldedDigits)
		if err != nil {
			t.Fatal(err)
		}
		return client.GroupTotal{Asset: asset, Accounts: accounts, Sums: client.Sums{Quantity: n, NetExpenditure: n.Neg(),
			Credits: n, Debits: n, PendingDebits: n, PendingCredits: n, Postings: int64(accounts)}}
	}
	var sum []client.GroupTotal
	for _, page := range [][]client.GroupTotal{
		{total("B", "1", 1), total("D", "-5", 2)},
		nil,
		{total("A", "7", 1), total("B", strings.Repeat("9", 37)+"0", 3), total("C", "0", 1)},
	} {
		before := slices.Clone(sum)
		next, err := client.AddTotals(sum, page)
		if err != nil || !slices.Equal(sum, before) {
			t.Fatal(err, sum)
		}
		sum = next
	}
	want := []client.GroupTotal{total("A", "7", 1), total("B", strings.Repeat("9", 37)+"1", 4), total("C", "0", 1),
		total("D", "-5", 2)}
	if !slices.Equal(sum, want) {
		t.Errorf("%+v, want %+v", sum, want)
	}
	if _, err := client.AddTotals(sum, []client.GroupTotal{total("B", "9", 1)}); !errors.Is(err, events.ErrOverflow) {
		t.Errorf("beyond 38 digits: %v", err)
	}
}
