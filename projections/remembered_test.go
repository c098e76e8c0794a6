package projections_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// told makes records of postings of quantity 1 and cost 2, with their figures.
func told(k projections.Key, ids ...events.KSUID) []projections.Record {
	batch := records(of(k, ids...)...)
	for i := range batch {
		batch[i].Figures = &projections.Figures{Quantity: events.NewAmount(1), Cost: events.NewAmount(2)}
	}
	return batch
}

// What is younger than the settle window is neither read again nor sealed; each posting is read once, when the seal goes past it.
func TestAHotBalanceReadsEachPostingOnce(t *testing.T) {
	const batches, each = 200, 100 // a batch of a hundred each second
	b := newBook(t)
	read := 0
	for n := range batches {
		b.now = morning.Add(time.Duration(n+1) * time.Second)
		b.Requests()
		b.project(told(jane, b.post(jane, upTo(1000*n, 1000*n+each-1)...)...))
		r := b.Requests()
		read += r.PostingsRead
		if r.Writes != 1 || r.Balance != 1 || r.Postings > 2 || n > 0 && r.PostingsRead > 2*each {
			t.Fatalf("batch %d: %+v", n, r)
		}
		if n == 0 {
			continue
		}
		if age := b.now.Sub(b.stored(jane).Seal.Through.Time()); n > 20 && age > 12*time.Second {
			t.Fatalf("batch %d: what is sealed is %v old", n, age)
		}
	}
	if posted := batches * each; read > posted+each {
		t.Errorf("%d postings read, of %d", read, posted)
	}
	same(t, "head", b.stored(jane).Head, ones(1000*(batches-1)+each-1, batches*each))
}

// Some settled postings are left above the seal, as moving it past each alone would cost a request for each: 64, or those of a
// minute. What no record told of is found then.
func TestTheSealFollowsInSteps(t *testing.T) {
	for _, c := range []struct{ every, most int }{
		{500, 6},      // milliseconds: the first, and one for each 65
		{5000, 24},    // and one for each 13
		{60_000, 300}, // each
	} {
		b := newBook(t)
		reads := 0
		for n := range 300 {
			b.now = morning.Add(time.Duration(c.every*n) * time.Millisecond)
			id := b.post(jane, c.every*n)
			b.Requests()
			if n != 5 {
				b.project(told(jane, id...))
			}
			reads += b.Requests().Postings
		}
		if reads > c.most {
			t.Errorf("every %d ms: %d requests for postings", c.every, reads)
		}
		same(t, "head", b.stored(jane).Head, ones(c.every*299, 300))
		read, err := b.reader.Balance(t.Context(), jane, nil)
		b.must(err)
		same(t, "strong read", read.Head, ones(c.every*299, 300))
	}
}

// Whatever leaves a doubt is read.
func TestWhatIsDoubtfulIsRead(t *testing.T) {
	for name, doubt := range map[string]func(b *book, batch []projections.Record){
		"another projector wrote": func(b *book, _ []projections.Record) {
			own := b.projector
			b.on(b.Memory)
			b.project(told(jane, b.post(jane, 3_599_500)...))
			b.projector = own
		},
		"the version was raised": func(b *book, _ []projections.Record) {
			b.must(b.reader.MakeSure(b.Context(), jane.Account, jane.Asset, ksuid(3_599_000)))
		},
		"a record shows no figures": func(_ *book, batch []projections.Record) { batch[1].Figures = nil },
	} {
		b := newBook(t)
		b.project(told(jane, b.post(jane, upTo(3_598_990, 3_599_000)...)...))
		batch := told(jane, b.post(jane, 3_599_700, 3_599_800)...)
		b.post(jane, 3_599_900) // no record told of it yet
		doubt(b, batch)
		b.Requests()
		b.project(batch)
		r, head := b.Requests(), b.stored(jane).Head
		if r.PostingsRead == 0 || head.Through != ksuid(3_599_900) {
			t.Errorf("%s: %+v, %+v", name, r, head)
		}
	}
}

// A write that failed leaves nothing remembered, applied or not.
func TestNothingIsRememberedOfAFailure(t *testing.T) {
	b := newBook(t)
	b.on(&failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
		if write%2 == 0 {
			return table.ErrUnknownOutcome
		}
		return nil
	}})
	for n := range 10 {
		b.Requests()
		b.project(told(jane, b.post(jane, 3_599_000+n)...))
		same(t, "head", b.stored(jane).Head, ones(3_599_000+n, n+1))
		if r := b.Requests(); n > 0 && r.PostingsRead != n+1 {
			t.Errorf("%d: %+v", n, r)
		}
	}
}

