package projections_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

func TestFoldRefuses(t *testing.T) {
	most := events.MaxFolded()
	one := events.NewAmount(1)
	full := projections.Fold{Through: ksuid(5), Credits: most, Debits: most, Expenditure: most, Count: 3}
	for _, c := range []struct {
		name   string
		p      projections.Posting
		wanted error
	}{
		{"a posting counted already", projections.Posting{ID: ksuid(5)}, projections.ErrOrder},
		{"a posting from below", projections.Posting{ID: ksuid(4)}, projections.ErrOrder},
		{"credits of 39 digits", projections.Posting{ID: ksuid(6), Figures: events.Figures{Quantity: one}}, events.ErrOverflow},
		{"debits of 39 digits", projections.Posting{ID: ksuid(6), Figures: events.Figures{Quantity: one.Neg()}}, events.ErrOverflow},
		{"an expenditure of 39 digits", projections.Posting{ID: ksuid(6), Figures: events.Figures{Cost: one}}, events.ErrOverflow},
	} {
		if f, err := full.Add(c.p); !errors.Is(err, c.wanted) || f != (projections.Fold{}) {
			t.Errorf("%s: %+v, %v, wanted %v", c.name, f, err, c.wanted)
		}
	}
	if f, err := full.Add(projections.Posting{ID: ksuid(6), Figures: events.Figures{Cost: one.Neg()}}); err != nil || f.Count != 4 {
		t.Errorf("a posting that fits: %+v, %v", f, err)
	}
	// A number of postings at the end of its range never wraps around.
	full.Count = math.MaxInt64
	_, added := full.Add(projections.Posting{ID: ksuid(6), Figures: events.Figures{Cost: one.Neg()}})
	_, plus := full.Plus(projections.Fold{Count: 1})
	_, minus := projections.Fold{Count: -2}.Minus(full)
	for _, err := range []error{added, plus, minus} {
		if !errors.Is(err, events.ErrOverflow) {
			t.Errorf("a count out of range: %v", err)
		}
	}
}

// without returns a table that has lost one posting.
func without(t table.Table, hidden events.KSUID) *viewstest.Hooked {
	hide := func(page []table.Item) ([]table.Item, error) {
		return slices.DeleteFunc(page, func(i table.Item) bool {
			return table.LastID(table.TextOf(i[table.AttrSK])) == string(hidden)
		}), nil
	}
	return &viewstest.Hooked{Table: t, AfterPostings: hide}
}

func TestMissingPostingsAreNeverCorrected(t *testing.T) {
	b := newBook(t)
	ids := b.PostOnes(jane, upTo(1, 300)...)
	b.Refold(jane, ids...)
	before := b.Stored(jane)
	for _, hidden := range []int{5, 290} {
		b.on(without(b.Table, ksuid(hidden)))
		if err := b.Projector.Refold(t.Context(), jane, ids); !errors.Is(err, projections.ErrPostingsMissing) {
			t.Errorf("refold: %v", err)
		}
		if err := b.Reader.EnsureVisible(t.Context(), "jane", "USD", ksuid(hidden+1)); !errors.Is(
			err,
			projections.ErrPostingsMissing,
		) {
			t.Errorf("ensure visible: %v", err)
		}
	}
	viewstest.Same(t, "balance", b.Stored(jane), before)
}

// hidesSegmentOnce hides the segment that contains a posting from the first read: it is not visible yet, because
// transactions become visible item by item.
type hidesSegmentOnce struct {
	table.Table
	hidden bool
}

func (u *hidesSegmentOnce) Query(ctx context.Context, q table.Query) (table.Page, error) {
	page, err := u.Table.Query(ctx, q)
	if len(page.Items) == 0 || table.TextOf(page.Items[0][table.AttrType]) != table.Segment.Type || u.hidden {
		return page, err
	}
	u.hidden = true
	key, _ := table.KeyOf(page.Items[0])
	q.After = table.KeyItem(key)
	return u.Table.Query(ctx, q)
}

// The first visible segment that ends after a posting need not contain it. Then its count proves nothing about the
// posting.
func TestSegmentWithoutThePostingIsNotTrusted(t *testing.T) {
	b := segmented(t)
	late := b.PostOnes(jane, 3)[0]
	ensured := projections.NewReader(&hidesSegmentOnce{Table: b.Table}, nil).
		EnsureVisible(t.Context(), jane.Account, jane.Asset, late)
	if !errors.Is(ensured, table.ErrConflict) {
		t.Errorf("a posting that is not counted was reported visible: %v", ensured)
	}
	b.on(&hidesSegmentOnce{Table: b.Table})
	b.Projector.Tune(projections.Tuning{Stretch: 4, Segments: 10})
	b.Refold(jane, late)
	viewstest.Same(t, "postings", b.Stored(jane).Head.Count, 21)
}

