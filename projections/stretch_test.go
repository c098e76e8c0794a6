package projections_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

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

func TestCorrectionsAreSavedOnTheWay(t *testing.T) {
	b := newBook(t)
	b.projector.Shrink(projections.SettleWindow, 4, 2, 0)
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
	b.projector.Shrink(projections.SettleWindow, 4, 2, 0)
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
