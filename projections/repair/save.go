package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/internal/store"
	"ledger.example/projections"
)

// save writes the balance and the segments so far. It adds the pending differences to the report, only the first of
// each item. It does so even if the outcome of the write is unknown.
func (r *rebuild) save(ctx context.Context) error {
	if r.balance.Seal.Through < r.seal.Through { // forward closes segments below it
		r.balance.Seal = r.seal
	}
	change := projections.Change{Balance: r.balance, Segments: r.segments, Revision: r.revision}
	if r.stored.Head.Count == 0 && r.balance.Head.Count > 0 {
		// The stored summary may count this balance already.
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
		delete(r.counted, s.Through) // the next attempt folds it again
	}
	r.balance.Version++
	r.stored, r.revision, r.segments, r.bases, r.pending, r.walked = r.balance, nil, nil, nil, nil, 0
	return nil
}

// shareOf returns the summary of an account that has only this balance.
func shareOf(b projections.Balance) projections.Summary {
	return projections.Summary{}.With(projections.Balance{}, b)
}
