package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// sealed folds the postings after base through the stored seal; "" where that cannot be one.
func (r *rebuild) sealed(ctx context.Context, c chain, base Fold) (seal Fold, first events.KSUID, err error) {
	end := c.balance.Value.Seal.Through
	if end <= base.Through || strayEnd(end, c.settled) != "" {
		return base, "", nil
	}
	return foldOn(ctx, r.views, r.key, base, end)
}

// compare notes how the stored balance differs from what it becomes. In a dry run it makes certain that nobody wrote meanwhile.
func (r *rebuild) compare(ctx context.Context, c chain, base, seal Fold) error {
	wanted := r.balance
	if seal == c.balance.Value.Seal {
		wanted.Base, wanted.Seal = base, seal // that they follow is no difference
	}
	key := table.BalanceKey(r.key.Account, r.key.Asset)
	d := differenceOf(key, c.balance, wanted, Balance.fields)
	if len(r.pending) == 0 && c.balance.Fault == nil && base == c.balance.Value.Base {
		var err error
		if d.Behind, err = r.behind(ctx, c, seal); err != nil {
			return err
		}
	}
	if len(d.Fields) > 0 || d.Fault != "" {
		r.pending = append(r.pending, d)
	}
	if !r.dry {
		return nil
	}
	now, _, _, err := r.views.Snapshot(ctx, r.key, nil)
	if err != nil {
		return fmt.Errorf("read balance again: %w", err)
	}
	if now.Mark != c.balance.Mark {
		return fmt.Errorf("balance went on from %q to %q: %w", c.balance.Mark, now.Mark, table.ErrConflict)
	}
	return nil
}

// behind tells whether all that is amiss with a balance is that it doesn't show postings of the last moments.
func (r *rebuild) behind(ctx context.Context, c chain, seal Fold) (bool, error) {
	stored := c.balance.Value
	if stored.Unfinished || stored.Seal != seal {
		return false, nil
	}
	shown := stored.Head.Through
	if shown < seal.Through {
		return false, nil
	}
	head := seal
	if shown > seal.Through {
		var err error
		if head, _, err = foldOn(ctx, r.views, r.key, seal, shown); err != nil {
			return false, err
		}
	}
	if head != stored.Head {
		return false, nil
	}
	unseen, _, err := r.views.Postings(ctx, r.key, shown, "")
	if err != nil {
		return false, fmt.Errorf("read postings: %w", err)
	}
	return len(unseen) > 0 && unseen[0].ID >= c.settled, nil
}

// save writes the balance and the segments so far; a dry run only notes them.
func (r *rebuild) save(ctx context.Context) error {
	if r.dry {
		r.note()
		r.segments, r.walked = nil, 0
		return nil
	}
	change := Change{Balance: r.balance, Segments: r.segments, Mark: r.mark}
	before, after := r.stored.share(), r.balance.share()
	if before != after {
		found, _, at, err := r.views.SnapshotAccount(ctx, r.key.Account, nil)
		if err != nil {
			return fmt.Errorf("read summary: %w", err)
		}
		s := found.Value.with(before, after)
		if !found.Versioned {
			s.Version = leap(at)
		}
		change.Summary, change.SummaryMark = &s, &found.Mark
	}
	err := r.views.Write(ctx, change)
	if err == nil || errors.Is(err, table.ErrUnknownOutcome) {
		r.note()
	}
	if err != nil {
		return fmt.Errorf("write balance: %w", err)
	}
	r.saves++
	for _, s := range r.segments {
		delete(r.counted, s.Through) // to be looked at once more
	}
	r.balance.Version++
	r.stored, r.mark, r.segments, r.walked = r.balance, nil, nil, 0
	return nil
}

// note takes what is written, or would be, into what is told: each item once, as it was found first.
func (r *rebuild) note() {
	for _, d := range r.pending {
		r.mended = r.mended || !r.dry && !d.Behind
		if !slices.ContainsFunc(r.found.Differences, func(e Difference) bool { return e.Key == d.Key }) {
			r.found.Differences = append(r.found.Differences, d)
		}
	}
	r.pending = nil
}
