package projections_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

func TestStrongReadFoldsWhatIsNotYetProjected(t *testing.T) {
	b := newBook(t)
	got, err := b.reader.Balance(t.Context(), jane, nil)
	b.must(err)
	same(t, "balance of nothing", got, projections.Balance{Key: jane})

	b.post(jane, upTo(1, 250)...)
	got, err = b.reader.Balance(t.Context(), jane, nil)
	b.must(err)
	same(t, "balance never projected", got, projections.Balance{Key: jane, Head: ones(250, 250), First: ksuid(1)})

	b.refold(jane, ksuid(1))
	b.post(jane, 300)
	b.Requests()
	got, err = b.reader.Balance(t.Context(), jane, nil)
	b.must(err)
	same(t, "balance", got, projections.Balance{Key: jane, Version: 1, Seal: ones(250, 250), Head: ones(300, 251), First: ksuid(1)})
	same(t, "newest shown", got.AsOf(), ksuid(300))
	same(t, "requests", b.Requests(), viewstest.Requests{Balance: 1, Postings: 1, PostingsRead: 1})

	credits, err := b.reader.Credits(t.Context(), "jane", "USD")
	b.must(err)
	same(t, "credits", credits, events.NewAmount(251))
}

func TestStrongReadBelowTheFloor(t *testing.T) {
	floor := events.NewAmount(-5)
	for _, c := range []struct {
		name           string
		quantity       int64
		arrives        int // read after which the credit is there; 0: never
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
			b.must(b.Post(t.Context(), jane, posting(10, c.quantity)))
			b.reader.Pause(func(context.Context, int) error {
				if b.pauses++; b.pauses == c.arrives {
					return b.Post(t.Context(), jane, posting(5, 1))
				}
				return nil
			})
			b.Requests()
			got, err := b.reader.Balance(t.Context(), jane, &floor)
			b.must(err)
			if below := got.Head.Quantity().Cmp(floor) < 0; below != c.shown {
				t.Errorf("shown %v", got.Head.Quantity())
			}
			if n := b.Requests().Balance; n != c.reads {
				t.Errorf("%d reads, wanted %d", n, c.reads)
			}
			if alarmed := strings.Contains(b.log.String(), `level=ERROR msg="balance is below its limit"`); alarmed != c.alarmed {
				t.Errorf("log: %s", b.log.String())
			}
		})
	}
}

func TestStrongListFindsAssetsByTheirPostings(t *testing.T) {
	b := newBook(t)
	assets := []string{"AAPL", "EUR", "USD", "XAU"}
	for i, asset := range assets {
		k := projections.Key{Account: "jane", Asset: asset}
		b.post(k, upTo(1, i+1)...)
		if i%2 == 0 {
			b.refold(k, ksuid(1))
		}
	}
	b.post(projections.Key{Account: "shop", Asset: "BTC"}, 1)
	for _, page := range []struct {
		slice projections.Slice
		from  int
		to    int
		next  string
	}{
		{projections.Slice{Limit: 100}, 0, 4, ""},
		{projections.Slice{Limit: 4}, 0, 4, ""},
		{projections.Slice{Limit: 3}, 0, 3, "USD"},
		{projections.Slice{Limit: 3, After: "USD"}, 3, 4, ""},
		{projections.Slice{Limit: 1, After: "B"}, 1, 2, "EUR"},
		{projections.Slice{Limit: 1, After: "XAU"}, 4, 4, ""},
	} {
		listed, err := b.reader.Balances(t.Context(), "jane", nil, page.slice)
		b.must(err)
		var got []string
		for _, balance := range listed.Items {
			got = append(got, fmt.Sprint(balance.Asset, balance.Head.Count))
		}
		var wanted []string
		for i := page.from; i < page.to; i++ {
			wanted = append(wanted, fmt.Sprint(assets[i], i+1))
		}
		same(t, fmt.Sprintf("%+v", page.slice), got, wanted)
		same(t, "next", listed.Next, page.next)
	}
	// Each asset has its own floor.
	floor := events.NewAmount(4)
	_, err := b.reader.Balances(t.Context(), "jane", func(asset string) *events.Amount {
		if asset == "USD" {
			return &floor
		}
		return nil
	}, projections.Slice{Limit: 100})
	b.must(err)
	if n := strings.Count(b.log.String(), "below its limit"); n != 1 || !strings.Contains(b.log.String(), "asset=USD") {
		t.Errorf("alarms: %s", b.log.String())
	}
}

// unreadable fails to read the postings of one asset.
type unreadable struct {
	*viewstest.Memory
	asset string
}

func (u unreadable) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	if k.Asset == u.asset {
		return nil, false, table.ErrThrottled
	}
	return u.Memory.Postings(ctx, k, after, through)
}

func TestStrongListFailsWhole(t *testing.T) {
	b := newBook(t)
	for _, asset := range []string{"A", "B", "C"} {
		b.post(projections.Key{Account: "jane", Asset: asset}, 1)
	}
	b.on(unreadable{b.Memory, "B"})
	listed, err := b.reader.Balances(t.Context(), "jane", nil, projections.Slice{Limit: 10})
	if !errors.Is(err, table.ErrThrottled) || listed.Items != nil {
		t.Errorf("%+v, %v", listed, err)
	}
	if credits, err := b.reader.Credits(t.Context(), "jane", "B"); !errors.Is(err, table.ErrThrottled) || !credits.IsZero() {
		t.Errorf("credits %v, %v", credits, err)
	}
}

