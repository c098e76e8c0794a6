package viewstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

func (c *conformance) postings() {
	var all []projections.Posting
	for _, asset := range []string{"US", "USD", "USD.x", "USD:1", "USDA"} {
		var put []projections.Posting
		for n := 10; n <= 200; n += 10 { // several pages of the in-memory store
			p := projections.Posting{
				ID: id(n),
				Figures: events.Figures{
					Quantity: events.NewAmount(int64(n - 30)), Cost: events.NewAmount(int64(len(asset))),
				},
			}
			put = append(put, p)
		}
		if asset == "USD" {
			most, err := events.ParseAmount(strings.Repeat("9", events.PostedDigits), events.PostedDigits)
			c.must(err)
			put[1].Quantity, put[1].Cost = most, most.Neg()
			all = slices.Clone(put)
		}
		slices.Reverse(put) // the order of arrival is not that of KSUIDs
		c.must(c.seed.Post(c.ctx, events.Pair{Account: "jane", Asset: asset}, put...))
	}
	for _, r := range []struct {
		after, through int // 0: open
		from, to       int // of all
	}{
		{0, 0, 0, 20}, {10, 0, 1, 20}, {15, 0, 1, 20}, {200, 0, 20, 20}, {210, 0, 20, 20},
		{0, 30, 0, 3}, {0, 155, 0, 15}, {0, 5, 0, 0}, {0, 210, 0, 20}, {10, 30, 1, 3}, {20, 21, 2, 2}, {20, 20, 2,
			2}, {15, 145, 1, 14},
	} {
		var after, through events.KSUID
		if r.after > 0 {
			after = id(r.after)
		}
		if r.through > 0 {
			through = id(r.through)
		}
		got := pages(c, after, func(after events.KSUID) ([]projections.Posting, bool, error) {
			return c.Postings(c.ctx, jane, after, through)
		}, func(p projections.Posting) events.KSUID { return p.ID })
		if !slices.Equal(got, all[r.from:r.to]) {
			c.Errorf("postings after %d through %d: %v", r.after, r.through, got)
		}
		count, err := c.CountPostings(c.ctx, jane, after, through)
		if c.must(err); count != int64(r.to-r.from) {
			c.Errorf("%d postings after %d through %d", count, r.after, r.through)
		}
	}
}

func (c *conformance) assets() {
	wanted := []string{"A", "A-1", "A.B", "A1", "A:1", "A@x", "AA", "A_", "Aa", "B"}
	slices.Sort(wanted)
	for i, asset := range wanted {
		for n := range 3 {
			p := projections.Posting{ID: id(10*i + n), Figures: events.Figures{Quantity: events.NewAmount(1)}}
			c.must(c.seed.Post(c.ctx, events.Pair{Account: "jane", Asset: asset}, p))
		}
	}
	other := projections.Posting{ID: id(1000), Figures: events.Figures{Quantity: events.NewAmount(1)}}
	c.must(c.seed.Post(c.ctx, events.Pair{Account: "jan", Asset: "A0"}, other))
	// A balance without postings does not count: assets are found through postings.
	c.write(projections.Change{Balance: projections.Balance{Pair: events.Pair{Account: "jane", Asset: "AB"}}})
	var got []string
	for asset := ""; len(got) <= len(wanted); {
		next, err := c.NextAsset(c.ctx, "jane", asset)
		if errors.Is(err, store.ErrAbsent) {
			break
		}
		c.must(err)
		asset = next
		got = append(got, next)
	}
	if !slices.Equal(got, wanted) {
		c.Errorf("assets %q, wanted %q", got, wanted)
	}
	if next, err := c.NextAsset(c.ctx, "jane", "A0"); err != nil || next != "A1" {
		c.Errorf("asset after one that isn't held: %q, %v", next, err)
	}
}

func (c *conformance) grants() {
	for number := range int64(11) {
		role := events.RoleViewer
		if number == 10 {
			role = ""
		}
		c.must(c.seed.Grant(c.ctx, member("ann", role, number+1)))
	}
	c.must(c.seed.Grant(c.ctx, member("ann.b", events.RoleOwner, 20)))
	for _, wanted := range []projections.Membership{
		{Account: "jane", User: "ann", Number: 11, At: Morning},
		{Account: "jane", User: "ann.b", Role: events.RoleOwner, Number: 20, At: Morning},
	} {
		got, err := c.NewestGrant(c.ctx, projections.Membership{Account: "jane", User: wanted.User})
		c.must(err)
		Same(c.T, "newest grant", got, wanted)
	}
	_, err := c.NewestGrant(c.ctx, projections.Membership{Account: "jane", User: "an"})
	c.is("grant of another user", err, store.ErrAbsent)
}

func (c *conformance) memberships() {
	m := projections.Membership{Account: "jane", User: "ann"}
	for _, step := range []struct {
		number, shown int64
		role          events.Role
	}{{2, 2, events.RoleViewer}, {1, 2, events.RoleOwner}, {2, 2, events.RoleOwner}, {4, 4, ""}, {3, 4,
		events.RoleOwner}, {5, 5, events.RoleOperator}} {
		put := projections.Membership{Account: "jane", User: "ann", Role: step.role, Number: step.number}
		c.must(c.WriteMembership(c.ctx, put))
		if step.number == step.shown && step.shown > m.Number {
			m = put
		}
		got, err := c.seed.Membership(c.ctx, "jane", "ann")
		c.must(err)
		Same(c.T, fmt.Sprintf("membership after number %d", step.number), got, m)
	}
}
