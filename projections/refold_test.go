package projections_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

func TestRefoldOfCountedPostingsWritesNothing(t *testing.T) {
	b := newBook(t)
	settled := b.PostOnes(jane, upTo(1, 600)...)
	recent := b.PostOnes(jane, 3_599_000)
	b.Refold(jane, append(settled, recent...)...)
	before := b.Stored(jane)
	b.Time = b.Time.Add(time.Minute) // the seal could move
	b.Requests()
	for _, ids := range [][]events.KSUID{settled, recent, append(recent, settled...), {settled[3], settled[3]}, nil} {
		given := slices.Clone(ids)
		b.Refold(jane, ids...)
		viewstest.Same(t, "the caller's ids", ids, given)
	}
	if r := b.Requests(); r.Writes() != 0 {
		t.Errorf("%d writes", r.Writes())
	}
	viewstest.Same(t, "balance", b.Stored(jane), before)
}

// A refold without new postings still closes segments. Otherwise each later refold would read the same long tail again.
func TestRefoldOfCountedPostingsClosesSegments(t *testing.T) {
	b := newBook(t)
	b.Time = morning.Add(5 * time.Second)
	ids := b.PostOnes(jane, upTo(1, 600)...)
	b.Refold(jane, ids...)
	version := b.version(0)
	if n := len(b.AllSegments(jane)); n != 0 {
		t.Fatalf("%d segments of unsettled postings", n)
	}
	b.Time = b.Time.Add(time.Minute)
	b.on(b.Table) // a projector with an empty cache
	b.Refold(jane, ids[599])
	viewstest.Same(t, "balance", b.Stored(jane), projections.Balance{Pair: jane, Version: version + 2,
		Base: ones(512, 512), Seal: ones(600, 600), Head: ones(600, 600), First: ksuid(1)})
	b.Requests()
	b.Refold(jane, ids...)
	if r := b.Requests(); r.Writes() != 0 {
		t.Errorf("%d writes", r.Writes())
	}
}

// The earlier of both clocks decides. Without the store's clock nothing is settled.
func TestSettledBefore(t *testing.T) {
	for _, c := range [][3]int{{30, 30, 20}, {300, 30, 20}, {25, 30, 15}} { // own clock, store's clock, settled
		second := func(i int) time.Time { return morning.Add(time.Duration(c[i]) * time.Second) }
		viewstest.Same(t, "settled", projections.SettledBefore(second(0), second(1)), events.FirstKSUID(second(2)))
	}
	viewstest.Same(t, "settled without the store's clock", projections.SettledBefore(morning, time.Time{}), "")
}

// Refold retries conflicts and unknown outcomes a few times. It returns other errors at once.
func TestRefoldRetries(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		name   string
		write  func(n int) error
		pauses int
		wanted error
	}{
		{"permanent conflict", func(int) error { return store.ErrConflict }, 11, store.ErrConflict},
		{"throttled", func(int) error { return store.ErrThrottled }, 0, store.ErrThrottled},
		{"one unknown outcome", func(n int) error { return map[int]error{1: store.ErrUnknownOutcome}[n] }, 1, nil},
		{"canceled", func(int) error { cancel(); return store.ErrConflict }, 1, context.Canceled},
	} {
		b := newBook(t)
		ids := b.PostOnes(jane, 1)
		b.on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(n int, _ []store.Write) error { return c.write(n) }})
		if err := b.Projector.Refold(ctx, jane, ids); !errors.Is(err, c.wanted) || b.pauses != c.pauses {
			t.Errorf("%s: %v after %d pauses", c.name, err, b.pauses)
		}
	}
}
