package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

func TestRefoldOfANewBalance(t *testing.T) {
	b := newBook(t)
	ids := b.post(jane, upTo(1, 100)...)
	b.Requests()
	b.refold(jane, ids...)
	same(t, "requests", b.Requests(), viewstest.Requests{Balance: 1, Postings: 1, PostingsRead: 100, Summary: 1, Writes: 1, Transactions: 1})
	same(t, "balance", b.stored(jane), projections.Balance{Key: jane, Version: 1, Seal: ones(100, 100), Head: ones(100, 100), First: ksuid(1)})
	same(t, "summary", b.summary("jane"), projections.Summary{Account: "jane", Version: 1, Assets: 1, Holdings: 1, First: ksuid(1)})
}

func TestRefoldOfATailIsTwoReadsAndAWrite(t *testing.T) {
	b := newBook(t)
	b.refold(jane, b.post(jane, upTo(1, 50)...)...)
	fresh := b.post(jane, upTo(60, 130)...)
	b.Requests()
	b.refold(jane, fresh...)
	same(t, "requests", b.Requests(), viewstest.Requests{Balance: 1, Postings: 1, PostingsRead: 71, Writes: 1})
	same(t, "head", b.stored(jane).Head, ones(130, 121))
}

func TestRefoldOfWhatIsCountedWritesNothing(t *testing.T) {
	b := newBook(t)
	settled := b.post(jane, upTo(1, 600)...)
	recent := b.post(jane, 3_599_000)
	b.refold(jane, append(settled, recent...)...)
	before := b.stored(jane)
	b.now = b.now.Add(time.Minute) // the seal could follow
	b.Requests()
	for _, marks := range [][]events.KSUID{settled, recent, append(recent, settled...), {settled[3], settled[3]}, nil} {
		given := slices.Clone(marks)
		b.refold(jane, marks...)
		same(t, "the caller's marks", marks, given)
	}
	if r := b.Requests(); r.Writes != 0 {
		t.Errorf("%d writes", r.Writes)
	}
	same(t, "balance", b.stored(jane), before)
}

// Reading the same long tail again and again would cost more than closing its segments once.
func TestRefoldOfWhatIsCountedClosesSegments(t *testing.T) {
	b := newBook(t)
	b.now = morning.Add(5 * time.Second)
	ids := b.post(jane, upTo(1, 600)...)
	b.refold(jane, ids...)
	if n := len(b.Segments(jane)); n != 0 {
		t.Fatalf("%d segments of what may still grow", n)
	}
	b.now = b.now.Add(time.Minute)
	b.on(b.Memory) // one that remembers nothing
	b.refold(jane, ids[599])
	same(t, "balance", b.stored(jane), projections.Balance{Key: jane, Version: 2, Base: ones(512, 512), Seal: ones(600, 600), Head: ones(600, 600), First: ksuid(1)})
	b.Requests()
	b.refold(jane, ids...)
	if r := b.Requests(); r.Writes != 0 {
		t.Errorf("%d writes", r.Writes)
	}
}

func TestSealStaysBehindWhatMayStillCome(t *testing.T) {
	second := func(n int) int { return n * 1000 }
	for _, c := range []struct {
		name       string
		own, store int // seconds of the morning; store -1: not told
		sealed     int // postings, one each second
	}{
		{"both clocks right", 30, 30, 20},
		{"own clock ahead", 300, 30, 20},
		{"own clock behind", 25, 30, 15},
		{"own clock far behind", 0, 30, 0},
		{"store doesn't tell", 30, -1, 0},
	} {
		b := newBook(t)
		var at []int
		for n := range 30 {
			at = append(at, second(n))
		}
		ids := b.post(jane, at...)
		b.now = morning.Add(time.Duration(c.own) * time.Second)
		b.Memory.Now = func() time.Time { return morning.Add(time.Duration(c.store)*time.Second + 999*time.Millisecond) }
		if c.store < 0 {
			b.Memory.Now = nil
		}
		b.refold(jane, ids...)
		got := b.stored(jane)
		if got.Seal.Count != int64(c.sealed) || got.Head != ones(second(29), 30) {
			t.Errorf("%s: %d sealed, wanted %d; head %+v", c.name, got.Seal.Count, c.sealed, got.Head)
		}
	}
}

func TestSegmentsCloseAtTheirSize(t *testing.T) {
	b := newBook(t)
	ids := b.post(jane, upTo(1, 3*projections.StretchPostings-1)...)
	b.refold(jane, ids...)
	last := b.post(jane, 3*projections.StretchPostings)
	b.refold(jane, last...)
	const size = projections.StretchPostings
	var wanted []projections.Segment
	for n := range 3 {
		s := projections.Segment{Key: jane, Fold: ones((n+1)*size, size)}
		if n > 0 {
			s.After = ksuid(n * size)
		}
		wanted = append(wanted, s)
	}
	same(t, "segments", b.Segments(jane), wanted)
	same(t, "balance", b.stored(jane), projections.Balance{
		Key: jane, Version: 2, Base: ones(3*size, 3*size), Seal: ones(3*size, 3*size), Head: ones(3*size, 3*size), First: ksuid(1),
	})
}

