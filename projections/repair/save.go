package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/internal/store"
	"ledger.example/projections"
)

// save writes b and the segments so far, in several changes if they do not fit one.
func (r *rebuild) save(ctx context.Context, b projections.Balance) error {
	for n := r.tuning.Segments; len(r.segments) > n; {
		step := b
		step.Base, step.Head, step.Unfinished = r.bases[n-1], r.stored.Head, true
		if err := r.write(ctx, step, n); err != nil {
			return err
		}
	}
	return r.write(ctx, b, len(r.segments))
}

// write writes b and the first n segments. It adds their pending differences to the report, only the first of each
// item; that of the balance with the last segments. It does so even if the outcome of the write is unknown.
func (r *rebuild) write(ctx context.Context, b projections.Balance, n int) error {
	b.Version = r.stored.Version
	change := projections.Change{Balance: b, Segments: r.segments[:n], Revision: r.revision}
	if r.stored.Head.Count == 0 && b.Head.Count > 0 {
		// The stored summary may count this balance already.
		if err := r.CountSummary(ctx, &change); err != nil {
			return err
		}
	} else if shareOf(r.stored) != shareOf(b) {
		found, err := r.storedSummary(ctx, r.key.Account)
		if err != nil {
			return err
		}
		s := found.Value.With(r.stored, b)
		change.Summary, change.SummaryRevision = &s, &found.Revision
	}
	err := r.views.Write(ctx, change)
	if err != nil && !errors.Is(err, store.ErrUnknownOutcome) {
		return fmt.Errorf("write balance: %w", err)
	}
	var left []Difference
	for _, d := range r.pending {
		isWritten := func(s projections.Segment) bool {
			return d.Key == store.Segment.Key(s.Account, s.Asset, string(s.Through))
		}
		if n < len(r.segments) && !slices.ContainsFunc(change.Segments, isWritten) {
			left = append(left, d)
			continue
		}
		if !slices.ContainsFunc(r.report.Differences, func(e Difference) bool { return e.Key == d.Key }) {
			r.report.Differences = append(r.report.Differences, d)
		}
	}
	if err != nil {
		return fmt.Errorf("write balance: %w", err)
	}
	r.saves++
	for _, s := range change.Segments {
		delete(r.counted, s.Through) // the next attempt folds it again
	}
	b.Version++
	r.stored, r.segments, r.bases, r.pending, r.closed, r.revision = b, r.segments[n:], r.bases[n:], left, 0, nil
	return nil
}

// shareOf returns the summary of an account that has only this balance.
func shareOf(b projections.Balance) projections.Summary {
	return projections.Summary{}.With(projections.Balance{}, b)
}
