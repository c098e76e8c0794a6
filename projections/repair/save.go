package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/internal/store"
	"ledger.example/projections"
)

// save writes the balance and the segments so far, and reports what was found otherwise: each item once, as it was
// found first.
func (r *rebuild) save(ctx context.Context) error {
	change := projections.Change{Balance: r.balance, Segments: r.segments, Revision: r.mark}
	if r.stored.Head.Count == 0 && r.balance.Head.Count > 0 {
		// What is stored of the summary may count this balance already.
		if err := r.CountSummary(ctx, &change); err != nil {
			return err
		}
	} else if shareOf(r.stored) != shareOf(r.balance) {
		found, err := r.storedSummary(ctx, r.key.Account)
		if err != nil {
			return err
		}
		s := found.Value.With(r.stored, r.balance)
		change.Summary, change.SummaryRevision = &s, &found.Revision
	}
	err := r.views.Write(ctx, change)
	if err != nil && !errors.Is(err, store.ErrUnknownOutcome) {
		return fmt.Errorf("write balance: %w", err)
	}
	for _, d := range r.pending {
		if !slices.ContainsFunc(r.report.Differences, func(e Difference) bool { return e.Key == d.Key }) {
			r.report.Differences = append(r.report.Differences, d)
		}
	}
	if err != nil {
		return fmt.Errorf("write balance: %w", err)
	}
	r.saves++
	for _, s := range r.segments {
		delete(r.counted, s.Through) // the next attempt folds it once more
	}
	r.balance.Version++
	r.stored, r.mark, r.segments, r.pending, r.walked = r.balance, nil, nil, nil, 0
	return nil
}

// shareOf is the summary of an account that has this balance only.
func shareOf(b projections.Balance) projections.Summary {
	return projections.Summary{}.With(projections.Balance{}, b)
}
