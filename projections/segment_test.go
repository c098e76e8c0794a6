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

// without returns a table that has lost one posting.
func without(t store.Table, hidden events.KSUID) *viewstest.Hooked {
	hide := func(page []store.Item) ([]store.Item, error) {
		return slices.DeleteFunc(page, func(i store.Item) bool {
			return store.LastID(store.TextOf(i[store.AttrSK])) == string(hidden)
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
	store.Table
	hidden bool
}

func (u *hidesSegmentOnce) Query(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := u.Table.Query(ctx, q)
	if len(page.Items) == 0 || store.TextOf(page.Items[0][store.AttrType]) != store.Segment.Type || u.hidden {
		return page, err
	}
	u.hidden = true
	key, _ := store.KeyOf(page.Items[0])
	q.After = store.KeyItem(key)
	return u.Table.Query(ctx, q)
}

// The first visible segment that ends after a posting need not contain it. Then its count proves nothing about the
// posting.
func TestSegmentWithoutThePostingIsNotTrusted(t *testing.T) {
	b := segmented(t)
	late := b.PostOnes(jane, 3)[0]
	ensured := projections.NewReader(&hidesSegmentOnce{Table: b.Table}, nil).
		EnsureVisible(t.Context(), jane.Account, jane.Asset, late)
	if !errors.Is(ensured, store.ErrConflict) {
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
