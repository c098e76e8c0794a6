package viewstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/dynamo"
)

// Conform tests projections/dynamo against the contract of its ports. open is called for each part. It returns a client
// of a DynamoDB, and the name of an empty table as in template.yaml.
func Conform(t *testing.T, open func(testing.TB) (client *dynamodb.Client, table string)) {
	parts := []struct {
		name string
		test func(*conformance)
	}{
		{"balances survive a round trip", (*conformance).balances},
		{"one writer of a version wins", (*conformance).race},
		{"a change is atomic", (*conformance).atomicity},
		{"segments survive a round trip and are replaced", (*conformance).segments},
		{"the maximum of segments in one change", (*conformance).mostSegments},
		{"the segment at or after a KSUID", (*conformance).segmentFrom},
		{"segments and complete postings in a range", (*conformance).past},
		{"postings in a range", (*conformance).postings},
		{"assets of an account", (*conformance).assets},
		{"the newest grant", (*conformance).grants},
		{"memberships never go back", (*conformance).memberships},
		{"places in groups never go back", (*conformance).groups},
		{"whether an account is closed", (*conformance).closed},
		{"stored places in groups", (*conformance).storedGroups},
		{"accounts by a scan", (*conformance).accounts},
		{"assets and users by first keys", (*conformance).listings},
		{"a snapshot of a balance and its segments", (*conformance).snapshots},
		{"conditional writes by revision", (*conformance).revisions},
		{"stored memberships", (*conformance).storedMemberships},
		{"entries of lists, and pages of the journal", (*conformance).listed},
	}
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			client, name := open(t)
			views := dynamo.NewViews(client, name)
			part.test(&conformance{T: t, Views: views, seed: Seed{client, name}, ctx: t.Context()})
		})
	}
}

type conformance struct {
	*testing.T
	*dynamo.Views
	seed Seed
	ctx  context.Context
}

var jane, id = Jane, ID

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

// write writes a change, which must succeed.
func (c *conformance) write(change projections.Change) {
	c.Helper()
	c.must(c.Write(c.ctx, change))
}

// member is a membership of jane's account.
func member(user string, role events.Role, number int64) projections.Membership {
	return projections.Membership{Account: "jane", User: user, Role: role, Number: number}
}

// stored reads the balance of k.
func (c *conformance) stored(k events.Pair) projections.Balance {
	c.Helper()
	b, _, err := c.Balance(c.ctx, k)
	c.must(err)
	return b
}

// fold returns a fold with distinct figures.
func fold(through, count int) projections.Fold {
	return projections.Fold{
		Through: id(through), Credits: events.NewAmount(int64(1000 + through)),
		Debits:      events.NewAmount(int64(through)),
		Expenditure: events.NewAmount(int64(-5 * through)), Count: int64(count),
	}
}

func segment(k events.Pair, after, through, count int) projections.Segment {
	s := projections.Segment{Pair: k, Fold: fold(through, count)}
	if after > 0 {
		s.After = id(after)
	}
	return s
}

func (c *conformance) balances() {
	most := events.MaxFolded()
	for i, b := range []projections.Balance{
		{}, // created by EnsureVisible to raise its version
		{
			Base: fold(1, 256),
			Seal: fold(2, 257),
			Head: projections.Fold{Through: id(3), Credits: most, Debits: most, Expenditure: most.Neg(),
				Count: 1 << 40},
			First: id(0),
		},
		{Seal: fold(2, 257), First: id(0), Unfinished: true}, // saved before the first head
		{Head: fold(2, 1), First: id(2)},                     // nothing settled
	} {
		b.Pair, b.Version = jane, int64(i)
		c.write(projections.Change{Balance: b})
		b.Version++
		Same(c.T, "balance", c.stored(jane), b)
	}
	other := events.Pair{Account: "jane", Asset: "US"}
	Same(c.T, "balance of another asset", c.stored(other), projections.Balance{Pair: other})
}

func (c *conformance) race() {
	for version := range int64(3) {
		var wait sync.WaitGroup
		outcomes := make([]error, 6)
		for i := range outcomes {
			b := projections.Balance{Pair: jane, Version: version, Head: fold(i+1, 1), First: id(1)}
			change := projections.Change{Balance: b}
			if i%2 == 0 { // alone, and in a transaction
				change.Segments = []projections.Segment{segment(jane, 0, 100+i, 1)}
			}
			wait.Go(func() { outcomes[i] = c.Write(c.ctx, change) })
		}
		wait.Wait()
		won := -1
		for i, err := range outcomes {
			if err == nil && won >= 0 {
				c.Fatalf("writers %d and %d both wrote version %d", won, i, version)
			} else if err == nil {
				won = i
			} else {
				c.is(fmt.Sprintf("writer %d", i), err, store.ErrConflict)
			}
		}
		b := projections.Balance{Pair: jane, Version: version, Head: fold(won+1, 1), First: id(1)}
		if won < 0 { // all conflicted with each other
			c.write(projections.Change{Balance: b})
		}
		b.Version++
		Same(c.T, "balance", c.stored(jane), b)
	}
}

