package projections_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// endlessTable generates postings instead of storing them, and measures the heap at every write.
type endlessTable struct {
	store.Table
	count int
	heap  func()
}

func (e *endlessTable) Query(ctx context.Context, q store.Query) (store.Page, error) {
	if !viewstest.IsPostings(q) {
		return e.Table.Query(ctx, q)
	}
	n := 0
	if q.After != nil {
		n = int(events.KSUID(store.LastID(store.ItemKey(q.After).SK)).Time().Sub(morning) / time.Millisecond)
	}
	var page store.Page
	for len(page.Items) < q.Limit && n < e.count {
		n++
		page.Items = append(page.Items, store.EventItem(events.PostingRecorded{
			Leg: events.Leg{
				ID: ksuid(n), Account: jane.Account, Asset: jane.Asset, Quantity: events.NewAmount(1),
			},
			Transaction: "t-1", Kind: events.KindTransfer,
		}))
	}
	if n < e.count {
		page.Next = page.Items[len(page.Items)-1]
	}
	return page, nil
}

func (e *endlessTable) Transact(ctx context.Context, writes []store.Write) (time.Time, error) {
	e.heap()
	return e.Table.Transact(ctx, slices.DeleteFunc(slices.Clone(writes), func(w store.Write) bool {
		return store.TextOf(w.Item[store.AttrType]) == store.Segment.Type // the store would keep them
	}))
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
	b.on(&endlessTable{Table: b.Table, count: all, heap: func() { most = max(most, inUse()) }})
	b.Refold(jane, ksuid(1))
	viewstest.Same(t, "count", b.Stored(jane).Head.Count, all)
	// A page is 1,000 postings of about 1 KB. The folded parts of all of them are 20 MB.
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
	b.on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []store.Write) error {
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
