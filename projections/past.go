package projections

import (
	"context"
	"fmt"
	"iter"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Past computes balances as of a past time, and statements. A past balance is the sum of the closed segments up to that
// time and of the postings after the last of them. It is safe for concurrent use.
type Past struct {
	strong, eventual *Views
	lists            *Lists
	now              func() time.Time
}

// NewPast returns a Past on a table. now is the process's clock (nil: time.Now).
func NewPast(t store.Table, now func() time.Time) *Past {
	if now == nil {
		now = time.Now
	}
	views := NewViews(t)
	return &Past{strong: views, eventual: views.Eventual(), lists: NewLists(t), now: now}
}

// PastBalance is a balance as of a time: the fold of every posting at that time or before. Postings are never removed,
// so equal Counts mean equal folds.
type PastBalance struct {
	events.Pair
	Fold
	At time.Time // the time, or the present if it is in the future
	// Settled reports that the time is further in the past than a command can take. From then on, only a posting that
	// is not projected yet, or one with an effective date, can change the balance.
	Settled bool
}

func (p *Past) views(strong bool) *Views {
	if strong {
		return p.strong
	}
	return p.eventual
}

// Balance returns the balance of k as of at, in whole microseconds. If strong, it includes every transaction
// acknowledged before the call. One with an effective date may be missing, or disappear again, until it is projected.
// It makes one request for each megabyte of segments (about 4,000), and one for the postings after the last segment.
// Errors: those of Views; events.ErrOverflow.
func (p *Past) Balance(ctx context.Context, k events.Pair, at time.Time, strong bool) (PastBalance, error) {
	views, through, begun := p.views(strong), lastThrough(at), p.now()
	b := PastBalance{Pair: k}
	for s, err := range views.Segments(ctx, k, through) {
		if err == nil {
			b.Settled = through < SettledBefore(begun, s.at)
			b.Fold, err = views.extend(ctx, b.Fold, s.Segment)
		}
		if err != nil {
			return PastBalance{}, err
		}
	}
	var err error
	b.Fold, _, err = views.FoldOn(ctx, k, b.Fold, through)
	b.At = p.until(at, b.Through.Time())
	return b, err
}

// until returns t, or the present if t is in the future: this process's time, or that of the newest posting counted, if
// a process with another clock minted it.
func (p *Past) until(t, newest time.Time) time.Time {
	if now := p.now().UTC().Truncate(time.Microsecond); newest.Before(now) {
		newest = now
	}
	if t.Before(newest) {
		return t
	}
	return newest
}

// lastThrough returns the greatest KSUID of the instant t, in whole microseconds.
func lastThrough(t time.Time) events.KSUID { return events.LastKSUIDBefore(t.Add(time.Microsecond)) }

// Balances is Balance for a page of an account's assets, by asset. It leaves out assets without a posting at that time,
// so a page may be short. It finds the assets in one request, or if strong in one for each. Each asset then takes the
// requests of Balance.
func (p *Past) Balances(ctx context.Context, account string, at time.Time, strong bool, s Slice) (
	listed Page[PastBalance], err error,
) {
	var assets []string
	if strong {
		assets, listed.Next, err = assetsOf(ctx, p.strong, account, s)
	} else {
		assets, listed.Next, err = p.projectedAssets(ctx, account, at, s)
	}
	if err != nil {
		return listed, err
	}
	found, err := readEach(ctx, assets, func(ctx context.Context, asset string) (PastBalance, error) {
		return p.Balance(ctx, events.Pair{Account: account, Asset: asset}, at, strong)
	})
	if err != nil {
		return Page[PastBalance]{}, err
	}
	for _, b := range found {
		if b.Count > 0 {
			listed.Items = append(listed.Items, b)
		}
	}
	return listed, nil
}

// projectedAssets returns the assets of a page of stored balances whose first posting is not after at.
func (p *Past) projectedAssets(ctx context.Context, account string, at time.Time, s Slice) ([]string, string, error) {
	_, balances, err := p.lists.Balances(ctx, account, s)
	var assets []string
	for _, b := range balances.Items {
		if b.First <= lastThrough(at) {
			assets = append(assets, b.Asset)
		}
	}
	return assets, balances.Next, err
}

// timedSegment is a segment with the store's clock when it was read.
type timedSegment struct {
	Segment
	at time.Time
}

// Segments yields the segments of k that end at through or before ("": all), in order. It holds at most one page of
// them in memory. The first error ends it. If there are no segments, it yields an empty one for the store's clock.
func (v *Views) Segments(ctx context.Context, k events.Pair, through events.KSUID) iter.Seq2[timedSegment, error] {
	q := v.within(k.Account, store.Segment.All(k.Asset).Through(string(through)))
	return func(yield func(timedSegment, error) bool) {
		last := Segment{Pair: k}
		for p, err := range readPages(ctx, v.table, q, decodeSegment) {
			if err != nil {
				yield(timedSegment{}, fmt.Errorf("read segments: %w", err))
				return
			}
			if len(p.found) == 0 {
				p.found = append(p.found, last)
			}
			for _, s := range p.found {
				if !yield(timedSegment{s, p.at}, nil) {
					return
				}
				last = Segment{Pair: k, After: s.Through, Fold: Fold{Through: s.Through}}
			}
		}
	}
}

// extend adds s to f. Between f and s a segment may be lost or not visible yet: transactions become visible item by
// item. Then extend reads the postings of the gap. It skips a segment that begins before f ends: the caller reads its
// postings instead.
func (v *Views) extend(ctx context.Context, f Fold, s Segment) (_ Fold, err error) {
	if s.After < f.Through {
		return f, nil
	}
	if s.After > f.Through {
		if f, _, err = v.FoldOn(ctx, s.Pair, f, s.After); err != nil {
			return Fold{}, err
		}
	}
	f, err = f.Plus(s.Fold)
	f.Through = s.Through
	return f, err
}
