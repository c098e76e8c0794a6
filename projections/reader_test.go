package projections_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

func TestStrongReadBelowTheFloor(t *testing.T) {
	floor := events.NewAmount(-5)
	for _, c := range []struct {
		name           string
		quantity       int64
		arrives        int // the pause during which the credit arrives; 0: never
		reads          int
		shown, alarmed bool
	}{
		{"at the floor", -5, 0, 1, false, false},
		{"below, and the credit arrives", -6, 2, 3, false, false},
		{"below, and the credit arrives for the last read", -6, 5, 6, false, false},
		{"below for good", -6, 0, 6, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			b.Must(b.Post(t.Context(), jane, posting(10, c.quantity)))
			b.Reader.Pause(func(context.Context, int) error {
				if b.pauses++; b.pauses == c.arrives {
					return b.Post(t.Context(), jane, posting(5, 1))
				}
				return nil
			})
			b.Requests()
			got, err := b.Reader.Balance(t.Context(), jane, &floor)
			b.Must(err)
			if below := got.Head.Quantity().Cmp(floor) < 0; below != c.shown {
				t.Errorf("shown %v", got.Head.Quantity())
			}
			if n := b.Requests().Gets; n != c.reads {
				t.Errorf("%d reads, wanted %d", n, c.reads)
			}
			alarm := `level=ERROR msg="balance is below its limit"`
			if alarmed := strings.Contains(b.log.String(), alarm); alarmed != c.alarmed {
				t.Errorf("log: %s", b.log.String())
			}
		})
	}
}

// A posting below the seal that is not counted is a conflict. A counted posting is visible and needs no write.
func TestEnsureVisible(t *testing.T) {
	b := newBook(t)
	var even []int
	for n := range 300 {
		even = append(even, 2*n+2)
	}
	b.Refold(jane, b.PostOnes(jane, even...)...)
	before := b.Stored(jane)
	ensure := func(wanted error, at ...int) {
		t.Helper()
		for _, n := range at {
			b.Requests()
			err := b.Reader.EnsureVisible(t.Context(), "jane", "USD", ksuid(n))
			r := b.Requests()
			if !errors.Is(err, wanted) || r.Writes() != 0 || r.Postings > projections.StretchPostings+1 {
				t.Errorf("posting %d: %v, %+v", n, err, r)
			}
		}
	}
	ensure(nil, 2, 512, 514, 600)
	b.PostOnes(jane, 3, 555)
	ensure(table.ErrConflict, 3, 555)
	viewstest.Same(t, "balance", b.Stored(jane), before)
	b.Refold(jane, ksuid(3), ksuid(555))
	ensure(nil, 3, 555)
}

// halfVisible reads one item as it was before the last write.
type halfVisible struct {
	table.Table
	before table.Item
}

func (h halfVisible) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	item, at, err := h.Table.Get(ctx, k, c)
	if k == table.ItemKey(h.before) {
		item = h.before
	}
	return item, at, err
}

// A write of a balance and a segment becomes visible item by item. A posting that only the segment counts is not
// visible.
func TestSegmentVisibleBeforeItsBalance(t *testing.T) {
	b := newBook(t)
	b.PostSegments()
	before := projections.BalanceForm.Item(b.Stored(jane))
	late := b.PostOnes(jane, 5)
	b.Refold(jane, late...)
	b.on(halfVisible{b.Table, before})
	if err := b.Reader.EnsureVisible(t.Context(), "jane", "USD", late[0]); !errors.Is(err, table.ErrConflict) {
		t.Error(err)
	}
}

// A refold that read before a posting was committed must not move the seal past it after EnsureVisible succeeded.
func TestEnsureVisibleStopsARefoldInProgress(t *testing.T) {
	b := newBook(t)
	ids := b.PostOnes(jane, 10, 30)
	b.on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []table.Write) error {
		if write == 1 { // the refold has read 10 and 30, and is about to seal them
			b.PostOnes(jane, 20)
			return projections.NewReader(b.Table, nil).EnsureVisible(t.Context(), "jane", "USD", ksuid(20))
		}
		return nil
	}})
	b.Refold(jane, ids...)
	viewstest.Same(t, "balance", b.Stored(jane), projections.Balance{Pair: jane, Version: b.version(2), Seal: ones(30, 3),
		Head: ones(30, 3), First: ksuid(10)})
}

// Each asset of a strong list has its own floor. If one balance cannot be read, the list fails.
func TestStrongList(t *testing.T) {
	b := newBook(t)
	for _, asset := range []string{"A", "B", "C"} {
		b.PostOnes(events.Pair{Account: "jane", Asset: asset}, 1)
	}
	floor := events.NewAmount(4)
	floors := func(asset string) *events.Amount { return map[string]*events.Amount{"B": &floor}[asset] }
	_, err := b.Reader.Balances(t.Context(), "jane", floors, projections.Slice{Limit: 10})
	b.Must(err)
	if log := b.log.String(); strings.Count(log, "below its limit") != 1 || !strings.Contains(log, "asset=B") {
		t.Errorf("alarms: %s", log)
	}
	b.on(brokenFor(b.Table, map[string]error{"B": errBroken}))
	listed, err := b.Reader.Balances(t.Context(), "jane", nil, projections.Slice{Limit: 10})
	if !errors.Is(err, errBroken) || listed.Items != nil {
		t.Errorf("%+v, %v", listed, err)
	}
}

