package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// chain is the stored balance of a pair with all its segments, at one version of the balance.
type chain struct {
	balance  Stored[projections.Balance]
	segments map[events.KSUID]Stored[projections.Segment] // by Through; all exist
	at       time.Time                                    // the store's clock when its balance was read
}

// readChain reads the balance of k and all its segments at one version of the balance. A query may see half of a
// transaction, so it only finds the segments, and snapshots read them. readChain also reads segments that the query did
// not see: those that must end where the base ends, or where another segment begins. A change of the balance's version
// between snapshots is a conflict.
func (b *Rebuilder) readChain(ctx context.Context, k events.Pair) (chain, error) {
	balance, _, at, err := b.snapshot(ctx, k, nil)
	if err != nil {
		return chain{}, fmt.Errorf("read balance: %w", err)
	}
	if at.IsZero() {
		return chain{}, fmt.Errorf("the store did not return its clock: %w", store.ErrUnavailable)
	}
	c := chain{balance: balance, segments: make(map[events.KSUID]Stored[projections.Segment]), at: at}
	var ends []events.KSUID // to be read
	asked := make(map[events.KSUID]bool)
	ask := func(end events.KSUID) {
		if !asked[end] {
			asked[end], ends = true, append(ends, end)
		}
	}
	for after, more := events.KSUID(""), true; more; {
		var listed []Stored[projections.Segment]
		if listed, more, err = b.segmentsAfter(ctx, k, after); err != nil {
			return chain{}, fmt.Errorf("list segments: %w", err)
		}
		for _, s := range listed {
			after = s.Value.Through
			ask(after)
		}
	}
	if base := balance.Value.Base.Through; isKSUID(base) {
		ask(base)
	}
	for len(ends) > 0 {
		some := ends[:min(len(ends), snapshotItems)]
		ends = ends[len(some):]
		again, found, _, err := b.snapshot(ctx, k, some)
		if err != nil {
			return chain{}, fmt.Errorf("read balance and segments: %w", err)
		}
		if again.Revision != balance.Revision {
			return chain{}, fmt.Errorf("balance changed from %q to %q: %w", balance.Revision, again.Revision,
				store.ErrConflict)
		}
		for i, s := range found {
			if s.Exists {
				c.segments[some[i]] = s
			}
			if after := s.Value.After; isKSUID(after) {
				ask(after)
			}
		}
	}
	return c, nil
}

func isKSUID(id events.KSUID) bool {
	_, err := events.ParseKSUID(string(id))
	return err == nil
}

// ends returns the ends of the segments, ascending, without those of strays.
func (c chain) ends() (ends []events.KSUID, strays []Stray) {
	for _, end := range slices.Sorted(maps.Keys(c.segments)) {
		if why := c.strayEnd(end); why != "" {
			pair := c.balance.Value.Pair
			strays = append(strays, Stray{store.Segment.Key(pair.Account, pair.Asset, string(end)), why})
			continue
		}
		ends = append(ends, end)
	}
	return ends, strays
}

// strayEnd returns why no segment can end at end, "" if one can.
func (c chain) strayEnd(end events.KSUID) string {
	switch {
	case !isKSUID(end):
		return "the KSUID in the segment's key is malformed"
	case end >= projections.SettledBefore(c.at, c.at): // by the store's clock alone
		return "the segment ends after the settled postings"
	}
	return ""
}
