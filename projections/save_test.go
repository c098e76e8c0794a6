package projections_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// endless makes up its postings, so that it holds none, and watches the memory in use whenever something is written.
type endless struct {
	*viewstest.Store
	count int
	heap  func()
}

func (e *endless) Postings(
	_ context.Context,
	_ events.Pair,
	after, _ events.KSUID,
) ([]projections.Posting, bool, error) {
	n := 0
	if after != "" {
		n = int(after.Time().Sub(morning) / time.Millisecond)
	}
	var page []projections.Posting
	for len(page) < 4000 && n < e.count {
		n++
		page = append(page, projections.Posting{ID: ksuid(n), Figures: events.Figures{Quantity: events.NewAmount(1)}})
	}
	return page, n < e.count, nil
}

func (e *endless) Write(ctx context.Context, c projections.Change) error {
	e.heap()
	c.Segments = nil // the store under test would hold them
	return e.Store.Write(ctx, c)
}

func TestALongRefoldHoldsAPage(t *testing.T) {
	const all = 200_000
	b := newBook(t)
	b.Time = morning.Add(time.Hour)
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := inUse(), uint64(0)
	b.on(&endless{Store: b.Store, count: all, heap: func() { most = max(most, inUse()) }})
	b.Refold(jane, ksuid(1))
	viewstest.Same(t, "count", b.Stored(jane).Head.Count, all)
	// A page is 4,000 postings of about 100 bytes; all of them are 20 MB.
	if grown := int64(most) - int64(before); grown > 4<<20 {
		t.Errorf("%d bytes more in use while %d postings were refolded", grown, all)
	}
}

// What was broken off right before its last write is read to the end once, not for ever.
func TestUnfinishedIsFinishedThoughNothingIsNew(t *testing.T) {
	b := newBook(t)
	b.Time = morning.Add(5 * time.Second)
	ids := b.PostOnes(jane, 1, 2)
	b.Refold(jane, ids...)
	version := b.version(0)
	b.Time = b.Time.Add(time.Minute)
	errCut := errors.New("cut off")
	b.on(&viewstest.Hooked{Store: b.Store, BeforeWrite: func(write int, _ projections.Change) error {
		if write == 2 {
			return errCut
		}
		return nil
	}})
	b.Projector.Tune(projections.Tuning{Stretch: 2, Segments: 1})
	if err := b.Projector.Refold(t.Context(), jane, ids); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	viewstest.Same(t, "unfinished", b.Stored(jane).Unfinished, true)
	b.Refold(jane, ids[0])
	viewstest.Same(t, "balance", b.Stored(jane), projections.Balance{Pair: jane, Version: version + 3, Base: ones(2, 2),
		Seal: ones(2, 2), Head: ones(2, 2), First: ksuid(1)})
}
