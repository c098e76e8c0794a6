package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// walk folds again every stretch that ends at a stored segment. It returns the sum of all stretches and their first
// posting.
func (r *rebuild) walk(ctx context.Context) (base projections.Fold, first events.KSUID, err error) {
	for _, end := range slices.Sorted(maps.Keys(r.chain.segments)) {
		if why := r.chain.strayEnd(end); why != "" {
			key := store.Segment.Key(r.key.Account, r.key.Asset, string(end))
			r.report.Strays = append(r.report.Strays, Stray{key, why})
			continue
		}
		counted, err := r.countedTo(ctx, base.Through, end)
		if err != nil {
			return base, "", err
		}
		first = projections.Earlier(first, counted.first)
		r.balance.First = first // also of a balance that is saved before all is counted
		parts := counted.parts
		if stored := r.chain.segments[end]; stored.Fault == nil && stored.Value.After == counted.After {
			// A segment with the correct After is never split, even if late postings have made it long. If a rebuild
			// were interrupted between the writes of two parts, the stored segment would overlap the first part.
			parts = []projections.Segment{counted.Segment}
		}
		for _, part := range parts {
			if base, err = base.Plus(part.Fold); err != nil {
				return base, "", err
			}
			base.Through = part.Through
			if err := r.compareSegment(ctx, part, base); err != nil {
				return base, "", err
			}
		}
	}
	return base, first, nil
}

// compareSegment adds s to the segments to write if the stored one differs. Beyond the stored seal, it saves when there
// are enough to write. base is the sum of all segments through s.
func (r *rebuild) compareSegment(ctx context.Context, s projections.Segment, base projections.Fold) error {
	stored := r.chain.segments[s.Through]
	if !stored.Exists || stored.Fault != nil || stored.Value != s {
		d := differenceOf(store.Segment.Key(s.Account, s.Asset, string(s.Through)), stored, s)
		if stored.Exists && stored.Fault == nil && stored.Value.After == s.After {
			d.CountsMore = stored.Value.Count > s.Count
			var err error
			if d.Behind, err = r.isFoldLate(ctx, stored.Value.Fold, s.Fold, s.After); err != nil {
				return err
			}
		}
		r.pending, r.segments, r.bases = append(r.pending, d), append(r.segments, s), append(r.bases, base)
	}
	if base.Through <= r.stored.Seal.Through {
		return nil
	}
	if r.walked++; len(r.segments) < r.tuning.Segments && r.walked < r.tuning.Segments {
		return nil
	}
	if err := r.saveSteps(ctx, base); err != nil {
		return err
	}
	r.balance.Base, r.balance.Seal, r.balance.Unfinished = base, base, true
	return r.save(ctx)
}

// saveSteps saves segments until they fit one change. seal is the sum of all postings through the stored seal, or
// through all segments.
func (r *rebuild) saveSteps(ctx context.Context, seal projections.Fold) error {
	r.seal = seal
	for n := r.tuning.Segments; len(r.segments) >= n; {
		segments, bases, pending := r.segments[n:], r.bases[n:], r.pending[n:]
		r.balance.Base, r.balance.Seal, r.balance.Unfinished = r.bases[n-1], seal, true
		r.segments, r.pending = r.segments[:n], r.pending[:n]
		if err := r.save(ctx); err != nil {
			return err
		}
		r.segments, r.bases, r.pending = segments, bases, pending
	}
	return nil
}

// stretch is the fold of the postings between two ends at the time of reading.
type stretch struct {
	projections.Segment
	first  events.KSUID          // of its postings
	parts  []projections.Segment // the stretch, split into segments of normal size
	stored projections.Segment   // the segment as it was stored before its postings were read
}

// countedTo folds the stretch after `after` that ends at end. It reuses the result of an earlier attempt if the stored
// segment equals that result, or is the same as then: no posting was counted there since. The stretch must also lie
// below the seal, since EnsureVisible checks segments only there.
func (r *rebuild) countedTo(ctx context.Context, after, end events.KSUID) (stretch, error) {
	found := r.chain.segments[end]
	if known, ok := r.counted[end]; ok && known.After == after && end <= r.stored.Seal.Through &&
		(found.Fault == nil && found.Value == known.Segment || found.Value == known.stored) {
		return known, nil
	}
	s := stretch{stored: found.Value}
	sum := projections.Fold{Through: after}
	cuts := []projections.Fold{sum} // the sums after every tuning.Stretch postings
	for p, err := range projections.ReadPostings(ctx, r, r.key, after, end) {
		if err != nil {
			return s, err
		}
		if sum, err = sum.Add(p); err != nil {
			return s, fmt.Errorf("fold posting %s: %w", p.ID, err)
		}
		s.first = projections.Earlier(s.first, p.ID)
		if sum.Count%r.tuning.Stretch == 0 {
			cuts = append(cuts, sum)
		}
	}
	sum.Through = end
	s.Segment = projections.Segment{Pair: r.key, After: after, Fold: sum}
	cuts = append(cuts[:max(1, len(cuts)-1)], sum) // the last part gets the remainder and is longer
	for i, cut := range cuts[1:] {
		part, err := cut.Minus(cuts[i])
		if err != nil {
			return s, err
		}
		s.parts = append(s.parts, projections.Segment{Pair: r.key, After: cuts[i].Through, Fold: part})
	}
	r.counted[end] = s
	return s, nil
}
