package viewstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// Conform tests an implementation of projections.Views against its contract. open returns an empty one; it is called once
// for each part.
func Conform(t *testing.T, open func(*testing.T) (projections.Views, Seed)) {
	parts := []struct {
		name string
		test func(*conformance)
	}{
		{"nothing is there", (*conformance).nothing},
		{"store tells whole seconds", (*conformance).storeTime},
		{"balances come back whole", (*conformance).balances},
		{"balances compare versions", (*conformance).versions},
		{"one of those who read a version writes", (*conformance).race},
		{"summaries come back whole", (*conformance).summaries},
		{"a change is all or nothing", (*conformance).allOrNothing},
		{"segments come back whole and are replaced", (*conformance).segments},
		{"the most segments in one change", (*conformance).mostSegments},
		{"the segment from a KSUID on", (*conformance).segmentFrom},
		{"postings in a range", (*conformance).postings},
		{"postings page by page", (*conformance).pages},
		{"assets by skipping", (*conformance).assets},
		{"the newest grant", (*conformance).grants},
		{"memberships never go back", (*conformance).memberships},
		{"accounts by going through everything", (*conformance).accounts},
		{"assets and users by what there is of them", (*conformance).listings},
		{"a balance and its segments at one instant", (*conformance).snapshots},
		{"writes on a mark", (*conformance).marks},
		{"memberships as they are stored", (*conformance).storedMemberships},
		{"a context that is over", (*conformance).over},
	}
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			views, seed := open(t)
			part.test(&conformance{T: t, Views: views, seed: seed, ctx: t.Context()})
		})
	}
}

type conformance struct {
	*testing.T
	projections.Views
	seed Seed
	ctx  context.Context
}

var jane = projections.Key{Account: "jane", Asset: "USD"}

// id returns the n-th of increasing KSUIDs, one a millisecond.
func id(n int) events.KSUID {
	return events.FirstKSUID(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Millisecond))
}

func (c *conformance) is(what string, err, wanted error) {
	c.Helper()
	if !errors.Is(err, wanted) {
		c.Errorf("%s: error %v, wanted %v", what, err, wanted)
	}
}

func (c *conformance) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func equal[T comparable](c *conformance, what string, got, wanted T) {
	c.Helper()
	if got != wanted {
		c.Errorf("%s:\n got    %+v\n wanted %+v", what, got, wanted)
	}
}

// stored reads the balance of k.
func (c *conformance) stored(k projections.Key) projections.Balance {
	c.Helper()
	b, _, err := c.Balance(c.ctx, k)
	c.must(err)
	return b
}

// fold makes one of recognizable figures.
func fold(through, count int) projections.Fold {
	return projections.Fold{
		Through: id(through), Credits: events.NewAmount(int64(1000 + through)), Debits: events.NewAmount(int64(through)),
		Expenditure: events.NewAmount(int64(-5 * through)), Count: int64(count),
	}
}

func segment(k projections.Key, after, through, count int) projections.Segment {
	s := projections.Segment{Key: k, Fold: fold(through, count)}
	if after > 0 {
		s.After = id(after)
	}
	return s
}

func (c *conformance) nothing() {
	b, _, err := c.Balance(c.ctx, jane)
	c.must(err)
	equal(c, "balance", b, projections.Balance{Key: jane})
	s, err := c.Summary(c.ctx, "jane")
	c.must(err)
	equal(c, "summary", s, projections.Summary{Account: "jane"})
	page, more, err := c.Postings(c.ctx, jane, "", "")
	c.must(err)
	if len(page) != 0 || more {
		c.Errorf("postings: %v, more %v", page, more)
	}
	_, err = c.SegmentFrom(c.ctx, jane, id(1))
	c.is("segment", err, table.ErrAbsent)
	_, _, err = c.Together(c.ctx, jane, id(1))
	c.is("together", err, table.ErrAbsent)
	_, err = c.NextAsset(c.ctx, "jane", "")
	c.is("asset", err, table.ErrAbsent)
	_, err = c.NewestGrant(c.ctx, "jane", "ann")
	c.is("grant", err, table.ErrAbsent)
}

func (c *conformance) storeTime() {
	_, at, err := c.Balance(c.ctx, jane)
	c.must(err)
	if at.Nanosecond() != 0 {
		c.Errorf("time with a fraction of a second: %v", at)
	}
}

func (c *conformance) balances() {
	most := events.MaxFolded()
	for i, b := range []projections.Balance{
		{}, // as a command makes it to raise its version
		{
			Base:  fold(1, 256),
			Seal:  fold(2, 257),
			Head:  projections.Fold{Through: id(3), Credits: most, Debits: most, Expenditure: most.Neg(), Count: 1 << 40},
			First: id(0),
		},
		{Seal: fold(2, 257), First: id(0), Unfinished: true}, // saved before anything is shown
		{Head: fold(2, 1), First: id(2)},                     // nothing settled
	} {
		b.Key, b.Version = jane, int64(i)
		c.must(c.Write(c.ctx, projections.Change{Balance: b}))
		b.Version++
		equal(c, "balance", c.stored(jane), b)
	}
	other := projections.Key{Account: "jane", Asset: "US"}
	equal(c, "balance of another asset", c.stored(other), projections.Balance{Key: other})
}

