package viewstest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

func (c *conformance) accounts() {
	wanted := []string{"a", "a.b", "b", "c", "d", "jane", "zoe"}
	for i, account := range wanted {
		k := events.Pair{Account: account, Asset: "USD"}
		switch i % 3 {
		case 0:
			one := events.Figures{Quantity: events.NewAmount(1)}
			c.must(c.seed.Post(c.ctx, k, projections.Posting{ID: id(1), Figures: one}))
		case 1:
			c.write(projections.Change{Balance: projections.Balance{Pair: k}})
		default:
			c.must(c.seed.Grant(c.ctx,
				projections.Membership{Account: account, User: "ann", Role: events.RoleViewer, Number: 1}))
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

// names lists the ids in the keys of one kind, with FirstKey.
func (c *conformance) names(after func(string) table.Range) (names []string) {
	c.Helper()
	for name := ""; len(names) < 100; {
		key, err := c.FirstKey(c.ctx, table.Account.PK("jane"), after(name))
		if errors.Is(err, store.ErrAbsent) {
			return names
		}
		c.must(err)
		name = table.FirstID(key.SK)
		names = append(names, name)
	}
	c.Fatal("FirstKey does not advance")
	return nil
}

func (c *conformance) listings() {
	for i, asset := range []string{"US", "US-1", "US.x", "US:1", "USD"} {
		k := events.Pair{Account: "jane", Asset: asset}
		if i < 3 {
			c.must(c.seed.Post(c.ctx, k, projections.Posting{ID: id(1)}, projections.Posting{ID: id(2)}))
		}
		if i > 0 {
			change := projections.Change{Balance: projections.Balance{Pair: k, Seal: fold(9, 9)}}
			if i > 2 {
				change.Segments = []projections.Segment{segment(k, 0, 1, 1), segment(k, 1, 2, 1)}
			}
			c.write(change)
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
	c.must(c.seed.Post(c.ctx, events.Pair{Account: "jan", Asset: "X"}, projections.Posting{ID: id(1)}))
	for i, listing := range []struct {
		after  func(string) table.Range
		wanted string
	}{
		{table.Posting.NextAfter, "US US-1 US.x"}, {table.Balance.NextAfter, "US-1 US.x US:1 USD"},
		{table.Segment.NextAfter, "US:1 USD"},
		{table.Grant.NextAfter, "ann ann-1"}, {table.Membership.NextAfter, "ann-1 ann.b"},
	} {
		if got := strings.Join(c.names(listing.after), " "); got != listing.wanted {
			c.Errorf("listing %d: %s, wanted %s", i, got, listing.wanted)
		}
	}
}

// snapshot reads jane's balance and segments.
func (c *conformance) snapshot(
	ends ...events.KSUID,
) (repair.Stored[projections.Balance], []repair.Stored[projections.Segment]) {
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
	if b.Exists || b.Fault != nil || b.Value != (projections.Balance{Pair: jane}) || len(s) > 0 {
		c.Errorf("an absent balance was read as %+v, %+v", b, s)
	}
	absent := b.Revision
	var segments []projections.Segment
	var ends []events.KSUID
	for i := range projections.SegmentsMax {
		segments = append(segments, segment(jane, i, i+1, 1))
		ends = append(ends, id(i+1))
	}
	stored := projections.Balance{Pair: jane, Base: fold(90, 90), Seal: fold(90, 90), Head: fold(95, 91), First: id(1)}
	c.write(projections.Change{Balance: stored, Segments: segments})
	stored.Version = 1
	// The maximum number of segments, in the order of ends, including absent ones.
	slices.Reverse(ends)
	for len(ends) < repair.SnapshotItems {
		ends = append(ends, id(1000+len(ends)))
	}
	b, s = c.snapshot(ends...)
	if !b.Exists || b.Fault != nil || b.Value != stored || b.Revision == absent {
		c.Errorf("the balance was read as %+v", b)
	}
	for i, got := range s {
		if exists := i < len(segments); got.Exists != exists || got.Fault != nil || got.Value.Pair != jane ||
			got.Value.Through != ends[i] ||
			exists && got.Value != segments[len(segments)-1-i] {
			c.Errorf("the segment through %s was read as %+v", ends[i], got)
		}
	}
	listed := segmentsOf(c, c.Views, jane)
	if !slices.Equal(listed, segments) {
		c.Errorf("%d segments listed: %+v", len(listed), listed)
	}
	page, _, err := c.StoredSegments(c.ctx, jane, id(89))
	c.must(err)
	if len(page) != 1 || page[0].Value != segments[89] {
		c.Errorf("segments after the 89th: %+v", page)
	}
}

// revisions tests that a write with a revision compares it instead of the version, and still stores the next version.
func (c *conformance) revisions() {
	first, _ := c.snapshot()
	b := projections.Balance{Pair: jane, Version: 1000, Head: fold(1, 1), First: id(1)}
	s := projections.Summary{Account: "jane", Version: 2000, Assets: 1, First: id(1)}
	none, _, _, err := c.SnapshotAccount(c.ctx, "jane", nil)
	c.must(err)
	both := projections.Change{Balance: b, Revision: &first.Revision, Summary: &s, SummaryRevision: &none.Revision}
	c.write(both)
	c.is("a second write on the absent revision", c.Write(c.ctx, both), store.ErrConflict)
	b.Version, s.Version = 1001, 2001

	second, _ := c.snapshot()
	summary, balances, _, err := c.SnapshotAccount(c.ctx, "jane", []string{"EUR", "USD"})
	c.must(err)
	if second.Value != b || summary.Value != s || !summary.Exists || balances[0].Exists ||
		balances[1] != second {
		c.Errorf("stored %+v, %+v and %+v", second, summary, balances)
	}
	both.Revision, both.SummaryRevision = &second.Revision, &none.Revision
	c.is("the summary on another revision", c.Write(c.ctx, both), store.ErrConflict)
	both.Revision, both.SummaryRevision = &first.Revision, &summary.Revision
	c.is("the balance on another revision", c.Write(c.ctx, both), store.ErrConflict)
	Same(c.T, "balance", c.stored(jane), b)
	c.write(projections.Change{Balance: b})
	third, _ := c.snapshot()
	if third.Revision == second.Revision {
		c.Errorf("a write left the revision %q", third.Revision)
	}
	c.write(projections.Change{Balance: third.Value, Revision: &third.Revision})
	Same(c.T, "version", c.stored(jane).Version, 1003)

	c.is("a summary on the absent revision", c.WriteSummary(c.ctx, s, none.Revision), store.ErrConflict)
	s.Assets = 5
	c.must(c.WriteSummary(c.ctx, s, summary.Revision))
	s.Version++
	got, err := c.Summary(c.ctx, "jane")
	c.must(err)
	Same(c.T, "summary", got, s)
}

func (c *conformance) storedMemberships() {
	absent, err := c.StoredMembership(c.ctx, projections.Membership{Account: "jane", User: "ann"})
	c.must(err)
	m := member("ann", events.RoleOwner, 9)
	if absent.Exists || absent.Fault != nil {
		c.Errorf("an absent membership was read as %+v", absent)
	}
	c.must(c.PutMembership(c.ctx, m, absent.Revision))
	c.is("a membership on the absent revision", c.PutMembership(c.ctx, m, absent.Revision), store.ErrConflict)
	found, err := c.StoredMembership(c.ctx, projections.Membership{Account: "jane", User: "ann"})
	c.must(err)
	if !found.Exists || found.Fault != nil || found.Value != m {
		c.Errorf("the membership was read as %+v", found)
	}
	// A rebuild may write a lower number, or zero.
	none := projections.Membership{Account: "jane", User: "ann"}
	c.must(c.PutMembership(c.ctx, none, found.Revision))
	c.is("a membership on an older revision", c.PutMembership(c.ctx, m, found.Revision), store.ErrConflict)
	c.must(c.WriteMembership(c.ctx, member("ann", events.RoleViewer, 1)))
	got, err := c.seed.Membership(c.ctx, "jane", "ann")
	c.must(err)
	Same(c.T, "membership after the first grant", got, member("ann", events.RoleViewer, 1))
}
