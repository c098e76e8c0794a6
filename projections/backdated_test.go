package projections_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// readers requires that strong reads of jane's balance count n postings, and that her funds are as many.
func (b *book) readers(n int64) {
	b.Helper()
	read, err := b.Reader.Balance(b.Context(), jane, nil)
	b.Must(err)
	funds, err := b.Reader.Funds(b.Context(), jane.Account, jane.Asset)
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
		if _, err := b.Projector.Project(t.Context(), batch); !errors.Is(err, store.ErrConflict) {
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
	b.on(&viewstest.Hooked{Table: b.Table, BeforeBalance: func(events.Pair) error { return store.ErrMalformedItem }})
	b.readers(2)
}
