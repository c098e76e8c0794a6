package projections

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// StretchPostings is how many settled postings close a segment. It is small: a stretch can be counted again by reading
// one small page.
const StretchPostings = 256

// ErrPostingsMissing is returned when fewer postings are found than were counted. Postings are never deleted, so the
// store or a projection is wrong. Nothing corrects this automatically.
var ErrPostingsMissing = errors.New("fewer postings than were counted")

// Segment is the stored fold of one closed stretch: the postings after After, up to and including Through.
type Segment struct {
	events.Pair
	After events.KSUID
	Fold
}

// stretchOf returns the stretch of b that contains id, which is at or below the seal. The stretch is a stored segment
// or lies between base and seal. Transactions become visible item by item. So a segment is trusted only if it contains
// id and was read in one transaction with the balance at b's version. Otherwise the error is store.ErrConflict, and the
// caller must read the balance again.
func (v *Views) stretchOf(ctx context.Context, b Balance, id events.KSUID) (Segment, error) {
	if id > b.Base.Through {
		open, err := b.Seal.Minus(b.Base)
		return Segment{Pair: b.Pair, After: b.Base.Through, Fold: open}, err
	}
	found, err := v.SegmentFrom(ctx, b.Pair, id)
	switch {
	case err != nil && !errors.Is(err, store.ErrAbsent):
		return Segment{}, fmt.Errorf("find segment: %w", err)
	case err != nil, id <= found.After || id > found.Through:
		return Segment{}, fmt.Errorf("the segment of %s is not visible: %w", id, store.ErrConflict)
	}
	now, segment, err := v.BalanceWithSegment(ctx, b.Pair, found.Through)
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

// recount folds the postings of s again, and also returns the first of them. s must have been read before: then equal
// counts mean the same postings, and a higher count means that some arrived late. Error: ErrPostingsMissing.
func (v *Views) recount(ctx context.Context, s Segment) (again Segment, first events.KSUID, err error) {
	f, first, err := v.FoldOn(ctx, s.Pair, Fold{Through: s.After}, s.Through)
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
