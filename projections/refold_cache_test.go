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
)

// oneRecords returns records with figures, of postings with quantity 1 and cost 2.
func oneRecords(k events.Pair, ids ...events.KSUID) []projections.Record {
	batch := records(keysOf(k, ids...)...)
	for i := range batch {
		batch[i].Figures = &events.Figures{Quantity: events.NewAmount(1), Cost: events.NewAmount(2)}
	}
	return batch
}

// The seal does not move for each settled posting, as each move costs a request. It moves for more than 64 postings, or
// after a minute. Then the refold also counts a posting whose record never arrived.
func TestSealMovesInSteps(t *testing.T) {
	for _, c := range []struct{ every, most int }{
		{500, 7},      // milliseconds: the first, one for each 65, one for the missing record
		{5000, 25},    // and one for each 13
		{60_000, 300}, // each
	} {
		b := newBook(t)
		reads := 0
		for n := range 300 {
			b.Time = morning.Add(time.Duration(c.every*n) * time.Millisecond)
			id := b.PostOnes(jane, c.every*n)
			b.Requests()
			if n != 5 {
				b.project(oneRecords(jane, id...))
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

// A batch may name a posting twice, with figures and without.
func TestRepeatedRecordsAreCountedOnce(t *testing.T) {
	b := newBook(t)
	b.Projector.Tune(projections.Tuning{Stretch: 4, Segments: 2})
	b.project(oneRecords(jane, b.PostOnes(jane, 3_599_000)...))
	id := b.PostOnes(jane, 3_599_001)
	b.project(slices.Concat(oneRecords(jane, id...), records(keysOf(jane, id...)...), oneRecords(jane, id...)))
	id = b.PostOnes(jane, 3_599_002)
	b.project(slices.Concat(oneRecords(jane, id...), oneRecords(jane, id...)))
	b.Time = b.Time.Add(time.Minute)
	b.project(oneRecords(jane, b.PostOnes(jane, 3_660_000)...)) // the seal passes them
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(3_660_000, 4))
}

// A record may arrive after that of a later posting, before both are settled. No posting is read.
func TestRecordsOutOfOrderAreCounted(t *testing.T) {
	b := newBook(t)
	b.project(oneRecords(jane, b.PostOnes(jane, 3_599_000)...))
	ids := b.PostOnes(jane, 3_599_001, 3_599_002, 3_599_003)
	b.Requests()
	for _, i := range []int{1, 0, 2} {
		b.project(oneRecords(jane, ids[i]))
	}
	viewstest.Same(t, "queries", b.Requests().Queries, 0)
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(3_599_003, 4))
}

// The cache remembers the last 16,384 counted postings of a balance. A record of one of them costs no more than the read
// of the balance. Each other one costs the stretch of its posting.
func TestCountedPostingsAreRemembered(t *testing.T) {
	b := newBook(t)
	repeat := func(at int, isRemembered bool) {
		t.Helper()
		b.Requests()
		b.Refold(jane, ksuid(at))
		if done := b.Requests(); (done.Queries == 0) != isRemembered {
			t.Errorf("posting %d: %+v", at, done)
		}
	}
	b.Refold(jane, b.PostOnes(jane, upTo(1, 10_000)...)...)
	b.Refold(jane, b.PostOnes(jane, upTo(10_001, 16_384)...)...)
	repeat(1, true)
	repeat(16_384, true)
	b.Refold(jane, b.PostOnes(jane, 16_385)...)
	repeat(16_385, true)
	repeat(16_384, false)
}

// The cache has up to 16,384 postings above the seal of a balance. Once there are more, each refold reads them.
func TestPostingsAboveTheSealAreCached(t *testing.T) {
	b := newBook(t)
	b.Time = morning // nothing is settled
	b.project(oneRecords(jane, b.PostOnes(jane, upTo(1, 16_383)...)...))
	for at := 16_384; at <= 16_386; at++ {
		id := b.PostOnes(jane, at)
		b.Requests()
		b.project(oneRecords(jane, id...))
		if done := b.Requests(); (done.Queries > 0) != (at == 16_386) {
			t.Errorf("posting %d: %+v", at, done)
		}
	}
	b.project(oneRecords(jane, ksuid(16_385))) // a repeated record of a posting that the cache does not have
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(16_386, 16_386))
}

// The cache has a bounded weight. Balances that reach it exactly stay, and the next one replaces one of them. Of a balance
// with more postings than it remembers, it remembers the first.
func TestTheCacheIsBounded(t *testing.T) {
	b := newBook(t)
	want := func(balances, weight int) {
		t.Helper()
		if n, w := b.Projector.Cached(); n != balances || w != weight {
			t.Errorf("%d balances with a weight of %d, want %d with %d", n, w, balances, weight)
		}
	}
	add := func(account string, postings int) {
		k := events.Pair{Account: account, Asset: "USD"}
		b.Refold(k, b.PostOnes(k, upTo(1, postings)...)...)
	}
	b.Time = morning // each posting is above the seal, and counted: it weighs 2
	for n := range 4 {
		add(fmt.Sprint("a-", n), 8192-4)
		want(n+1, (n+1)*16_384)
	}
	add("b", 1)
	want(4, 3*16_384+10)
	b.Time = morning.Add(time.Hour) // none is above the seal
	b.on(b.Table)
	add("c", 16_400)
	want(1, 8+16_384)
}

// If there are more postings above the seal than the cache holds, the refold reads them again. The cache entry must not
// claim to be complete: not after records brought too many, not after a read, and not after a read that wrote nothing
// although some postings are settled.
func TestTailTooLongForTheCache(t *testing.T) {
	b := newBook(t)
	const last = 20_900
	b.Time = morning.Add(5 * time.Second) // nothing is settled
	b.project(oneRecords(jane, b.PostOnes(jane, 901)...))
	b.project(oneRecords(jane, b.PostOnes(jane, upTo(902, last)...)...))
	if _, weight := b.Projector.Cached(); weight > 16 {
		t.Errorf("a weight of %d", weight)
	}
	count := func(at int) {
		t.Helper()
		b.project(oneRecords(jane, b.PostOnes(jane, at)...))
		viewstest.Same(t, "head", b.Stored(jane).Head, ones(at, at-900))
	}
	count(last + 1) // reads all
	count(last + 2)
	b.Time = morning.Add(11 * time.Second) // 99 postings are settled
	b.on(b.Table)
	b.project(oneRecords(jane, ksuid(last+2))) // nothing new
	count(last + 3)
	if _, weight := b.Projector.Cached(); weight > 8+2*16_384 {
		t.Errorf("a weight of %d", weight)
	}
	b.Time = b.Time.Add(time.Minute)
	count(last + 4)
	viewstest.Same(t, "seal", b.Stored(jane).Seal, ones(last+4, last-896))
	count(last + 5)
}

// A projector that has cached a balance takes up what another one wrote meanwhile: its seal, too.
func TestAnotherProjectorMovesTheSeal(t *testing.T) {
	b := newBook(t)
	first := b.Projector
	b.Time = morning
	b.project(oneRecords(jane, b.PostOnes(jane, 0)...))
	b.on(b.Table)
	b.Time = morning.Add(80 * time.Second)
	b.project(oneRecords(jane, b.PostOnes(jane, 60_000)...))
	b.Projector, b.Time = first, morning.Add(180*time.Second)
	b.project(oneRecords(jane, b.PostOnes(jane, 100_000)...))
	viewstest.Same(t, "seal", b.Stored(jane).Seal, ones(100_000, 3))
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(100_000, 3))
}

