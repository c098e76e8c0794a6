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

// failing makes the n-th write fail without being applied.
type failing struct {
	*viewstest.Memory
	before func(write int, c projections.Change) error // error: not applied
	after  func(write int) error                       // error: applied, but not told
	writes int
}

func (f *failing) Write(ctx context.Context, c projections.Change) error {
	f.writes++
	if f.before != nil {
		if err := f.before(f.writes, c); err != nil {
			return err
		}
	}
	if err := f.Memory.Write(ctx, c); err != nil || f.after == nil {
		return err
	}
	return f.after(f.writes)
}

func TestRefoldSavesItsWay(t *testing.T) {
	const all = 2*projections.SegmentsMax*projections.StretchPostings + 300
	b := newBook(t)
	b.Page = 1000
	ids := b.post(jane, upTo(1, all)...)
	errCut := errors.New("cut off")
	cut := &failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
		if write == 2 {
			return errCut
		}
		return nil
	}}
	b.on(cut)
	if err := b.projector.Refold(t.Context(), jane, ids[:1]); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	const saved = projections.SegmentsMax * projections.StretchPostings
	same(t, "balance on the way", b.stored(jane), projections.Balance{
		Key: jane, Version: 1, Base: ones(saved, saved), Seal: ones(saved, saved), First: ksuid(1), Unfinished: true,
	})
	same(t, "summary on the way", b.summary("jane"), projections.Summary{Account: "jane"})

	strong, err := b.reader.Balance(t.Context(), jane, nil)
	b.must(err)
	same(t, "strong read on the way", strong.Head, ones(all, all))

	b.Requests()
	b.refold(jane, ids[0]) // its mark is below the seal and counted: the rest is read all the same
	r := b.Requests()
	if r.Writes != 2 || r.PostingsRead > all-saved+projections.StretchPostings {
		t.Errorf("%d writes, %d postings read", r.Writes, r.PostingsRead)
	}
	got := b.stored(jane)
	const base = all / projections.StretchPostings * projections.StretchPostings
	same(t, "balance at the end", got, projections.Balance{Key: jane, Version: 3, Base: ones(base, base), Seal: ones(all, all), Head: ones(all, all), First: ksuid(1)})
	same(t, "summary at the end", b.summary("jane"), projections.Summary{Account: "jane", Version: 1, Assets: 1, Holdings: 1, First: ksuid(1)})
	if n := len(b.Segments(jane)); n != all/projections.StretchPostings {
		t.Errorf("%d segments", n)
	}
}

// endless makes up its postings, so that it holds none, and watches the memory in use whenever something is written.
type endless struct {
	*viewstest.Memory
	count int
	heap  func()
}

func (e *endless) Postings(_ context.Context, _ projections.Key, after, _ events.KSUID) ([]projections.Posting, bool, error) {
	n := 0
	if after != "" {
		n = int(after.Time().Sub(morning) / time.Millisecond)
	}
	var page []projections.Posting
	for len(page) < 4000 && n < e.count {
		n++
		page = append(page, projections.Posting{ID: ksuid(n), Quantity: events.NewAmount(1)})
	}
	return page, n < e.count, nil
}

func (e *endless) Write(ctx context.Context, c projections.Change) error {
	e.heap()
	return e.Memory.Write(ctx, c)
}

func TestRefoldOfAMillionPostingsHoldsAPage(t *testing.T) {
	const million = 1_000_000
	b := newBook(t)
	b.now = morning.Add(time.Hour)
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := inUse(), uint64(0)
	b.on(&endless{Memory: b.Memory, count: million, heap: func() { most = max(most, inUse()) }})
	b.refold(jane, ksuid(1))
	same(t, "count", b.stored(jane).Head.Count, million)
	// A page is 4,000 postings of about 100 bytes; the segments stay in the store under test, 4,000 of 200 bytes.
	if grown := int64(most) - int64(before); grown > 4<<20 {
		t.Errorf("%d bytes more in use while a million postings were refolded", grown)
	}
}

// What was broken off right before its last write is read to the end once, not for ever.
func TestUnfinishedIsFinishedThoughNothingIsNew(t *testing.T) {
	b := newBook(t)
	b.now = morning.Add(5 * time.Second)
	ids := b.post(jane, 1, 2)
	b.refold(jane, ids...)
	b.now = b.now.Add(time.Minute)
	errCut := errors.New("cut off")
	b.on(&failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
		if write == 2 {
			return errCut
		}
		return nil
	}})
	b.projector.Shrink(projections.SettleWindow, 2, 1, 0)
	if err := b.projector.Refold(t.Context(), jane, ids); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	same(t, "unfinished", b.stored(jane).Unfinished, true)
	b.refold(jane, ids[0])
	same(t, "balance", b.stored(jane), projections.Balance{Key: jane, Version: 3, Base: ones(2, 2), Seal: ones(2, 2), Head: ones(2, 2), First: ksuid(1)})
}
