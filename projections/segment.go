package projections

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// StretchPostings is how many settled postings close a segment: few enough that counting them again is one small
// page.
const StretchPostings = 256

// ErrPostingsMissing is returned when fewer postings are found than were counted. Postings are never deleted, so the
// store or a projection is wrong. It is never corrected automatically.
var ErrPostingsMissing = errors.New("fewer postings than were counted")

// Segment is the stored fold of one closed stretch: the postings after After, through Through.
type Segment struct {
	events.Pair
	After events.KSUID
	Fold
}

// stretchOf returns the stretch of b that id lies in, which is at or below the seal: a stored segment, or what lies
// between base and seal. Transactions become visible item by item. So a segment counts only if it contains id, and
// was read together with the balance at the version of b. Error: store.ErrConflict otherwise; the balance must be
// read again.
func stretchOf(ctx context.Context, views Balances, b Balance, id events.KSUID) (Segment, error) {
	if id > b.Base.Through {
		open, err := b.Seal.Minus(b.Base)
		return Segment{Pair: b.Pair, After: b.Base.Through, Fold: open}, err
	}
	found, err := views.SegmentFrom(ctx, b.Pair, id)
	switch {
	case err != nil && !errors.Is(err, store.ErrAbsent):
		return Segment{}, fmt.Errorf("find segment: %w", err)
	case err != nil, id <= found.After || id > found.Through:
		return Segment{}, fmt.Errorf("the segment of %s is not visible: %w", id, store.ErrConflict)
	}
	now, segment, err := views.BalanceWithSegment(ctx, b.Pair, found.Through)
	switch {
	case errors.Is(err, store.ErrAbsent):
		return Segment{}, fmt.Errorf("segment through %s is not visible: %w", found.Through, store.ErrConflict)
	case err != nil:
		return Segment{}, fmt.Errorf("read balance and segment: %w", err)
	case now.Version != b.Version:
		return Segment{}, fmt.Errorf("balance changed to version %d: %w", now.Version, store.ErrConflict)
	}
	return segment, nil
}

// recount folds the postings of s again, and returns the first of them as well. As s was read before, equal counts
// mean the same postings, and a higher one that some came late. Error: ErrPostingsMissing.
func recount(ctx context.Context, postings PostingReader, s Segment) (again Segment, first events.KSUID, err error) {
	f, first, err := FoldOn(ctx, postings, s.Pair, Fold{Through: s.After}, s.Through)
	if err != nil {
		return Segment{}, "", err
	}
	if f.Count < s.Count {
		return Segment{}, "", fmt.Errorf("%w: %d of %d after %q through %s",
			ErrPostingsMissing, f.Count, s.Count, s.After, s.Through)
	}
	f.Through = s.Through
	return Segment{Pair: s.Pair, After: s.After, Fold: f}, first, nil
}
