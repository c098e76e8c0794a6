package repair

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// chain is what is stored of one pair, all of it at one version of its balance.
type chain struct {
	balance  Stored[projections.Balance]
	segments map[events.KSUID]Stored[projections.Segment] // by Through; each is there
	at       time.Time                                    // the store's clock when its balance was read
}

// readChain reads the balance of k and all its segments as they were at one version. Queries may see half of a
// transaction: they only tell which segments to read in snapshots. What is missing in the chain, or at its end, is
// asked for by the KSUID that it must end at. Snapshots that tell of several versions are a conflict.
func readChain(ctx context.Context, views Views, k events.Pair) (chain, error) {
	balance, _, at, err := views.Snapshot(ctx, k, nil)
	if err != nil {
		return chain{}, fmt.Errorf("read balance: %w", err)
	}
	if at.IsZero() {
		return chain{}, fmt.Errorf("the store does not tell its time: %w", store.ErrUnavailable)
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
		if listed, more, err = views.StoredSegments(ctx, k, after); err != nil {
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
		some := ends[:min(len(ends), SnapshotItems)]
		ends = ends[len(some):]
		beside, found, _, err := views.Snapshot(ctx, k, some)
		if err != nil {
			return chain{}, fmt.Errorf("read balance and segments: %w", err)
		}
		if beside.Revision != balance.Revision {
			return chain{}, fmt.Errorf("balance went on from %q to %q: %w", balance.Revision, beside.Revision,
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

// strayEnd returns why a segment cannot end there, "" when it can.
func (c chain) strayEnd(end events.KSUID) string {
	switch {
	case !isKSUID(end):
		return "no posting could end this segment: its key holds no KSUID"
	case end >= projections.SettledBefore(c.at, c.at): // by the store's clock alone
		return "this segment ends in the future: no posting there is settled yet"
	}
	return ""
}
