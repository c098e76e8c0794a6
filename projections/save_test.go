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

// endlessStore generates postings instead of storing them, and measures the heap at every write.
// written.
type endlessStore struct {
	*viewstest.Store
	count int
	heap  func()
}

func (e *endlessStore) Postings(
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

func (e *endlessStore) Write(ctx context.Context, c projections.Change) error {
	e.heap()
	c.Segments = nil // the in-memory store would keep them
	return e.Store.Write(ctx, c)
}

func TestLongRefoldHoldsOnePageInMemory(t *testing.T) {
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
	b.on(&endlessStore{Store: b.Store, count: all, heap: func() { most = max(most, inUse()) }})
	b.Refold(jane, ksuid(1))
	viewstest.Same(t, "count", b.Stored(jane).Head.Count, all)
	// A page is 4,000 postings of about 100 bytes; all of them are 20 MB.
	if grown := int64(most) - int64(before); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes while %d postings were refolded", grown, all)
	}
}

// A refold that was interrupted before its last write leaves an unfinished balance. The next refold must finish it,
// even without new postings; else every later refold would read to the end again.
func TestUnfinishedBalanceIsFinishedWithoutNewPostings(t *testing.T) {
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