func (c *conformance) closed() {
	is := func(wanted bool) {
		c.Helper()
		closed, err := c.IsClosed(c.ctx, "jane")
		c.must(err)
		Same(c.T, "closed", closed, wanted)
	}
	is(false)
	for i, state := range []events.AccountState{events.StateFrozen, events.StateOpen, events.StateClosed} {
		c.must(c.seed.Change(c.ctx, events.AccountChanged{
			ID: "jane", Number: int64(i) + 1, State: state, Actor: "test", At: Morning,
		}))
		is(state == events.StateClosed)
	}
}

func (c *conformance) atomicity() {
	b := projections.Balance{Pair: jane, Head: fold(1, 1), First: id(1)}
	s := projections.Summary{Account: "jane", Assets: 1, Holdings: 1, First: id(1)}
	c.write(projections.Change{Balance: b, Summary: &s})
	b.Version, s.Version = 1, 1

	changed, counted := b, s
	changed.Base, changed.Seal, changed.Head = fold(2, 2), fold(2, 2), fold(2, 2)
	counted.Assets = 9
	segments := []projections.Segment{segment(jane, 0, 1, 1), segment(jane, 1, 2, 1)}
	for _, stale := range []int64{0, 2} {
		staleSummary, staleBalance := counted, changed
		staleSummary.Version, staleBalance.Version = stale, stale
		c.is(fmt.Sprintf("balance alone on version %d of 1", stale),
			c.Write(c.ctx, projections.Change{Balance: staleBalance}), store.ErrConflict)
		err := c.Write(c.ctx, projections.Change{Balance: changed, Segments: segments, Summary: &staleSummary})
		c.is(fmt.Sprintf("summary on version %d of 1", stale), err, store.ErrConflict)
		err = c.Write(c.ctx, projections.Change{Balance: staleBalance, Segments: segments, Summary: &counted})
		c.is(fmt.Sprintf("balance on version %d of 1", stale), err, store.ErrConflict)
	}
	Same(c.T, "balance", c.stored(jane), b)
	got, err := c.Summary(c.ctx, "jane")
	c.must(err)
	Same(c.T, "summary", got, s)
	_, err = c.SegmentFrom(c.ctx, jane, id(0))
	c.is("segment", err, store.ErrAbsent)

	c.write(projections.Change{Balance: changed, Segments: segments, Summary: &counted})
	changed.Version++
	Same(c.T, "balance", c.stored(jane), changed)
}

func (c *conformance) segments() {
	first, second := segment(jane, 0, 10, 7), segment(jane, 10, 20, 8)
	b := projections.Balance{Pair: jane, Base: fold(20, 15), Seal: fold(20, 15), Head: fold(20, 15), First: id(1)}
	c.write(projections.Change{Balance: b, Segments: []projections.Segment{first, second}})
	b.Version = 1
	together := func(wanted projections.Segment) {
		c.Helper()
		balance, got, err := c.BalanceWithSegment(c.ctx, jane, wanted.Through)
		c.must(err)
		Same(c.T, "balance", balance, b)
		Same(c.T, "segment", got, wanted)
	}
	together(first)
	together(second)

	first.Count, first.Credits = 9, events.MaxFolded()
	c.write(projections.Change{Balance: b, Segments: []projections.Segment{first}})
	b.Version = 2
	together(first)
	together(second)
	_, _, err := c.BalanceWithSegment(c.ctx, jane, id(15))
	c.is("segment that doesn't end there", err, store.ErrAbsent)
}

func (c *conformance) mostSegments() {
	change := projections.Change{
		Balance: projections.Balance{Pair: jane, Seal: fold(1000, 2), First: id(1), Unfinished: true},
		Summary: &projections.Summary{Account: "jane", Assets: 1, First: id(1)},
	}
	for i := range projections.SegmentsMax {
		change.Segments = append(change.Segments, segment(jane, i, i+1, 1))
	}
	c.write(change)
	change.Balance.Version++
	over := change
	over.Segments = append(over.Segments, segment(jane, 1000, 1001, 1))
	if c.Write(c.ctx, over) == nil {
		c.Error("more segments than a transaction can hold were written")
	}
	Same(c.T, "balance", c.stored(jane), change.Balance)
	for _, s := range change.Segments {
		got, err := c.SegmentFrom(c.ctx, jane, s.Through)
		c.must(err)
		Same(c.T, "segment", got, s)
	}
}

func (c *conformance) segmentFrom() {
	var all []projections.Segment
	for _, asset := range []string{"US", "USD", "USD.x", "USD:1", "USDA"} {
		k := events.Pair{Account: "jane", Asset: asset}
		s := []projections.Segment{segment(k, 0, 10, 7), segment(k, 10, 20, 8)}
		if asset != "USD" {
			s[1] = segment(k, 10, 1000, 8)
		}
		c.write(projections.Change{Balance: projections.Balance{Pair: k, Seal: fold(9, 9)}, Segments: s})
		if asset == "USD" {
			all = s
		}
	}
	for n, wanted := range map[int]projections.Segment{0: all[0], 9: all[0], 10: all[0], 11: all[1], 20: all[1]} {
		got, err := c.SegmentFrom(c.ctx, jane, id(n))
		c.must(err)
		Same(c.T, fmt.Sprintf("segment from %d", n), got, wanted)
	}
	_, err := c.SegmentFrom(c.ctx, jane, id(21))
	c.is("segment after the last", err, store.ErrAbsent)
}
