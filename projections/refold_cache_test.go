package projections_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/full"
)

// shown makes records of postings of quantity 1 and cost 2, with their figures.
func shown(k events.Pair, ids ...events.KSUID) []projections.Record {
	batch := records(of(k, ids...)...)
	for i := range batch {
		batch[i].Figures = &events.Figures{Quantity: events.NewAmount(1), Cost: events.NewAmount(2)}
	}
	return batch
}

// Some settled postings are left above the seal, as moving it past each alone would cost a request for each: 64, or
// those of a minute. What no record told of is found then.
func TestTheSealFollowsInSteps(t *testing.T) {
	for _, c := range []struct{ every, most int }{
		{500, 6},      // milliseconds: the first, and one for each 65
		{5000, 24},    // and one for each 13
		{60_000, 300}, // each
	} {
		b := newBook(t)
		reads := 0
		for n := range 300 {
			b.Time = morning.Add(time.Duration(c.every*n) * time.Millisecond)
			id := b.PostOnes(jane, c.every*n)
			b.Requests()
			if n != 5 {
				b.project(shown(jane, id...))
			}
			reads += b.Requests().Queries
		}
		if reads > c.most {
			t.Errorf("every %d ms: %d requests for postings", c.every, reads)
		}
		viewstest.Same(t, "head", b.Stored(jane).Head, ones(c.every*299, 300))
		read, err := b.Reader.Balance(t.Context(), jane, nil)
		b.Must(err)
		viewstest.Same(t, "strong read", read.Head, ones(c.every*299, 300))
	}
}

// A batch may bring a posting twice, with its figures and without.
func TestAPostingNamedTwiceIsCountedOnce(t *testing.T) {
	b := newBook(t)
	b.Projector.Tune(projections.Tuning{Stretch: 4, Segments: 2})
	b.project(shown(jane, b.PostOnes(jane, 3_599_000)...))
	id := b.PostOnes(jane, 3_599_001)
	b.project(slices.Concat(shown(jane, id...), records(of(jane, id...)...), shown(jane, id...)))
	id = b.PostOnes(jane, 3_599_002)
	b.project(slices.Concat(shown(jane, id...), shown(jane, id...)))
	b.Time = b.Time.Add(time.Minute)
	b.project(shown(jane, b.PostOnes(jane, 3_660_000)...)) // the seal goes past them
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(3_660_000, 4))
}

// A projector that meets ever new balances keeps its cache in bounds.
func TestTheCacheIsBounded(t *testing.T) {
	full.Only(t, "projects 20,000 balances")
	b := newBook(t)
	for n := range 200 {
		var batch []projections.Record
		for i := range 100 {
			k := events.Pair{Account: fmt.Sprintf("a-%d", n*100+i), Asset: "USD"}
			batch = append(batch, shown(k, b.PostOnes(k, 1)...)...)
		}
		b.project(batch)
	}
	balances, weight := b.Projector.Cached()
	if balances < 5000 || balances > 8192 || weight > 65_536 {
		t.Errorf("%d balances, of a weight of %d", balances, weight)
	}
}

// More postings above the seal than are remembered are read again, and right.
func TestATailTooLongForTheCache(t *testing.T) {
	b := newBook(t)
	const n = 20_000
	b.Time = morning.Add(5 * time.Second)
	b.project(shown(jane, b.PostOnes(jane, upTo(1, n)...)[n-1]))
	b.project(shown(jane, b.PostOnes(jane, n+1)...))
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(n+1, n+1))
	b.Time = b.Time.Add(time.Minute)
	b.project(shown(jane, b.PostOnes(jane, n+2)...))
	viewstest.Same(t, "seal", b.Stored(jane).Seal, ones(n+2, n+2))
	b.project(shown(jane, b.PostOnes(jane, n+3)...))
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(n+3, n+3))
}

// A refold that finds nothing to write, of a tail too long to remember of which some is settled by now, knows not all
// of it.
func TestALongTailOfWhichNothingIsWritten(t *testing.T) {
	b := newBook(t)
	b.Time = morning.Add(5 * time.Second) // nothing is settled
	ids := b.PostOnes(jane, upTo(901, 20_900)...)
	last := ids[len(ids)-1]
	b.project(shown(jane, last))
	b.Time = morning.Add(11 * time.Second) // 99 are
	b.on(b.Store)
	b.project(shown(jane, last)) // nothing new
	b.project(shown(jane, b.PostOnes(jane, 20_901)...))
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(20_901, 20_001))
	if _, weight := b.Projector.Cached(); weight > 8+2*16_384 {
		t.Errorf("a weight of %d", weight)
	}
}

// A record that names a posting which the table does not have, or shows other figures, is noticed when the seal passes
// it. Then the cache is dropped.
func TestARecordThatTheTableContradicts(t *testing.T) {
	for wanted, second := range map[error]func(b *book) []projections.Record{
		projections.ErrPostingsMissing: func(b *book) []projections.Record { return shown(jane, ksuid(3_599_001)) },
		projections.ErrFiguresDiffer: func(b *book) []projections.Record {
			other := shown(jane, b.PostOnes(jane, 3_599_001)...)
			other[0].Figures.Quantity = events.NewAmount(100)
			return other
		},
	} {
		b := newBook(t)
		b.Projector.Tune(projections.Tuning{Stretch: 4, Segments: 2})
		b.project(shown(jane, b.PostOnes(jane, 3_599_000)...))
		b.project(second(b))
		b.Time = b.Time.Add(time.Minute)
		newest := shown(jane, b.PostOnes(jane, 3_660_000)...)
		if _, err := b.Projector.Project(t.Context(), newest); !errors.Is(err, wanted) {
			t.Errorf("error %v, wanted %v", err, wanted)
		}
		b.project(newest)
		strong, err := b.Reader.Balance(t.Context(), jane, nil)
		b.Must(err)
		viewstest.Same(t, "head", b.Stored(jane).Head, strong.Head)
	}
}
