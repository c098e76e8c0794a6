package projections_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
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

// What was settled when a refold began to read is settled, not what is when it ends. Meanwhile a posting may be committed
// behind what it has read, and a seal past that posting would hide it.
func TestSettledWhenTheReadBegan(t *testing.T) {
	b := newBook(t)
	b.Time = morning.Add(30 * time.Second)
	ids := b.PostOnes(jane, 1_000, 25_000, 26_000)
	b.on(&viewstest.Hooked{Table: b.Table, AfterPostings: func(page []table.Item) ([]table.Item, error) {
		b.Time = b.Time.Add(time.Minute)
		return page, nil
	}})
	b.Refold(jane, ids...)
	viewstest.Same(t, "balance", b.Stored(jane), projections.Balance{Pair: jane, Version: b.Stored(jane).Version,
		Seal: ones(1_000, 1), Head: ones(26_000, 3), First: ksuid(1_000)})
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
		{"permanent conflict", func(int) error { return table.ErrConflict }, 11, table.ErrConflict},
		{"throttled", func(int) error { return table.ErrThrottled }, 0, table.ErrThrottled},
		{"one unknown outcome", func(n int) error { return map[int]error{1: table.ErrUnknownOutcome}[n] }, 1, nil},
		{"canceled", func(int) error { cancel(); return table.ErrConflict }, 1, context.Canceled},
	} {
		b := newBook(t)
		ids := b.PostOnes(jane, 1)
		b.on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(n int, _ []table.Write) error { return c.write(n) }})
		if err := b.Projector.Refold(ctx, jane, ids); !errors.Is(err, c.wanted) || b.pauses != c.pauses {
			t.Errorf("%s: %v after %d pauses", c.name, err, b.pauses)
		}
	}
}

// endlessTable generates postings instead of storing them, and measures the heap at every write.
type endlessTable struct {
	table.Table
	count int
	heap  func()
}

func (e *endlessTable) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if !viewstest.IsPostings(q) {
		return e.Table.Query(ctx, q)
	}
	n := 0
	if q.After != nil {
		n = int(events.KSUID(table.LastID(table.ItemKey(q.After).SK)).Time().Sub(morning) / time.Millisecond)
	}
	var page table.Page
	for len(page.Items) < q.Limit && n < e.count {
		n++
		page.Items = append(page.Items, table.EventItem(events.PostingRecorded{
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

func (e *endlessTable) Transact(ctx context.Context, writes []table.Write) (time.Time, error) {
	e.heap()
	return e.Table.Transact(ctx, slices.DeleteFunc(slices.Clone(writes), func(w table.Write) bool {
		return table.TextOf(w.Item[table.AttrType]) == table.Segment.Type // the store would keep them
	}))
}

func TestLongRefoldHoldsOnePageInMemory(t *testing.T) {
	const all = 80_000
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
	// A page is 1,000 postings of about 1 KB. The folded parts of all of them are 8 MB.
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
	b.on(viewstest.CutOff(b.Table))
	b.Projector.Tune(projections.Tuning{Stretch: 2, Segments: 1})
	if err := b.Projector.Refold(t.Context(), jane, ids); !errors.Is(err, viewstest.ErrCut) {
		t.Fatal(err)
	}
	viewstest.Same(t, "unfinished", b.Stored(jane).Unfinished, true)
	b.on(b.Table)
	b.Projector.Tune(projections.Tuning{Stretch: 2, Segments: 1})
	b.Refold(jane, ids[0])
	viewstest.Same(t, "balance", b.Stored(jane), projections.Balance{Pair: jane, Version: version + 3, Base: ones(2, 2),
		Seal: ones(2, 2), Head: ones(2, 2), First: ksuid(1)})
}

// A balance may become visible before the summary that was written with it. If a refold then makes the balance zero,
// the stale summary seems to need no change. The refold must write it anyway: the write fails if the version changes.
func TestSummaryOlderThanItsBalanceIsWritten(t *testing.T) {
	b := newBook(t)
	first := posting(1, 5)
	b.Must(b.Post(t.Context(), jane, first))
	head := projections.Fold{Through: first.ID, Credits: events.NewAmount(5), Count: 1}
	b.Must(b.Write(t.Context(), projections.Change{
		Balance: projections.Balance{Pair: jane, Head: head, First: first.ID},
		Summary: &projections.Summary{Account: jane.Account, Assets: 1, First: first.ID},
	}))
	second := posting(2, -5)
	b.Must(b.Post(t.Context(), jane, second))
	b.Requests()
	b.Refold(jane, second.ID)
	if r := b.Requests(); r.TransactWrites != 1 {
		t.Errorf("the summary was left alone: %+v", r)
	}
	viewstest.Same(t, "summary", b.summary("jane").Version, 2)
}

// After a balance was lost and recreated, a write that compares an old version must fail. So the recreated balance must
// not reuse a version.
func TestRecreatedBalanceHasAHigherVersion(t *testing.T) {
	for _, how := range []string{"by a refold", "by EnsureVisible"} {
		b := newBook(t)
		create := func(n int) {
			id := b.PostOnes(jane, n)[0]
			if how == "by a refold" {
				b.Refold(jane, id)
			} else {
				b.Must(b.Reader.EnsureVisible(t.Context(), jane.Account, jane.Asset, id))
			}
		}
		create(1)
		before := b.Stored(jane)
		b.Damage().LoseBalance(jane)
		b.Time = b.Time.Add(time.Second)
		create(2)
		if now := b.Stored(jane); now.Version <= before.Version || now.Version < morning.UnixMilli() ||
			now.Version > table.VersionMax/2 {
			t.Errorf("%s: version %d after %d", how, now.Version, before.Version)
		}
		if err := b.Write(t.Context(), projections.Change{Balance: before}); !errors.Is(err, table.ErrConflict) {
			t.Errorf("%s: a write on version %d: %v", how, before.Version, err)
		}
	}
}

// If a stored balance is malformed, strong reads fold all its postings. The projector counts the record as malformed
// and continues.
func TestMalformedBalance(t *testing.T) {
	b := segmented(t)
	shop := events.Pair{Account: "shop", Asset: "USD"}
	b.Damage().Spoil(table.Balance.Key("jane", "USD"))
	b.project(records(append(keysOf(jane, b.PostOnes(jane, 50)...), keysOf(shop, b.PostOnes(shop, 1)...)...)...))
	viewstest.Same(t, "the other's head", b.Stored(shop).Head, ones(1, 1))
	if !b.alarmed("RecordsMalformed", 1, "account=jane", "asset=USD") {
		t.Error(b.log.String())
	}
	b.log.Reset()
	strong, err := b.Reader.Balance(t.Context(), jane, nil)
	b.Must(err)
	viewstest.Same(t, "strong", strong.Head, ones(50, 21))
	credits, _, err := b.Reader.Funds(t.Context(), "jane", "USD")
	b.Must(err)
	viewstest.Same(t, "credits", credits, events.NewAmount(21))
	if !strings.Contains(b.log.String(), "level=ERROR") {
		t.Errorf("no error was logged: %s", b.log.String())
	}
}
