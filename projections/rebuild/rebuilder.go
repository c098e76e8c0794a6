// Package rebuild rebuilds projections from events while the ledger serves requests: one balance, summary, membership
// or the entries of a hold, or all projections of an account. The projector rebuilds lost balances with it.
package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

const (
	// conflictTries is the number of attempts in a row that may conflict. A hot balance is written about once a second.
	// An attempt takes a tenth of that if earlier attempts counted most stretches.
	conflictTries = 240
	// throttledTries is the number of attempts in a row that the store may throttle: about 40 s.
	throttledTries = 120
)

var backoff = retry.Backoff{First: 10 * time.Millisecond, Max: 640 * time.Millisecond}

// Rebuilder rebuilds projections. It is safe for concurrent use.
type Rebuilder struct {
	table  table.Table
	views  *projections.Views // of table
	dry    bool               // table writes nothing
	holds  map[string]bool    // records the holds whose postings are read; nil: it does not
	now    func() time.Time
	log    *slog.Logger
	tuning projections.Tuning
	pause  func(ctx context.Context, failed int) error
}

// NewRebuilder returns a rebuilder on a table. now is the process's clock (nil: time.Now). A nil log is slog.Default().
func NewRebuilder(t table.Table, now func() time.Time, log *slog.Logger) *Rebuilder {
	if now == nil {
		now = time.Now
	}
	return &Rebuilder{
		table: t, views: projections.NewViews(t), now: now, log: cmp.Or(log, slog.Default()), pause: backoff.Sleep,
		tuning: projections.Tuning{Stretch: projections.StretchPostings, Segments: projections.SegmentsMax},
	}
}

// Tune sets Stretch and Segments, for simulations. It must be called before b is used. Results are correct with any
// positive values.
func (b *Rebuilder) Tune(t projections.Tuning) { b.tuning = t }

// DryRun returns a copy of b that writes nothing. It is not safe for concurrent use.
func (b *Rebuilder) DryRun() *Rebuilder {
	dry := *b
	dry.dry, dry.table = true, table.NewOverlay(b.table)
	dry.views = projections.NewViews(dry.table)
	return &dry
}

// recordHolds returns a copy of b that records the holds whose postings it reads. It is not safe for concurrent use.
func (b *Rebuilder) recordHolds() *Rebuilder {
	recording := *b
	recording.holds = make(map[string]bool)
	return &recording
}

// Report is the result of rebuilding one projection: a balance (Account and Asset are set), a target of a view, or a
// summary (only Account).
type Report struct {
	projections.Target

	Postings    int64        // read
	Differences []Difference // the items that were written; in a dry run, those that a rebuild would write
	Strays      []Stray      // items that no rebuild can repair
	Err         error
}

// Retry retries attempt after conflicts, unknown outcomes and throttling. attempt must read the stored state again.
func (b *Rebuilder) Retry(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, b.pause, table.Attempts(conflictTries, throttledTries), attempt)
}

// Retried returns the table with these retries of queries.
func (b *Rebuilder) Retried() table.Table {
	return table.Retried{
		Table: b.table, Retry: func(ctx context.Context, do func(context.Context) (time.Time, error)) error {
			return b.Retry(ctx, func() error {
				_, err := do(ctx)
				return err
			})
		},
	}
}

// IsLost implements projections.Repairer. The balance's item was lost if a segment lies beyond its base.
func (b *Rebuilder) IsLost(ctx context.Context, balance projections.Balance) (bool, error) {
	beyond := segments(balance.Pair, balance.Base.Through)
	if beyond.Within.Empty() {
		return false, nil
	}
	page, err := table.NextPage(ctx, b.table, beyond)
	if err != nil || len(page.Items) == 0 {
		return false, err
	}
	// A refold's transaction becomes visible item by item: the segment may be newer than the balance.
	now, found, _, err := b.balanceAnd(ctx, balance.Pair, endOf(page.Items[0]))
	switch {
	case err != nil:
		return false, fmt.Errorf("read balance and segment: %w", err)
	case now.Value.Version != balance.Version || now.Exists != (balance.Version > 0) || !found[0].Exists:
		return false, fmt.Errorf("balance changed from version %d: %w", balance.Version, table.ErrConflict)
	}
	return true, nil
}

// RebuildLost implements projections.Repairer.
func (b *Rebuilder) RebuildLost(ctx context.Context, k events.Pair) error {
	if err := b.Balance(ctx, k).Err; err != nil {
		return fmt.Errorf("rebuild balance: %w", err)
	}
	return nil
}
