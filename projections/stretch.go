package projections

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// StretchPostings is how many settled postings close a segment: few enough that counting them again is one small page.
const StretchPostings = 256

// ErrPostingsMissing is returned when fewer postings are found than were counted. Postings only ever arrive, so
// something is wrong with the store or with a projection: it is never corrected, somebody has to look.
var ErrPostingsMissing = errors.New("fewer postings than were counted")

// Segment is the stored fold of one closed stretch: the postings after After, through Through.
type Segment struct {
	Key
	After events.KSUID
	Fold
}

// stretchOf returns the stretch that id, which is at or below the seal of b, lies in, as it is counted in b: a stored
// segment, or what lies between base and seal. A segment is believed only if it contains id and was read together with
// the balance at the version of b: commits become visible item by item. Error: table.ErrConflict when there is none to
// believe, and the balance must be read again.
func stretchOf(ctx context.Context, views Views, b Balance, id events.KSUID) (Segment, error) {
	if id > b.Base.Through {
		open, err := b.Seal.minus(b.Base)
		return Segment{Key: b.Key, After: b.Base.Through, Fold: open}, err
	}
	found, err := views.SegmentFrom(ctx, b.Key, id)
	switch {
	case errors.Is(err, table.ErrAbsent):
		return Segment{}, fmt.Errorf("no segment of %s is to be seen: %w", id, table.ErrConflict)
	case err != nil:
		return Segment{}, fmt.Errorf("find segment: %w", err)
	case id <= found.After || id > found.Through:
		return Segment{}, fmt.Errorf("the segment of %s is not to be seen: %w", id, table.ErrConflict)
	}
	beside, segment, err := views.Together(ctx, b.Key, found.Through)
	switch {
	case errors.Is(err, table.ErrAbsent):
		return Segment{}, fmt.Errorf("segment through %s went away: %w", found.Through, table.ErrConflict)
	case err != nil:
		return Segment{}, fmt.Errorf("read balance and segment: %w", err)
	case beside.Version != b.Version:
		return Segment{}, fmt.Errorf("balance went on to version %d: %w", beside.Version, table.ErrConflict)
	}
	return segment, nil
}

// recount folds the postings of s again, and tells the first of them. As s was read before, equal counts mean equal
// postings; more mean that some came late. Error: ErrPostingsMissing.
func recount(ctx context.Context, views Views, s Segment) (again Segment, first events.KSUID, err error) {
	f, first, err := foldOn(ctx, views, s.Key, Fold{Through: s.After}, s.Through)
	if err != nil {
		return Segment{}, "", err
	}
	if f.Count < s.Count {
		return Segment{}, "", fmt.Errorf("%w: %d of %d after %q through %s", ErrPostingsMissing, f.Count, s.Count, s.After, s.Through)
	}
	f.Through = s.Through
	return Segment{Key: s.Key, After: s.After, Fold: f}, first, nil
}
