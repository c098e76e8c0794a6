package projections

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// chain is what is stored of one Key, all of it at one version of its balance.
type chain struct {
	balance  Found[Balance]
	segments []Found[Segment] // by Through; each is there
	at       time.Time        // the store's clock when its balance was read
	settled  events.KSUID     // what ends below it was settled by the store's clock alone
}

// readChain reads the balance of k and all its segments as they were at one version. Queries may see half of a transaction:
// they only tell which segments to read in snapshots, and what is missing in the chain, or at its end, is asked for by the
// KSUID that it must end at. Snapshots that tell of several versions are a conflict.
func readChain(ctx context.Context, views Views, k Key, window time.Duration) (chain, error) {
	balance, _, at, err := views.Snapshot(ctx, k, nil)
	if err != nil {
		return chain{}, fmt.Errorf("read balance: %w", err)
	}
	if at.IsZero() {
		return chain{}, fmt.Errorf("the store does not tell its time: %w", table.ErrUnavailable)
	}
	c := chain{balance: balance, settled: settledBefore(at, at, window), at: at}
	wanted, err := storedEnds(ctx, views, k)
	if err != nil {
		return chain{}, err
	}
	if base := balance.Value.Base.Through; isKSUID(base) {
		wanted = append(wanted, base)
	}
	read := make(map[events.KSUID]bool)
	for len(wanted) > 0 {
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		for ends := range slices.Chunk(wanted, SnapshotItems) {
			beside, found, _, err := views.Snapshot(ctx, k, ends)
			if err != nil {
				return chain{}, fmt.Errorf("read balance and segments: %w", err)
			}
			if beside.Mark != balance.Mark {
				return chain{}, fmt.Errorf("balance went on from %q to %q: %w", balance.Mark, beside.Mark, table.ErrConflict)
			}
			for i, s := range found {
				read[ends[i]] = true
				if s.There {
					c.segments = append(c.segments, s)
				}
			}
		}
		wanted = c.holes(read)
	}
	slices.SortFunc(c.segments, func(a, b Found[Segment]) int {
		return strings.Compare(string(a.Value.Through), string(b.Value.Through))
	})
	return c, nil
}

// nested tells whether the segments meet, and add up to the base, which is below the seal: whether late postings are all that can
// be amiss.
func (c chain) nested() bool {
	b := c.balance
	if b.Fault != nil || b.Value.Base.Through > b.Value.Seal.Through {
		return false
	}
	var sum Fold
	for _, s := range c.segments {
		if s.Fault != nil || s.Value.After != sum.Through {
			return false
		}
		next, err := sum.plus(s.Value.Fold)
		if err != nil {
			return false
		}
		sum, sum.Through = next, s.Value.Through
	}
	return sum == b.Value.Base
}

// storedEnds lists where the segments of k end, as queries see them.
func storedEnds(ctx context.Context, views Views, k Key) (ends []events.KSUID, err error) {
	for after, more := events.KSUID(""), true; more; {
		var found []Found[Segment]
		if found, more, err = views.StoredSegments(ctx, k, after); err != nil {
			return nil, fmt.Errorf("list segments: %w", err)
		}
		for _, s := range found {
			after = s.Value.Through
			ends = append(ends, after)
		}
	}
	return ends, nil
}

// holes returns the ends that segments say come before them, and that were not asked for yet.
func (c chain) holes(read map[events.KSUID]bool) (ends []events.KSUID) {
	for _, s := range c.segments {
		if after := s.Value.After; !read[after] && isKSUID(after) {
			ends = append(ends, after)
		}
	}
	return ends
}

func isKSUID(id events.KSUID) bool {
	_, err := events.ParseKSUID(string(id))
	return err == nil
}

// stretchCount is the fold of one stretch as its postings were when they were read.
type stretchCount struct {
	Segment
	first  events.KSUID // of its postings
	cuts   []Fold       // what was counted of it after each so many postings
	stored Segment      // what could be read of its segment before them
}

// countStretch folds the postings after `after` through `through`.
func countStretch(ctx context.Context, views Views, k Key, after, through events.KSUID, every int64) (stretchCount, error) {
	s := stretchCount{}
	f := Fold{Through: after}
	for p, err := range postings(ctx, views, k, after, through) {
		if err != nil {
			return s, err
		}
		if f, err = f.Add(p); err != nil {
			return s, fmt.Errorf("fold posting %s: %w", p.ID, err)
		}
		if s.first == "" {
			s.first = p.ID
		}
		if f.Count%every == 0 {
			s.cuts = append(s.cuts, f)
		}
	}
	f.Through = through
	s.Segment = Segment{Key: k, After: after, Fold: f}
	return s, nil
}

// split returns the segments that s is stored as: of a stretch that lost its ends there are as many as it would have been
// closed in.
func (s stretchCount) split(every int64) ([]Segment, error) {
	if s.Count < 2*every {
		return []Segment{s.Segment}, nil
	}
	var parts []Segment
	counted := Fold{Through: s.After}
	for _, cut := range append(s.cuts, s.Fold) {
		if cut.Through == counted.Through || cut.Through != s.Through && s.Count-cut.Count < every {
			continue
		}
		part, err := cut.minus(counted)
		if err != nil {
			return nil, err
		}
		parts = append(parts, Segment{Key: s.Key, After: counted.Through, Fold: part})
		counted = cut
	}
	return parts, nil
}