// segmented is a book of twenty postings in five segments.
func segmented(t *testing.T) *book {
	b := newBook(t)
	b.PostSegments()
	return b
}

// readers requires that strong reads of jane's balance count n postings, and that her funds are as many.
func (b *book) readers(n int64) {
	b.Helper()
	read, err := b.Reader.Balance(b.Context(), jane, nil)
	b.Must(err)
	funds, _, err := b.Reader.Funds(b.Context(), jane.Account, jane.Asset)
	b.Must(err)
	holdings, _, err := b.Reader.Holdings(b.Context(), jane.Account, "")
	b.Must(err)
	held := events.Amount{}
	for _, h := range holdings {
		held = h.Quantity
	}
	want := events.NewAmount(n)
	if read.Head.Count != n || funds != want || held != want {
		b.Errorf("a strong read counts %d postings, funds are %v, and holdings %v, not %d", read.Head.Count, funds, held, n)
	}
}

// backdatedRecords returns records with figures of backdated postings of jane.
func backdatedRecords(ids ...events.KSUID) []projections.Record {
	batch := oneRecords(jane, ids...)
	for i := range batch {
		batch[i].Figures.Backdated = true
	}
	return batch
}

// Readers leave out a backdated posting above the seal. The refold that counts it moves the seal past it, although the
// cache would let the seal stay.
func TestBackdatedPostingIsSealedWhenCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		warm   bool
		record func(ids ...events.KSUID) []projections.Record
	}{
		{"from the table", false, backdatedRecords},
		{"from the cache", true, backdatedRecords},
		{"from the cache, without figures", true,
			func(ids ...events.KSUID) []projections.Record { return records(keysOf(jane, ids...)...) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			b.Time = morning.Add(time.Minute)
			b.project(oneRecords(jane, b.PostOnes(jane, 10_000)...))
			b.project(oneRecords(jane, b.PostOnes(jane, 55_000)...))
			b.readers(2)
			b.Time = morning.Add(70 * time.Second)
			ids := b.PostBackdated(jane, 20_000, 50_000)
			b.readers(2)
			if !c.warm {
				b.on(b.Table)
			}
			b.project(c.record(ids[1]))
			viewstest.Same(t, "head", b.Stored(jane).Head, ones(55_000, 4))
			if seal := b.Stored(jane).Seal.Through; seal < ids[1] {
				t.Errorf("the seal is at %s, below %s", seal, ids[1])
			}
			b.readers(4)
		})
	}
}

// A refold writes nothing if it reads a backdated posting that is not settled. It fails, and is tried again.
func TestBackdatedPostingThatIsNotSettled(t *testing.T) {
	for _, warm := range []bool{false, true} {
		b := newBook(t)
		b.Time = morning.Add(time.Minute)
		b.project(oneRecords(jane, b.PostOnes(jane, 10_000)...))
		before := b.Stored(jane)
		if !warm {
			b.on(b.Table)
		}
		batch := slices.Concat(oneRecords(jane, b.PostOnes(jane, 59_000)...),
			backdatedRecords(b.PostBackdated(jane, 50_001)...))
		if _, err := b.Projector.Project(t.Context(), batch); !errors.Is(err, table.ErrConflict) {
			t.Errorf("warm %v: %v", warm, err)
		}
		viewstest.Same(t, "balance", b.Stored(jane), before)
		b.readers(2)
		b.Time = b.Time.Add(time.Second)
		b.project(batch)
		b.readers(3)
		viewstest.Same(t, "seal", b.Stored(jane).Seal, ones(50_001, 2))
	}
}

// A strong list leaves out an asset of which there is nothing to show yet. A malformed balance has no seal: strong reads
// then count all postings.
func TestReadsOfOtherBackdatedPostings(t *testing.T) {
	b := newBook(t)
	ids := b.PostBackdated(jane, 1, 2)
	listed, err := b.Reader.Balances(t.Context(), "jane", nil, projections.Slice{Limit: 10})
	if err != nil || len(listed.Items) > 0 {
		t.Errorf("%+v, %v", listed, err)
	}
	b.Refold(jane, ids...)
	b.readers(2)
	b.on(&viewstest.Hooked{Table: b.Table, BeforeBalance: func(events.Pair) error { return table.ErrMalformedItem }})
	b.readers(2)
}
