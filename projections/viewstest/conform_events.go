package viewstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

func (c *conformance) postings() {
	var all []projections.Posting
	for _, asset := range []string{"US", "USD", "USD.x", "USD:1", "USDA"} {
		var put []projections.Posting
		for n := 10; n <= 50; n += 10 {
			put = append(put, projections.Posting{ID: id(n), Quantity: events.NewAmount(int64(n - 30)), Cost: events.NewAmount(int64(len(asset)))})
		}
		if asset == "USD" {
			all = put
			most, err := events.ParseAmount(strings.Repeat("9", events.PostedDigits), events.PostedDigits)
			c.must(err)
			all[1].Quantity, all[1].Cost = most, most.Neg()
		}
		slices.Reverse(put) // the order of arrival is not that of KSUIDs
		c.must(c.seed.Post(c.ctx, projections.Key{Account: "jane", Asset: asset}, put...))
		slices.Reverse(put)
	}
	for _, r := range []struct {
		after, through int // 0: open
		from, to       int // of all
	}{
		{0, 0, 0, 5}, {10, 0, 1, 5}, {15, 0, 1, 5}, {50, 0, 5, 5}, {60, 0, 5, 5},
		{0, 30, 0, 3}, {0, 35, 0, 3}, {0, 5, 0, 0}, {0, 60, 0, 5}, {10, 30, 1, 3}, {20, 21, 2, 2}, {20, 20, 2, 2}, {15, 45, 1, 4},
	} {
		var after, through events.KSUID
		if r.after > 0 {
			after = id(r.after)
		}
		if r.through > 0 {
			through = id(r.through)
		}
		if got := c.read(after, through); !slices.Equal(got, all[r.from:r.to]) {
			c.Errorf("postings after %d through %d: %v", r.after, r.through, got)
		}
	}
}

// read reads jane's postings in a range, page by page.
func (c *conformance) read(after, through events.KSUID) (all []projections.Posting) {
	c.Helper()
	for more := true; more; {
		var page []projections.Posting
		var err error
		page, more, err = c.Postings(c.ctx, jane, after, through)
		c.must(err)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		all = append(all, page...)
	}
	return all
}

func (c *conformance) pages() {
	var all []projections.Posting
	for n := range 600 {
		all = append(all, projections.Posting{ID: id(n + 1), Quantity: events.NewAmount(int64(n)), Cost: events.NewAmount(-1)})
	}
	c.must(c.seed.Post(c.ctx, jane, all...))
	got := c.read("", id(550))
	if !slices.Equal(got, all[:550]) {
		c.Errorf("%d postings in all, wanted 550", len(got))
	}
}

func (c *conformance) assets() {
	wanted := []string{"A", "A-1", "A.B", "A1", "A:1", "A@x", "AA", "A_", "Aa", "B"}
	slices.Sort(wanted)
	for i, asset := range wanted {
		for n := range 3 {
			p := projections.Posting{ID: id(10*i + n), Quantity: events.NewAmount(1)}
			c.must(c.seed.Post(c.ctx, projections.Key{Account: "jane", Asset: asset}, p))
		}
	}
	other := projections.Posting{ID: id(1000), Quantity: events.NewAmount(1)}
	c.must(c.seed.Post(c.ctx, projections.Key{Account: "jan", Asset: "A0"}, other))
	// A balance without a posting is none: assets are found by what was posted.
	c.must(c.Write(c.ctx, projections.Change{Balance: projections.Balance{Key: projections.Key{Account: "jane", Asset: "AB"}}}))
	var got []string
	for asset := ""; len(got) <= len(wanted); {
		next, err := c.NextAsset(c.ctx, "jane", asset)
		if errors.Is(err, table.ErrAbsent) {
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
		c.must(c.seed.Grant(c.ctx, projections.Membership{Account: "jane", User: "ann", Role: role, Number: number + 1}))
	}
	c.must(c.seed.Grant(c.ctx, projections.Membership{Account: "jane", User: "ann.b", Role: events.RoleOwner, Number: 20}))
	for _, wanted := range []projections.Membership{
		{Account: "jane", User: "ann", Number: 11},
		{Account: "jane", User: "ann.b", Role: events.RoleOwner, Number: 20},
	} {
		got, err := c.NewestGrant(c.ctx, "jane", wanted.User)
		c.must(err)
		equal(c, "newest grant", got, wanted)
	}
	_, err := c.NewestGrant(c.ctx, "jane", "an")
	c.is("grant of another user", err, table.ErrAbsent)
}

func (c *conformance) memberships() {
	m := projections.Membership{Account: "jane", User: "ann"}
	for _, step := range []struct {
		number, shown int64
		role          events.Role
	}{{2, 2, events.RoleViewer}, {1, 2, events.RoleOwner}, {2, 2, events.RoleOwner}, {4, 4, ""}, {3, 4, events.RoleOwner}, {5, 5, events.RoleOperator}} {
		put := projections.Membership{Account: "jane", User: "ann", Role: step.role, Number: step.number}
		c.must(c.WriteMembership(c.ctx, put))
		if step.number == step.shown && step.shown > m.Number {
			m = put
		}
		got, err := c.seed.Membership(c.ctx, "jane", "ann")
		c.must(err)
		equal(c, fmt.Sprintf("membership after number %d", step.number), got, m)
	}
}
