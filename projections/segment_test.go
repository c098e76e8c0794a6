package projections_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// without returns a store that hides a posting, as one does that lost it.
func without(store *viewstest.Store, hidden events.KSUID) *viewstest.Hooked {
	hide := func(page []projections.Posting) ([]projections.Posting, error) {
		return slices.DeleteFunc(page, func(p projections.Posting) bool { return p.ID == hidden }), nil
	}
	return &viewstest.Hooked{Store: store, AfterPostings: hide}
}

func TestLostPostingsAreNoCorrection(t *testing.T) {
	b := newBook(t)
	ids := b.PostOnes(jane, upTo(1, 300)...)
	b.Refold(jane, ids...)
	before := b.Stored(jane)
	for _, hidden := range []int{5, 290} {
		b.on(without(b.Store, ksuid(hidden)))
		if err := b.Projector.Refold(t.Context(), jane, ids); !errors.Is(err, projections.ErrPostingsMissing) {
			t.Errorf("refold: %v", err)
		}
		if err := b.Reader.EnsureVisible(t.Context(), "jane", "USD", ksuid(hidden+1)); !errors.Is(
			err,
			projections.ErrPostingsMissing,
		) {
			t.Errorf("make sure: %v", err)
		}
	}
	viewstest.Same(t, "balance", b.Stored(jane), before)
}

// unseen hides, once, the segment that a posting lies in: one that is becoming visible item by item.
type unseen struct {
	*viewstest.Store
	hidden bool
}

func (u *unseen) SegmentFrom(ctx context.Context, k events.Pair, id events.KSUID) (projections.Segment, error) {
	s, err := u.Store.SegmentFrom(ctx, k, id)
	if err == nil && !u.hidden {
		u.hidden = true
		return u.Store.SegmentFrom(ctx, k, s.Through+"~")
	}
	return s, err
}

// The first segment after a posting need not be the one that it lies in: its count says nothing of the posting.
func TestASegmentThatDoesNotContainThePostingIsNotBelieved(t *testing.T) {
	b := segmented(t)
	late := b.PostOnes(jane, 3)[0]
	ensured := projections.NewReader(&unseen{Store: b.Store}, nil).
		EnsureVisible(t.Context(), jane.Account, jane.Asset, late)
	if !errors.Is(ensured, store.ErrConflict) {
		t.Errorf("a posting that is not counted was called sure: %v", ensured)
	}
	b.on(&unseen{Store: b.Store})
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
