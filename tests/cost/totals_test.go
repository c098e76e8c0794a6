package cost

import (
	"fmt"
	"net/url"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/harness/caller"
)

// A page of a group's totals takes a bounded number of requests and read units, however the balances are spread over
// the accounts. All pages together have each balance once.
func TestUnitsOfAPageOfTotals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		accounts int
		balances func(account int) int
		requests int64 // of the most expensive page
		units    float64
	}{
		"one balance each":  {250, func(int) int { return 1 }, 101, 60},
		"a hundred each":    {4, func(int) int { return 100 }, 2, 5},
		"none":              {250, func(int) int { return 0 }, 101, 60},
		"many behind a few": {70, func(n int) int { return []int{1, 1, 1, 1, 1, 1, 60}[n%7] }, 101, 60},
		"three each":        {250, func(int) int { return 3 }, 101, 60},
		"the first of five": {100, func(n int) int { return []int{7, 0, 0, 0, 0}[n%5] }, 131, 70},
		"fewer and fewer": {100, func(n int) int {
			return []int{7, 6, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3}[n/5] * (1 - min(n%5, 1))
		}, 131, 70},
		"the most requests": {101, exceedingShares, 131, 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			b.Must(201, "PUT", "/v1/groups/desk", `{}`)
			v, want := projections.NewViews(table.NewTable(b.Client, b.Table)), 0
			for n := range c.accounts {
				g := projections.GroupedAccount{Account: fmt.Sprintf("a%04d", n), Group: "desk", Number: 1}
				if err := v.Show(t.Context(), projections.Places, g); err != nil {
					t.Fatal(err)
				}
				for i := range c.balances(n) {
					k := events.Pair{Account: g.Account, Asset: fmt.Sprintf("x%03d", i)}
					if err := v.Write(t.Context(), projections.Change{Balance: projections.Balance{Pair: k, First: "0",
						Head: projections.Fold{Through: "0", Credits: events.NewAmount(1), Count: 1}}}); err != nil {
						t.Fatal(err)
					}
					want++
				}
			}
			got, most, units := 0, int64(0), 0.0
			for cursor := ""; ; {
				var page caller.Reply
				cost := b.measure(func() { page = b.Must(200, "GET", "/v1/groups/desk/balances?limit=100"+cursor, "") })
				for _, held := range page.Each("accounts", "data") {
					n, _ := held.(float64)
					got += int(n)
				}
				most, units = max(most, cost.Total()), max(units, float64(cost.ReadHalves)/2)
				if page.Value("next_cursor") == nil {
					break
				}
				cursor = "&cursor=" + url.QueryEscape(page.Text("next_cursor"))
			}
			t.Logf("%d requests, %v units", most, units)
			if got != want || most > c.requests || units > c.units {
				t.Errorf("%d of %d balances; the most expensive page: %d requests, %v units", got, want, most, units)
			}
		})
	}
}

// exceedingShares returns the balances of the accounts of the page with the most requests: from turn to turn, as many
// accounts as possible have one balance more than their share.
func exceedingShares(account int) int {
	switch n := account; {
	case n == 21:
		return 7
	case n >= 37 && n < 42:
		return 6
	case n >= 53 && n < 57:
		return 4
	case n >= 69 && n < 75:
		return 3
	case n >= 85 && n < 99:
		return 2
	}
	return 0
}
