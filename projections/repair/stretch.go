package repair

import (
	"context"
	"math"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// stretch is what was counted between the ends of two stored segments.
type stretch struct {
	parts  []projections.Segment // one, or several if it was split
	first  events.KSUID          // the first posting of the balance
	stored projections.Segment   // the segment as it was stored before its postings were read
}

// countStretch counts the stretch between the base and end, which is the end of a stored segment or of a lost one.
// It reuses the result of an earlier attempt if the stored segment equals that result, or is the same as then: no
// posting was counted there since. The stretch must also end at or below the stored base: above it, EnsureVisible
// finds postings counted in the seal.
func (r *rebuild) countStretch(ctx context.Context, end events.KSUID) error {
	b, found, every := &r.balance, r.chain.segments[end], r.tuning.Stretch
	if found.Exists && found.Fault == nil && found.Value.After == b.Base.Through {
		// A segment with the correct After is never split, even if late postings have made it long. If a rebuild were
		// interrupted between the writes of two parts, the stored segment would overlap the first part.
		every = math.MaxInt64
	}
	if s := r.counted[end]; len(s.parts) > 0 && s.parts[0].After == b.Base.Through && end <= r.stored.Base.Through &&
		(found.Fault == nil && found.Value == s.parts[len(s.parts)-1] || found.Value == s.stored) {
		b.First = projections.Earlier(b.First, s.first)
		for _, part := range s.parts {
			f, err := b.Base.Plus(part.Fold)
			if err == nil {
				err = r.closeAt(ctx, f, part.Through)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	r.parts = nil
	if err := r.countOn(ctx, end, end+"0", every); err != nil {
		return err
	}
	if b.Base.Through < end {
		if err := r.closeAt(ctx, b.Seal, end); err != nil {
			return err
		}
	}
	r.counted[end] = stretch{r.parts, b.First, found.Value}
	return nil
}

// closeAt closes a segment at end. f has all postings through end.
func (r *rebuild) closeAt(ctx context.Context, f projections.Fold, end events.KSUID) error {
	f.Through = end
	s, _, err := r.balance.SettleAt(f, 0)
	if err != nil {
		return err
	}
	return r.close(ctx, s)
}

// countOn counts the postings after the seal through `through` ("": to the end), as the projector does.
func (r *rebuild) countOn(ctx context.Context, through, settled events.KSUID, every int64) error {
	postings := r.watched.Postings(ctx, r.key, r.balance.Seal.Through, through)
	return r.balance.CountOn(postings, settled, every, func(s projections.Segment) error { return r.close(ctx, s) })
}

// close adds s, a closed segment, to those to write if the stored one differs. A segment after all stored ones is new,
// and no difference. Up to the stored seal, close saves nothing, so that no write moves the seal back. Beyond it, it
// saves when there is enough to write, or when many segments were right.
func (r *rebuild) close(ctx context.Context, s projections.Segment) (err error) {
	r.parts = append(r.parts, s)
	if stored := r.chain.segments[s.Through]; !stored.Exists || stored.Fault != nil || stored.Value != s {
		r.segments, r.bases = append(r.segments, s), append(r.bases, r.balance.Base)
		d := differenceOf(store.Segment.Key(s.Account, s.Asset, string(s.Through)), stored, s)
		if stored.Exists && stored.Fault == nil && stored.Value.After == s.After {
			d.CountsMore = stored.Value.Count > s.Count
			if d.Behind, err = r.isFoldLate(ctx, stored.Value.Fold, s.Fold, s.After); err != nil {
				return err
			}
		}
		if s.Through <= r.last {
			r.pending = append(r.pending, d)
		}
	}
	if s.Through <= r.stored.Seal.Through {
		return nil
	}
	if r.closed++; max(r.closed, len(r.segments)) < r.tuning.Segments {
		return nil
	}
	b := r.balance
	b.Head, b.Unfinished = r.stored.Head, true
	return r.save(ctx, b)
}