// Reads of the same page share its budget. A page that it ends goes on after its last balance.
func TestReadsOfAPageShareItsBudget(t *testing.T) {
	b := newBook(t)
	const assets = 60
	for n := range assets {
		b.PostOnes(events.Pair{Account: "jane", Asset: fmt.Sprintf("X%02d", n)}, 1)
	}
	s := projections.Slice{Limit: 100, Budget: projections.NewBudget()}
	first, err := b.Reader.Balances(t.Context(), "jane", nil, s)
	b.Must(err)
	again, err := b.Reader.Balances(t.Context(), "jane", nil, s)
	b.Must(err)
	n := len(first.Items)
	if n < 50 || n == assets || first.Next != first.Items[n-1].Asset || len(again.Items) != 1 || again.Next != "X00" {
		t.Errorf("%d balances, then %q, and again %d balances, then %q", n, first.Next, len(again.Items), again.Next)
	}
	rest, err := b.Reader.Balances(t.Context(), "jane", nil, projections.Slice{After: first.Next, Limit: 100})
	if err != nil || n+len(rest.Items) != assets || rest.Next != "" {
		t.Errorf("%d balances after the first %d, then %q, %v", len(rest.Items), n, rest.Next, err)
	}
}

// throttled is a table that throttles the first counts, and records the counted ranges.
type throttled struct {
	table.Table
	mu      sync.Mutex
	left    int
	counted map[table.Range]bool
}

func (s *throttled) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if !q.CountOnly {
		return s.Table.Query(ctx, q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left >= 0 {
		return table.Page{}, table.ErrThrottled
	}
	s.counted[q.Within] = true
	return s.Table.Query(ctx, q)
}

// All postings are counted in stretches of about 2,560: those in segments, those above the seal, and those that no
// projection counts. A throttled stretch is counted again.
func TestCountPostings(t *testing.T) {
	const most = 6_000
	b := newBook(t)
	s := &throttled{Table: b.Table, left: 3, counted: map[table.Range]bool{}}
	reader := projections.NewReader(s, nil)
	reader.Pause(func(context.Context, int) error { return nil })
	count := func(want int64) {
		t.Helper()
		if n, err := reader.CountPostings(t.Context(), jane.Account, jane.Asset); err != nil || n != want {
			t.Errorf("counted %d postings, %v; want %d", n, err, want)
		}
	}
	count(0)
	b.Refold(jane, b.PostOnes(jane, upTo(10, most+9)...)...)
	clear(s.counted)
	count(most)
	segments := b.AllSegments(jane)
	tenth, twentieth := string(segments[9].Through), string(segments[19].Through)
	if got, want := s.counted, (map[table.Range]bool{
		table.Posting.All("USD").Through(tenth): true, table.Posting.All("USD").After(tenth).Through(twentieth): true,
		table.Posting.All("USD").After(twentieth): true,
	}); !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	b.PostOnes(jane, 1, 2, most+10)
	b.Must(b.Post(t.Context(), events.Pair{Account: "jane", Asset: "USD2"}, posting(7, 1)))
	count(most + 3)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.CountPostings(cancelled, jane.Account, jane.Asset); err == nil {
		t.Error("no error after the deadline")
	}
}

// rival returns a reader whose writes conflict: act runs right before each and raises the version.
func rival(b *book, act func()) *projections.Reader {
	return projections.NewReader(
		&viewstest.Hooked{Table: b.Table, BeforeWrite: func(int, []table.Write) error { act(); return nil }},
		nil,
	)
}

func TestEnsureVisibleAfterAConflict(t *testing.T) {
	t.Run("another refold moved the seal past the posting without counting it", func(t *testing.T) {
		b := newBook(t)
		ids := b.PostOnes(jane, 10, 30)
		b.PostOnes(jane, 20)
		r := rival(b, func() {
			b.on(without(b.Table, ksuid(20))) // read before 20 was committed
			b.Refold(jane, ids...)
		})
		if err := r.EnsureVisible(t.Context(), "jane", "USD", ksuid(20)); !errors.Is(err, table.ErrConflict) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a refold in progress continues from postings that it read before", func(t *testing.T) {
		b := newBook(t)
		ids := b.PostOnes(jane, 10, 20, 40, 50)
		var ensured error
		saves := 0
		b.on(&writing{b.Table, func(c []table.Write) error {
			if saves++; saves > 1 {
				return apply(t.Context(), b.Table, c)
			}
			b.PostOnes(jane, 30)
			ensured = rival(
				b,
				func() { b.Must(apply(t.Context(), b.Table, c)) },
			).EnsureVisible(t.Context(), "jane", "USD", ksuid(30))
			return nil
		}})
		b.Projector.Tune(projections.Tuning{Stretch: 1, Segments: 2})
		b.Refold(jane, ids...)
		if got := b.Stored(jane).Seal; got != (ones(50, 4)) {
			t.Fatalf("the refold did not miss the posting: %+v", got)
		}
		if !errors.Is(ensured, table.ErrConflict) {
			t.Errorf("the posting was reported visible: %v", ensured)
		}
	})
}

// writing is a table that calls write instead of writing.
type writing struct {
	table.Table
	write func([]table.Write) error
}

func (w *writing) Write(_ context.Context, one table.Write) (time.Time, error) {
	return time.Time{}, w.write([]table.Write{one})
}

func (w *writing) Transact(_ context.Context, all []table.Write) (time.Time, error) {
	return time.Time{}, w.write(all)
}

// apply makes the writes that a writing got.
func apply(ctx context.Context, t table.Table, all []table.Write) error {
	_, err := t.Transact(ctx, all)
	return err
}