func TestSummaryFollowsZeroAndFirst(t *testing.T) {
	b := newBook(t)
	other := projections.Key{Account: "jane", Asset: "AAPL"}
	at := 0
	post := func(k projections.Key, quantity int64) {
		t.Helper()
		at++
		b.must(b.Post(t.Context(), k, posting(at, quantity)))
		b.refold(k, ksuid(at))
	}
	for i, step := range []struct {
		key              projections.Key
		quantity         int64
		assets, holdings int64
		touched          bool
	}{
		{jane, 5, 1, 1, true},
		{jane, 5, 1, 1, false},
		{other, 0, 2, 1, true}, // made with nothing in it
		{jane, -10, 2, 0, true},
		{jane, -1, 2, 1, true}, // below zero is a holding too
		{other, -1, 2, 2, true},
		{other, 1, 2, 1, true},
		{other, 0, 2, 1, false},
	} {
		before := b.summary("jane").Version
		post(step.key, step.quantity)
		s := b.summary("jane")
		if s.Assets != step.assets || s.Holdings != step.holdings || s.First != ksuid(1) || s.Version > before != step.touched {
			t.Errorf("step %d: summary %+v after version %d, wanted %+v", i, s, before, step)
		}
	}
	post(projections.Key{Account: "shop", Asset: "USD"}, 1)
	same(t, "summary of another account", b.summary("shop"), projections.Summary{Account: "shop", Version: 1, Assets: 1, Holdings: 1, First: ksuid(9)})
}

func TestRefoldStartsAgainWhenOthersComeFirst(t *testing.T) {
	ids := func(b *book) []events.KSUID { return b.post(jane, 1, 2, 3) }
	t.Run("and finds what they found", func(t *testing.T) {
		b := newBook(t)
		marks := ids(b)
		other := projections.NewProjector(b.Memory, b.clock, nil)
		b.on(&failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
			if write == 1 {
				b.post(jane, 4)
				return other.Refold(t.Context(), jane, marks)
			}
			return nil
		}})
		b.refold(jane, marks...)
		same(t, "balance", b.stored(jane), projections.Balance{Key: jane, Version: 1, Seal: ones(4, 4), Head: ones(4, 4), First: ksuid(1)})
	})
	t.Run("until it gives up", func(t *testing.T) {
		b := newBook(t)
		marks := ids(b)
		b.on(&failing{Memory: b.Memory, before: func(int, projections.Change) error { return table.ErrConflict }})
		if err := b.projector.Refold(t.Context(), jane, marks); !errors.Is(err, table.ErrConflict) || b.pauses != 11 {
			t.Errorf("%v after %d pauses", err, b.pauses)
		}
	})
	t.Run("until its context is over", func(t *testing.T) {
		b := newBook(t)
		marks := ids(b)
		ctx, cancel := context.WithCancel(t.Context())
		b.on(&failing{Memory: b.Memory, before: func(int, projections.Change) error { cancel(); return table.ErrConflict }})
		if err := b.projector.Refold(ctx, jane, marks); !errors.Is(err, context.Canceled) || b.pauses != 1 {
			t.Errorf("%v after %d pauses", err, b.pauses)
		}
	})
	t.Run("when it doesn't know whether it wrote", func(t *testing.T) {
		b := newBook(t)
		marks := ids(b)
		b.on(&failing{Memory: b.Memory,
			before: func(write int, _ projections.Change) error {
				if write == 1 {
					return table.ErrUnknownOutcome
				}
				return nil
			},
			after: func(int) error { return table.ErrUnknownOutcome },
		})
		b.refold(jane, marks...)
		same(t, "balance", b.stored(jane), projections.Balance{Key: jane, Version: 1, Seal: ones(3, 3), Head: ones(3, 3), First: ksuid(1)})
	})
	t.Run("not when the store declines", func(t *testing.T) {
		b := newBook(t)
		marks := ids(b)
		b.on(&failing{Memory: b.Memory, before: func(int, projections.Change) error { return fmt.Errorf("wrapped: %w", table.ErrThrottled) }})
		if err := b.projector.Refold(t.Context(), jane, marks); !errors.Is(err, table.ErrThrottled) || b.pauses != 0 {
			t.Errorf("%v after %d pauses", err, b.pauses)
		}
	})
}