func (c *conformance) versions() {
	b := projections.Balance{Key: jane, Head: fold(1, 1), First: id(1), Version: 1}
	c.is("first write on version 1", c.Write(c.ctx, projections.Change{Balance: b}), table.ErrConflict)
	equal(c, "balance never written", c.stored(jane), projections.Balance{Key: jane})
	for b.Version = 0; b.Version < 2; b.Version++ {
		c.must(c.Write(c.ctx, projections.Change{Balance: b}))
	}
	for _, version := range []int64{0, 1, 3} {
		changed := b
		changed.Version, changed.Head = version, fold(9, 9)
		c.is(fmt.Sprintf("write on version %d of 2", version), c.Write(c.ctx, projections.Change{Balance: changed}), table.ErrConflict)
	}
	equal(c, "balance", c.stored(jane), b)
}

func (c *conformance) race() {
	for version := range int64(3) {
		var wait sync.WaitGroup
		outcomes := make([]error, 6)
		for i := range outcomes {
			wait.Go(func() {
				change := projections.Change{Balance: projections.Balance{Key: jane, Version: version, Head: fold(i+1, 1), First: id(1)}}
				if i%2 == 0 { // alone, and in a transaction
					change.Segments = []projections.Segment{segment(jane, 0, 100+i, 1)}
				}
				outcomes[i] = c.Write(c.ctx, change)
			})
		}
		wait.Wait()
		won := -1
		for i, err := range outcomes {
			switch {
			case err == nil && won >= 0:
				c.Fatalf("writers %d and %d both wrote version %d", won, i, version)
			case err == nil:
				won = i
			default:
				c.is(fmt.Sprintf("writer %d", i), err, table.ErrConflict)
			}
		}
		// When all met each other nobody wrote, and that is allowed: the next writes alone.
		if won < 0 {
			won = 1
			c.must(c.Write(c.ctx, projections.Change{Balance: projections.Balance{Key: jane, Version: version, Head: fold(2, 1), First: id(1)}}))
		}
		equal(c, "balance", c.stored(jane), projections.Balance{Key: jane, Version: version + 1, Head: fold(won+1, 1), First: id(1)})
	}
}

func (c *conformance) summaries() {
	b := projections.Balance{Key: jane, Head: fold(1, 1), First: id(1)}
	for i, s := range []projections.Summary{{Assets: 3, Holdings: 2, First: id(1)}, {Assets: 3, First: id(0)}, {}} {
		s.Account, s.Version, b.Version = "jane", int64(i), int64(i)
		c.must(c.Write(c.ctx, projections.Change{Balance: b, Summary: &s}))
		equal(c, "version of the one that was given", s.Version, int64(i))
		s.Version++
		got, err := c.Summary(c.ctx, "jane")
		c.must(err)
		equal(c, "summary", got, s)
	}
}

func (c *conformance) allOrNothing() {
	b := projections.Balance{Key: jane, Head: fold(1, 1), First: id(1)}
	s := projections.Summary{Account: "jane", Assets: 1, Holdings: 1, First: id(1)}
	c.must(c.Write(c.ctx, projections.Change{Balance: b, Summary: &s}))
	b.Version, s.Version = 1, 1

	changed, counted := b, s
	changed.Base, changed.Seal, changed.Head = fold(2, 2), fold(2, 2), fold(2, 2)
	counted.Assets = 9
	segments := []projections.Segment{segment(jane, 0, 1, 1), segment(jane, 1, 2, 1)}
	for _, stale := range []int64{0, 2} {
		staleSummary, staleBalance := counted, changed
		staleSummary.Version, staleBalance.Version = stale, stale
		err := c.Write(c.ctx, projections.Change{Balance: changed, Segments: segments, Summary: &staleSummary})
		c.is(fmt.Sprintf("summary on version %d of 1", stale), err, table.ErrConflict)
		err = c.Write(c.ctx, projections.Change{Balance: staleBalance, Segments: segments, Summary: &counted})
		c.is(fmt.Sprintf("balance on version %d of 1", stale), err, table.ErrConflict)
	}
	equal(c, "balance", c.stored(jane), b)
	got, err := c.Summary(c.ctx, "jane")
	c.must(err)
	equal(c, "summary", got, s)
	_, err = c.SegmentFrom(c.ctx, jane, id(0))
	c.is("segment", err, table.ErrAbsent)

	c.must(c.Write(c.ctx, projections.Change{Balance: changed, Segments: segments, Summary: &counted}))
	changed.Version++
	equal(c, "balance", c.stored(jane), changed)
}