// What a record tells of and the table doesn't have is noticed when the seal is to go past it, and then forgotten.
func TestAPostingThatIsNotThereIsNoticed(t *testing.T) {
	b := newBook(t)
	b.projector.Shrink(projections.SettleWindow, 4, 2, 0)
	b.project(told(jane, b.post(jane, 3_599_000)...))
	b.project(told(jane, ksuid(3_599_001)))
	b.now = b.now.Add(time.Minute)
	_, err := b.projector.Project(t.Context(), told(jane, b.post(jane, 3_660_000)...))
	if !errors.Is(err, projections.ErrPostingsMissing) {
		t.Fatal(err)
	}
	b.project(told(jane, ksuid(3_660_000)))
	same(t, "head", b.stored(jane).Head, ones(3_660_000, 2))
}

// A projector that meets ever new balances keeps what it remembers in bounds, and one that starts behind a backlog of one
// balance reads it once.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	b := newBook(t)
	for n := range 200 {
		var batch []projections.Record
		for i := range 100 {
			k := projections.Key{Account: fmt.Sprintf("a-%d", n*100+i), Asset: "USD"}
			batch = append(batch, told(k, b.post(k, 1)...)...)
		}
		b.project(batch)
	}
	balances, weight := b.projector.Remembered()
	if balances < 5000 || balances > 8192 || weight > 65_536 {
		t.Errorf("%d balances, of a weight of %d", balances, weight)
	}

	hot := b.post(jane, upTo(1, 10_000)...)
	b.project(told(jane, hot[:100]...))
	b.Requests()
	for n := 100; n < len(hot); n += 100 {
		b.project(told(jane, hot[n:n+100]...))
	}
	if r := b.Requests(); r.PostingsRead != 0 || r.Writes != 0 {
		t.Errorf("%+v", r)
	}
	if _, weight := b.projector.Remembered(); weight > 65_536 {
		t.Errorf("a weight of %d", weight)
	}
	if got := b.lastLine(); !strings.Contains(got, "remembered=1") {
		t.Error(got)
	}
}

// More postings above the seal than are remembered are read again, and right.
func TestATailTooLongToRemember(t *testing.T) {
	b := newBook(t)
	const n = 20_000
	b.now = morning.Add(5 * time.Second)
	b.project(told(jane, b.post(jane, upTo(1, n)...)[n-1]))
	b.project(told(jane, b.post(jane, n+1)...))
	same(t, "head", b.stored(jane).Head, ones(n+1, n+1))
	b.now = b.now.Add(time.Minute)
	b.project(told(jane, b.post(jane, n+2)...))
	same(t, "seal", b.stored(jane).Seal, ones(n+2, n+2))
	b.project(told(jane, b.post(jane, n+3)...))
	same(t, "head", b.stored(jane).Head, ones(n+3, n+3))
}

// A refold that finds nothing to write, of a tail too long to remember of which some is settled by now, knows not all of it.
func TestALongTailOfWhichNothingIsWritten(t *testing.T) {
	b := newBook(t)
	b.now = morning.Add(5 * time.Second) // nothing is settled
	ids := b.post(jane, upTo(901, 20_900)...)
	last := ids[len(ids)-1]
	b.project(told(jane, last))
	b.now = morning.Add(11 * time.Second) // 99 are
	b.on(b.Memory)
	b.project(told(jane, last)) // nothing new
	b.project(told(jane, b.post(jane, 20_901)...))
	same(t, "head", b.stored(jane).Head, ones(20_901, 20_001))
	if _, weight := b.projector.Remembered(); weight > 8+2*16_384 {
		t.Errorf("a weight of %d", weight)
	}
}

// What a record shows otherwise than the table has is told when the seal goes past it, and then mended.
func TestAnImageThatIsNotWhatTheTableHas(t *testing.T) {
	b := newBook(t)
	b.projector.Shrink(projections.SettleWindow, 256, 90, 0)
	b.project(told(jane, b.post(jane, 3_599_000)...))
	other := told(jane, b.post(jane, 3_599_001)...)
	other[0].Figures.Quantity = events.NewAmount(100)
	b.project(other)
	b.now = b.now.Add(time.Minute)
	newest := told(jane, b.post(jane, 3_660_000)...)
	if _, err := b.projector.Project(t.Context(), newest); !errors.Is(err, projections.ErrFiguresDiffer) {
		t.Errorf("shown %s after 101, and told %v", b.stored(jane).Head.Quantity(), err)
	}
	b.project(newest)
	same(t, "head", b.stored(jane).Head, ones(3_660_000, 3))
}
