package projections_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

var jane = projections.Key{Account: "jane", Asset: "USD"}

// book is a store in memory with a projector and a reader on it, all of one clock.
type book struct {
	*testing.T
	*viewstest.Memory
	projector *projections.Projector
	reader    *projections.Reader
	now       time.Time
	log       bytes.Buffer
	pauses    int
}

func newBook(t *testing.T) *book {
	b := &book{T: t, Memory: viewstest.NewMemory(), now: morning.Add(time.Hour)}
	b.Memory.Now = b.clock
	b.on(b.Memory)
	return b
}

func (b *book) clock() time.Time { return b.now }

// on puts projector and reader on other views, which end in the same store.
func (b *book) on(views projections.Views) {
	log := slog.New(slog.NewTextHandler(&b.log, nil))
	pause := func(ctx context.Context, _ int) error { b.pauses++; return ctx.Err() }
	b.projector = projections.NewProjector(views, b.clock, log)
	b.projector.Pause(pause)
	b.reader = projections.NewReader(views, b.clock, log)
	b.reader.Pause(pause)
}

func (b *book) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// post puts postings of quantity 1 and cost 2 at the given milliseconds of the morning, and returns their KSUIDs.
func (b *book) post(k projections.Key, at ...int) []events.KSUID {
	b.Helper()
	ids := make([]events.KSUID, len(at))
	for i, n := range at {
		ids[i] = ksuid(n)
		b.must(b.Post(b.Context(), k, posting(n, 1)))
	}
	return ids
}

func posting(at int, quantity int64) projections.Posting {
	return projections.Posting{ID: ksuid(at), Quantity: events.NewAmount(quantity), Cost: events.NewAmount(2 * quantity)}
}

// upTo returns from, from+1, to.
func upTo(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func (b *book) refold(k projections.Key, marks ...events.KSUID) {
	b.Helper()
	b.must(b.projector.Refold(b.Context(), k, marks))
}

func (b *book) stored(k projections.Key) projections.Balance {
	b.Helper()
	stored, _, err := b.Balance(b.Context(), k)
	b.must(err)
	return stored
}

func (b *book) summary(account string) projections.Summary {
	b.Helper()
	s, err := b.Summary(b.Context(), account)
	b.must(err)
	return s
}

// ones is the fold of n postings of post.
func ones(through, n int) projections.Fold {
	return projections.Fold{Through: ksuid(through), Credits: events.NewAmount(int64(n)), Expenditure: events.NewAmount(int64(2 * n)), Count: int64(n)}
}

func same[T any](t testing.TB, what string, got, wanted T) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s:\n got    %+v\n wanted %+v", what, got, wanted)
	}
}

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
		b.refold(jane, marks...)
	}
	if r := b.Requests(); r.Writes != 0 {
		t.Errorf("%d writes", r.Writes)
	}
	same(t, "balance", b.stored(jane), before)
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

func TestLatePostingIsAddedToItsStretchOnly(t *testing.T) {
	const size = projections.StretchPostings
	even := func(n int) []int {
		var all []int
		for i := range n {
			all = append(all, 2*i+2)
		}
		return all
	}
	for _, c := range []struct {
		name     string
		late     []int
		segments []int64 // counts
		first    int
		read     int // postings at most
	}{
		{"in a segment", []int{2*size + 1}, []int64{size, size + 1, size}, 2, size + 1},
		{"before the first", []int{1}, []int64{size + 1, size, size}, 1, size + 1},
		{"in every segment, more than one", []int{1, 3, 2*size + 1, 4*size + 1}, []int64{size + 2, size + 1, size + 1}, 1, 3*size + 4},
		{"between base and seal", []int{6*size + 1}, []int64{size, size, size}, 2, 11},
		{"in a segment and between base and seal", []int{3, 6*size + 3}, []int64{size + 1, size, size}, 2, size + 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			all := even(3*size + 10)
			b.refold(jane, b.post(jane, all...)...)
			late := b.post(jane, c.late...)
			// What is not marked may wait for its own mark.
			b.Requests()
			b.refold(jane, append(late, late...)...)
			r := b.Requests()
			if r.Writes != 1 || r.PostingsRead > c.read {
				t.Errorf("%d writes, %d postings read, wanted 1 and at most %d", r.Writes, r.PostingsRead, c.read)
			}
			inSegments := 0
			var counts []int64
			for _, s := range b.Segments(jane) {
				counts = append(counts, s.Count)
				inSegments += int(s.Count)
			}
			same(t, "segments", counts, c.segments)
			end := 2 * (3*size + 10)
			n := 3*size + 10 + len(late)
			same(t, "balance", b.stored(jane), projections.Balance{
				Key: jane, Version: 2, Base: ones(6*size, inSegments), Seal: ones(end, n), Head: ones(end, n), First: ksuid(c.first),
			})
			same(t, "first of the summary", b.summary("jane").First, ksuid(c.first))
		})
	}
}

// fewer hides a posting, as a store does that lost one.
type fewer struct {
	*viewstest.Memory
	hidden events.KSUID
}

func (f fewer) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	page, more, err := f.Memory.Postings(ctx, k, after, through)
	return slices.DeleteFunc(page, func(p projections.Posting) bool { return p.ID == f.hidden }), more, err
}

func TestLostPostingsAreNoCorrection(t *testing.T) {
	b := newBook(t)
	ids := b.post(jane, upTo(1, 300)...)
	b.refold(jane, ids...)
	before := b.stored(jane)
	for _, hidden := range []int{5, 290} {
		b.on(fewer{b.Memory, ksuid(hidden)})
		if err := b.projector.Refold(t.Context(), jane, ids); !errors.Is(err, projections.ErrPostingsMissing) {
			t.Errorf("refold: %v", err)
		}
		if err := b.reader.MakeSure(t.Context(), "jane", "USD", ksuid(hidden+1)); !errors.Is(err, projections.ErrPostingsMissing) {
			t.Errorf("make sure: %v", err)
		}
	}
	same(t, "balance", b.stored(jane), before)
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

func TestCorrectionsAreSavedOnTheWay(t *testing.T) {
	b := newBook(t)
	b.projector.Shrink(projections.SettleWindow, 4, 2)
	var even []int
	for n := range 24 {
		even = append(even, 2*n+2)
	}
	b.refold(jane, b.post(jane, even...)...)
	var late []events.KSUID
	for n := range 6 {
		id := 8*n + 1
		late = append(late, ksuid(id))
		quantity := int64(1)
		if n == 1 {
			quantity = -25 // the second correction brings what is shown to zero
		}
		b.must(b.Post(t.Context(), jane, posting(id, quantity)))
	}
	errCut := errors.New("cut off")
	b.on(&failing{Memory: b.Memory, before: func(write int, c projections.Change) error {
		if c.Balance.Unfinished {
			t.Error("a correction marked the balance unfinished")
		}
		if write == 2 {
			return errCut
		}
		return nil
	}})
	b.projector.Shrink(projections.SettleWindow, 4, 2)
	if err := b.projector.Refold(t.Context(), jane, late); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	same(t, "quantity on the way", b.stored(jane).Head.Quantity(), events.NewAmount(0))
	s := b.summary("jane")
	same(t, "summary on the way", s, projections.Summary{Account: "jane", Version: s.Version, Assets: 1, Holdings: 0, First: ksuid(1)})
	b.refold(jane, late...)
	same(t, "quantity", b.stored(jane).Head.Quantity(), events.NewAmount(4))
	same(t, "holdings", b.summary("jane").Holdings, 1)
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
