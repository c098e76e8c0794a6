package viewstest

import (
	"errors"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

func (c *conformance) accounts() {
	wanted := []string{"a", "a.b", "b", "c", "d", "jane", "zoe"}
	for i, account := range wanted {
		k := projections.Key{Account: account, Asset: "USD"}
		switch i % 3 {
		case 0:
			c.must(c.seed.Post(c.ctx, k, projections.Posting{ID: id(1), Quantity: events.NewAmount(1)}))
		case 1:
			c.must(c.Write(c.ctx, projections.Change{Balance: projections.Balance{Key: k}}))
		default:
			c.must(c.seed.Grant(c.ctx, projections.Membership{Account: account, User: "ann", Role: events.RoleViewer, Number: 1}))
		}
	}
	var got []string
	read := 0
	for from, more := "", true; more; more = from != "" {
		accounts, items, next, err := c.Accounts(c.ctx, from)
		c.must(err)
		got = append(got, accounts...)
		read += items
		from = next
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, wanted) || read < len(wanted) {
		c.Errorf("accounts %q in %d items, wanted %q", got, read, wanted)
	}
}

// names lists by one of the listings.
func (c *conformance) names(by projections.Listing) (names []string) {
	c.Helper()
	for name := ""; len(names) < 100; {
		next, err := c.NextOf(c.ctx, "jane", by, name)
		if errors.Is(err, table.ErrAbsent) {
			return names
		}
		c.must(err)
		name = next
		names = append(names, next)
	}
	c.Fatal("it does not come to an end")
	return nil
}

func (c *conformance) listings() {
	for i, asset := range []string{"US", "US-1", "US.x", "US:1", "USD"} {
		k := projections.Key{Account: "jane", Asset: asset}
		if i < 3 {
			c.must(c.seed.Post(c.ctx, k, projections.Posting{ID: id(1), Quantity: events.NewAmount(1)}, projections.Posting{ID: id(2)}))
		}
		if i > 0 {
			change := projections.Change{Balance: projections.Balance{Key: k, Seal: fold(9, 9)}}
			if i > 2 {
				change.Segments = []projections.Segment{segment(k, 0, 1, 1), segment(k, 1, 2, 1)}
			}
			c.must(c.Write(c.ctx, change))
		}
	}
	for i, user := range []string{"ann", "ann-1", "ann.b"} {
		m := projections.Membership{Account: "jane", User: user, Role: events.RoleViewer, Number: 1}
		if i < 2 {
			c.must(c.seed.Grant(c.ctx, m))
			m.Number = 2
			c.must(c.seed.Grant(c.ctx, m))
		}
		if i > 0 {
			c.must(c.WriteMembership(c.ctx, m))
		}
	}
	c.must(c.seed.Post(c.ctx, projections.Key{Account: "jan", Asset: "X"}, projections.Posting{ID: id(1)}))
	for by, wanted := range map[projections.Listing][]string{
		projections.ByPostings: {"US", "US-1", "US.x"}, projections.ByBalances: {"US-1", "US.x", "US:1", "USD"},
		projections.BySegments: {"US:1", "USD"},
		projections.ByGrants:   {"ann", "ann-1"}, projections.ByMemberships: {"ann-1", "ann.b"},
	} {
		if got := c.names(by); !slices.Equal(got, wanted) {
			c.Errorf("listing %d: %q, wanted %q", by, got, wanted)
		}
	}
}

// snapshot reads jane's balance and segments.
func (c *conformance) snapshot(ends ...events.KSUID) (projections.Found[projections.Balance], []projections.Found[projections.Segment]) {
	c.Helper()
	b, s, at, err := c.Snapshot(c.ctx, jane, ends)
	c.must(err)
	if at.IsZero() || at.Nanosecond() != 0 || time.Since(at).Abs() > time.Hour {
		c.Errorf("the store's time is %v", at)
	}
	return b, s
}

func (c *conformance) snapshots() {
	b, s := c.snapshot()
	if b.There || b.Fault != nil || b.Versioned || b.Value != (projections.Balance{Key: jane}) || len(s) > 0 {
		c.Errorf("nothing came as %+v, %+v", b, s)
	}
	nothing := b.Mark
	var segments []projections.Segment
	var ends []events.KSUID
	for i := range projections.SegmentsMax {
		segments = append(segments, segment(jane, i, i+1, 1))
		ends = append(ends, id(i+1))
	}
	stored := projections.Balance{Key: jane, Base: fold(90, 90), Seal: fold(90, 90), Head: fold(95, 91), First: id(1)}
	c.must(c.Write(c.ctx, projections.Change{Balance: stored, Segments: segments}))
	stored.Version = 1
	// As many as there may be, in the order asked for, absent ones among them.
	slices.Reverse(ends)
	for len(ends) < projections.SnapshotItems {
		ends = append(ends, id(1000+len(ends)))
	}
	b, s = c.snapshot(ends...)
	if !b.There || b.Fault != nil || !b.Versioned || b.Value != stored || b.Mark == nothing {
		c.Errorf("balance came as %+v", b)
	}
	for i, got := range s {
		if there := i < len(segments); got.There != there || got.Fault != nil || got.Value.Key != jane || got.Value.Through != ends[i] ||
			there && got.Value != segments[len(segments)-1-i] {
			c.Errorf("segment through %s came as %+v", ends[i], got)
		}
	}
	var listed []projections.Segment
	for after, more := events.KSUID(""), true; more; {
		var page []projections.Found[projections.Segment]
		var err error
		page, more, err = c.StoredSegments(c.ctx, jane, after)
		c.must(err)
		for _, s := range page {
			after = s.Value.Through
			listed = append(listed, s.Value)
		}
	}
	if !slices.Equal(listed, segments) {
		c.Errorf("%d segments listed: %+v", len(listed), listed)
	}
	page, _, err := c.StoredSegments(c.ctx, jane, id(89))
	c.must(err)
	if len(page) != 1 || page[0].Value != segments[89] {
		c.Errorf("segments after the 89th: %+v", page)
	}
}

// A write that is given a mark asks for that, and not for a version; what it stores has the next version all the same.
func (c *conformance) marks() {
	first, _ := c.snapshot()
	b := projections.Balance{Key: jane, Version: 1000, Head: fold(1, 1), First: id(1)}
	s := projections.Summary{Account: "jane", Version: 2000, Assets: 1, First: id(1)}
	none, _, _, err := c.SnapshotAccount(c.ctx, "jane", nil)
	c.must(err)
	both := projections.Change{Balance: b, Mark: &first.Mark, Summary: &s, SummaryMark: &none.Mark}
	c.must(c.Write(c.ctx, both))
	c.is("a second write on the mark of nothing", c.Write(c.ctx, both), table.ErrConflict)
	b.Version, s.Version = 1001, 2001

	second, _ := c.snapshot()
	summary, balances, _, err := c.SnapshotAccount(c.ctx, "jane", []string{"EUR", "USD"})
	c.must(err)
	if second.Value != b || summary.Value != s || !summary.There || !summary.Versioned || balances[0].There || balances[1] != second {
		c.Errorf("stored %+v, %+v beside %+v", second, summary, balances)
	}
	both.Mark, both.SummaryMark = &second.Mark, &none.Mark
	c.is("the summary on another mark", c.Write(c.ctx, both), table.ErrConflict)
	both.Mark, both.SummaryMark = &first.Mark, &summary.Mark
	c.is("the balance on another mark", c.Write(c.ctx, both), table.ErrConflict)
	equal(c, "balance", c.stored(jane), b)
	c.must(c.Write(c.ctx, projections.Change{Balance: b}))
	third, _ := c.snapshot()
	if third.Mark == second.Mark {
		c.Errorf("a write left the mark %q", third.Mark)
	}
	c.must(c.Write(c.ctx, projections.Change{Balance: third.Value, Mark: &third.Mark}))
	equal(c, "version", c.stored(jane).Version, 1003)

	c.is("a summary on the mark of nothing", c.WriteSummary(c.ctx, s, none.Mark), table.ErrConflict)
	s.Assets = 5
	c.must(c.WriteSummary(c.ctx, s, summary.Mark))
	s.Version++
	got, err := c.Summary(c.ctx, "jane")
	c.must(err)
	equal(c, "summary", got, s)
}

func (c *conformance) storedMemberships() {
	absent, err := c.StoredMembership(c.ctx, "jane", "ann")
	c.must(err)
	m := projections.Membership{Account: "jane", User: "ann", Role: events.RoleOwner, Number: 9}
	if absent.There || absent.Fault != nil {
		c.Errorf("nothing came as %+v", absent)
	}
	c.must(c.PutMembership(c.ctx, m, absent.Mark))
	c.is("a membership on the mark of nothing", c.PutMembership(c.ctx, m, absent.Mark), table.ErrConflict)
	found, err := c.StoredMembership(c.ctx, "jane", "ann")
	c.must(err)
	if !found.There || found.Fault != nil || found.Value != m {
		c.Errorf("membership came as %+v", found)
	}
	// A mend may go back, also to none.
	none := projections.Membership{Account: "jane", User: "ann"}
	c.must(c.PutMembership(c.ctx, none, found.Mark))
	c.is("a membership on an older mark", c.PutMembership(c.ctx, m, found.Mark), table.ErrConflict)
	c.must(c.WriteMembership(c.ctx, projections.Membership{Account: "jane", User: "ann", Role: events.RoleViewer, Number: 1}))
	got, err := c.seed.Membership(c.ctx, "jane", "ann")
	c.must(err)
	equal(c, "membership after the first grant", got, projections.Membership{Account: "jane", User: "ann", Role: events.RoleViewer, Number: 1})
}