func TestMakeSure(t *testing.T) {
	sure := func(b *book, id events.KSUID) error {
		b.Requests()
		return b.reader.MakeSure(b.Context(), "jane", "USD", id)
	}
	t.Run("makes an empty balance where there is none", func(t *testing.T) {
		b := newBook(t)
		b.post(jane, 1)
		b.must(sure(b, ksuid(1)))
		same(t, "requests", b.Requests(), viewstest.Requests{Balance: 1, Writes: 1})
		same(t, "balance", b.stored(jane), projections.Balance{Key: jane, Version: 1})
		same(t, "summary", b.summary("jane"), projections.Summary{Account: "jane"})
		b.refold(jane, ksuid(1))
		same(t, "summary once it is counted", b.summary("jane"), projections.Summary{Account: "jane", Version: 1, Assets: 1, Holdings: 1, First: ksuid(1)})
	})
	t.Run("above the seal raises the version and nothing else", func(t *testing.T) {
		b := newBook(t)
		b.refold(jane, b.post(jane, upTo(1, 300)...)...)
		before := b.stored(jane)
		b.post(jane, 301)
		b.must(sure(b, ksuid(301)))
		before.Version++
		same(t, "balance", b.stored(jane), before)
	})
	t.Run("below the seal counts the stretch and writes nothing", func(t *testing.T) {
		b := newBook(t)
		b.refold(jane, b.post(jane, upTo(1, 300)...)...)
		for _, counted := range []int{1, 256, 257, 300} {
			b.must(sure(b, ksuid(counted)))
			if r := b.Requests(); r.Writes != 0 || r.PostingsRead > projections.StretchPostings {
				t.Errorf("%+v", r)
			}
		}
	})
	t.Run("says conflict for what is not counted", func(t *testing.T) {
		b := newBook(t)
		var even []int
		for n := range 300 {
			even = append(even, 2*n+2)
		}
		b.refold(jane, b.post(jane, even...)...)
		before := b.stored(jane)
		for _, late := range []int{3, 555} {
			b.post(jane, late)
			if err := sure(b, ksuid(late)); !errors.Is(err, table.ErrConflict) {
				t.Errorf("late posting %d: %v", late, err)
			}
			same(t, "balance", b.stored(jane), before)
		}
		b.refold(jane, ksuid(3), ksuid(555))
		b.must(sure(b, ksuid(3)))
		b.must(sure(b, ksuid(555)))
	})
}

// A refold that read before a posting was committed must not move the seal past it, once it was made sure of.
func TestMakeSureStopsARefoldUnderWay(t *testing.T) {
	b := newBook(t)
	ids := b.post(jane, 10, 30)
	b.on(&failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
		if write == 1 { // the refold has read 10 and 30, and is about to seal them
			b.post(jane, 20)
			return projections.NewReader(b.Memory, nil).MakeSure(t.Context(), "jane", "USD", ksuid(20))
		}
		return nil
	}})
	b.refold(jane, ids...)
	same(t, "balance", b.stored(jane), projections.Balance{Key: jane, Version: 2, Seal: ones(30, 3), Head: ones(30, 3), First: ksuid(10)})
}

// rival lets another raise the version right before our write.
func rival(b *book, act func()) *projections.Reader {
	return projections.NewReader(&failing{Memory: b.Memory, before: func(int, projections.Change) error { act(); return nil }}, nil)
}

func TestMakeSureWhenOthersComeFirst(t *testing.T) {
	t.Run("who raised the version too", func(t *testing.T) {
		b := newBook(t)
		b.post(jane, 1)
		r := rival(b, func() { b.must(b.reader.MakeSure(t.Context(), "jane", "USD", ksuid(1))) })
		b.must(r.MakeSure(t.Context(), "jane", "USD", ksuid(1)))
	})
	t.Run("who counted it", func(t *testing.T) {
		b := newBook(t)
		b.post(jane, 1)
		r := rival(b, func() { b.refold(jane, ksuid(1)) })
		b.must(r.MakeSure(t.Context(), "jane", "USD", ksuid(1)))
	})
	t.Run("who sealed past it without it", func(t *testing.T) {
		b := newBook(t)
		ids := b.post(jane, 10, 30)
		b.post(jane, 20)
		r := rival(b, func() {
			b.on(fewer{b.Memory, ksuid(20)}) // read before 20 was committed
			b.refold(jane, ids...)
		})
		if err := r.MakeSure(t.Context(), "jane", "USD", ksuid(20)); !errors.Is(err, table.ErrConflict) {
			t.Errorf("%v", err)
		}
	})
	t.Run("who is on the way and goes on from what it had read", func(t *testing.T) {
		b := newBook(t)
		ids := b.post(jane, 10, 20, 40, 50)
		var sure error
		saves := 0
		b.on(&writing{b.Memory, func(c projections.Change) error {
			if saves++; saves > 1 {
				return b.Memory.Write(t.Context(), c)
			}
			b.post(jane, 30)
			sure = rival(b, func() { b.must(b.Memory.Write(t.Context(), c)) }).MakeSure(t.Context(), "jane", "USD", ksuid(30))
			return nil
		}})
		b.projector.Shrink(projections.SettleWindow, 1, 2, 0)
		b.refold(jane, ids...)
		if got := b.stored(jane).Seal; got != (ones(50, 4)) {
			t.Fatalf("the refold was to miss the posting: %+v", got)
		}
		if !errors.Is(sure, table.ErrConflict) {
			t.Errorf("it was called sure: %v", sure)
		}
	})
}

// writing replaces writes.
type writing struct {
	*viewstest.Memory
	write func(projections.Change) error
}

func (w *writing) Write(_ context.Context, c projections.Change) error { return w.write(c) }
