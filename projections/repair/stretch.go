package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// walk folds every stretch that ends at a stored segment again, and returns the sum of all and the first of their
// postings.
func (r *rebuild) walk(ctx context.Context) (base projections.Fold, first events.KSUID, err error) {
	for _, end := range slices.Sorted(maps.Keys(r.chain.segments)) {
		if why := r.chain.strayEnd(end); why != "" {
			key := table.SegmentKey(r.key.Account, r.key.Asset, string(end))
			r.report.Strays = append(r.report.Strays, Stray{key, why})
			continue
		}
		counted, err := r.countedTo(ctx, base.Through, end)
		if err != nil {
			return base, "", err
		}
		first = projections.Earlier(first, counted.first)
		parts := counted.parts
		if stored := r.chain.segments[end]; stored.Fault == nil && stored.Value.After == counted.After {
			// However long: it may have grown by late postings. Were it split, and the rebuild broken off between two
			// writes, what is stored would reach back over the part that was written.
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

// compareSegment notes s to be written if it is stored otherwise, and saves the way when there is enough to write. base
// is the sum of all through s.
func (r *rebuild) compareSegment(ctx context.Context, s projections.Segment, base projections.Fold) error {
	stored := r.chain.segments[s.Through]
	if !stored.Exists || stored.Fault != nil || stored.Value != s {
		d := differenceOf(table.SegmentKey(s.Account, s.Asset, string(s.Through)), stored, s)
		if stored.Exists && stored.Fault == nil && stored.Value.After == s.After {
			d.CountsMore = stored.Value.Count > s.Count
			var err error
			if d.Behind, err = r.isLate(ctx, stored.Value.Fold, s.Fold, s.After); err != nil {
				return err
			}
		}
		r.pending, r.segments = append(r.pending, d), append(r.segments, s)
	}
	if base.Through > r.stored.Seal.Through {
		r.walked++
	}
	if len(r.segments) < r.tuning.Segments && r.walked < r.tuning.Segments {
		return nil
	}
	r.balance.Base, r.balance.Seal, r.balance.Unfinished = base, base, true
	return r.save(ctx)
}

// stretch is what the postings between two ends make, as they were when they were read.
type stretch struct {
	projections.Segment
	first  events.KSUID          // of its postings
	parts  []projections.Segment // as many as it would have been closed in
	stored projections.Segment   // what could be read of its segment before them
}

// countedTo folds the stretch after `after` that ends at end. What was read before is good as long as what is stored of
// the segment is what was counted then, or what was stored of it then: nobody counted anything there since. And it must
// lie below the seal: above it, commands do not look at segments.
func (r *rebuild) countedTo(ctx context.Context, after, end events.KSUID) (stretch, error) {
	found := r.chain.segments[end]
	if known, ok := r.counted[end]; ok && known.After == after && end <= r.stored.Seal.Through &&
		(found.Fault == nil && found.Value == known.Segment || found.Value == known.stored) {
		return known, nil
	}
	s := stretch{stored: found.Value}
	sum := projections.Fold{Through: after}
	cuts := []projections.Fold{sum} // the sum after each so many postings
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
	cuts = append(cuts[:max(1, len(cuts)-1)], sum) // the last part is the one that is longer
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