// A record may name a posting that the table does not have. The refold detects this when the seal passes the posting.
// The error drops the cache entry.
func TestRecordOfAMissingPosting(t *testing.T) {
	b := newBook(t)
	b.Projector.Tune(projections.Tuning{Stretch: 4, Segments: 2})
	b.project(oneRecords(jane, b.PostOnes(jane, 3_599_000)...))
	b.project(oneRecords(jane, ksuid(3_599_001)))
	b.Time = b.Time.Add(time.Minute)
	newest := oneRecords(jane, b.PostOnes(jane, 3_660_000)...)
	if _, err := b.Projector.Project(t.Context(), newest); !errors.Is(err, projections.ErrPostingsMissing) {
		t.Errorf("error %v", err)
	}
	b.project(newest)
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(3_660_000, 2))
}

// Postings that the seal passes are only counted. If the table has more of them than the cache, all are read.
func TestSealCountsWhatItPasses(t *testing.T) {
	b := newBook(t)
	b.Time = morning
	b.project(oneRecords(jane, b.PostOnes(jane, 0)...))
	for n, c := range []struct{ unseen, queries, read int }{{0, 1, 0}, {1, 2, 2}, {0, 1, 0}} {
		at := (n + 1) * 100_000
		b.PostOnes(jane, upTo(at-c.unseen, at-1)...) // their records never arrive
		b.Time = morning.Add(time.Duration(at+80_000) * time.Millisecond)
		id := b.PostOnes(jane, at)
		b.Requests()
		b.project(oneRecords(jane, id...))
		if done := b.Requests(); done.Queries != c.queries || done.Postings != c.read {
			t.Errorf("step %d: %+v", n, done)
		}
	}
	viewstest.Same(t, "seal", b.Stored(jane).Seal, b.Stored(jane).Head)
	viewstest.Same(t, "head", b.Stored(jane).Head, ones(300_000, 5))
}