func (c *conformance) segments() {
	first, second := segment(jane, 0, 10, 7), segment(jane, 10, 20, 8)
	b := projections.Balance{Key: jane, Base: fold(20, 15), Seal: fold(20, 15), Head: fold(20, 15), First: id(1)}
	c.must(c.Write(c.ctx, projections.Change{Balance: b, Segments: []projections.Segment{first, second}}))
	b.Version = 1
	together := func(wanted projections.Segment) {
		c.Helper()
		beside, got, err := c.Together(c.ctx, jane, wanted.Through)
		c.must(err)
		equal(c, "balance", beside, b)
		equal(c, "segment", got, wanted)
	}
	together(first)
	together(second)

	first.Count, first.Credits = 9, events.MaxFolded()
	c.must(c.Write(c.ctx, projections.Change{Balance: b, Segments: []projections.Segment{first}}))
	b.Version = 2
	together(first)
	together(second)
	_, _, err := c.Together(c.ctx, jane, id(15))
	c.is("segment that doesn't end there", err, table.ErrAbsent)
}

func (c *conformance) mostSegments() {
	change := projections.Change{
		Balance: projections.Balance{Key: jane, Seal: fold(1000, 2), First: id(1), Unfinished: true},
		Summary: &projections.Summary{Account: "jane", Assets: 1, First: id(1)},
	}
	for i := range projections.SegmentsMax {
		change.Segments = append(change.Segments, segment(jane, i, i+1, 1))
	}
	c.must(c.Write(c.ctx, change))
	for _, s := range change.Segments {
		got, err := c.SegmentFrom(c.ctx, jane, s.Through)
		c.must(err)
		equal(c, "segment", got, s)
	}
}

func (c *conformance) segmentFrom() {
	var all []projections.Segment
	for _, asset := range []string{"US", "USD", "USD.x", "USD:1", "USDA"} {
		k := projections.Key{Account: "jane", Asset: asset}
		s := []projections.Segment{segment(k, 0, 10, 7), segment(k, 10, 20, 8)}
		if asset != "USD" {
			s[1] = segment(k, 10, 1000, 8)
		}
		c.must(c.Write(c.ctx, projections.Change{Balance: projections.Balance{Key: k, Seal: fold(9, 9)}, Segments: s}))
		if asset == "USD" {
			all = s
		}
	}
	for n, wanted := range map[int]projections.Segment{0: all[0], 9: all[0], 10: all[0], 11: all[1], 20: all[1]} {
		got, err := c.SegmentFrom(c.ctx, jane, id(n))
		c.must(err)
		equal(c, fmt.Sprintf("segment from %d", n), got, wanted)
	}
	_, err := c.SegmentFrom(c.ctx, jane, id(21))
	c.is("segment after the last", err, table.ErrAbsent)
}

func (c *conformance) over() {
	c.must(c.Write(c.ctx, projections.Change{Balance: projections.Balance{Key: jane, Seal: fold(1, 1)}, Segments: []projections.Segment{segment(jane, 0, 1, 1)}}))
	c.must(c.seed.Post(c.ctx, jane, projections.Posting{ID: id(1), Quantity: events.NewAmount(1)}))
	c.must(c.seed.Grant(c.ctx, projections.Membership{Account: "jane", User: "ann", Role: events.RoleOwner, Number: 1}))
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	_, _, balance := c.Balance(ctx, jane)
	_, _, postings := c.Postings(ctx, jane, "", "")
	_, from := c.SegmentFrom(ctx, jane, id(1))
	_, _, together := c.Together(ctx, jane, id(1))
	_, summary := c.Summary(ctx, "jane")
	_, grant := c.NewestGrant(ctx, "jane", "ann")
	_, asset := c.NextAsset(ctx, "jane", "")
	_, _, _, accounts := c.Accounts(ctx, "")
	_, of := c.NextOf(ctx, "jane", projections.ByPostings, "")
	_, _, segments := c.StoredSegments(ctx, jane, "")
	_, _, _, snapshot := c.Snapshot(ctx, jane, []events.KSUID{id(1)})
	_, _, _, account := c.SnapshotAccount(ctx, "jane", []string{"USD"})
	_, stored := c.StoredMembership(ctx, "jane", "ann")
	for what, err := range map[string]error{
		"balance": balance, "postings": postings, "segment": from, "together": together, "summary": summary, "grant": grant, "asset": asset,
		"accounts": accounts, "asset of postings": of, "segments": segments, "snapshot": snapshot, "snapshot of an account": account,
		"stored membership": stored,
		"put summary":       c.WriteSummary(ctx, projections.Summary{Account: "jane"}, ""),
		"put membership":    c.PutMembership(ctx, projections.Membership{Account: "jane", User: "ann"}, ""),
		"write":             c.Write(ctx, projections.Change{Balance: projections.Balance{Key: jane, Version: 1}}),
		"membership":        c.WriteMembership(ctx, projections.Membership{Account: "jane", User: "ann", Number: 1}),
	} {
		if err == nil || errors.Is(err, table.ErrAbsent) {
			c.Errorf("%s with a context that is over: error %v", what, err)
		}
	}
	equal(c, "version", c.stored(jane).Version, 1)
	_, err := c.seed.Membership(c.ctx, "jane", "ann")
	c.is("membership", err, table.ErrAbsent)
}
