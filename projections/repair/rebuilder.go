// Package repair computes projections again from events, while the ledger serves.
//
// A Rebuilder rebuilds one balance, summary, membership or the entries of a hold, or all of an account. A Run rebuilds
// the accounts and groups of a table, at a limited rate. Package redrive, in a subdirectory, refolds what dead letters
// name.
package repair

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

const (
	// conflictTries is how often in a row a rebuild starts again after a conflict. A hot balance is written about every
	// second; an attempt that finds most stretches counted before needs a tenth of that.
	conflictTries = 240
	// throttledTries is how often in a row a rebuild is tried while the store throttles: some 40 s.
	throttledTries = 120
)

var backoff = retry.Backoff{First: 10 * time.Millisecond, Max: 640 * time.Millisecond}

// Rebuilder rebuilds projections. It is safe for concurrent use.
type Rebuilder struct {
	views  Views
	dry    bool // views write nothing
	now    func() time.Time
	log    *slog.Logger
	tuning projections.Tuning
	pause  func(ctx context.Context, failed int) error
}

// NewRebuilder returns a rebuilder on views. now is its own clock (nil: time.Now); a nil log is slog.Default().
func NewRebuilder(views Views, now func() time.Time, log *slog.Logger) *Rebuilder {
	if now == nil {
		now = time.Now
	}
	return &Rebuilder{
		views: views, now: now, log: cmp.Or(log, slog.Default()), pause: backoff.Sleep,
		tuning: projections.Tuning{Stretch: projections.StretchPostings, Segments: projections.SegmentsMax},
	}
}

// Tune sets Stretch and Segments of t before b is used: for simulations. Every value is right, but no other is fast.
func (b *Rebuilder) Tune(t projections.Tuning) { b.tuning = t }

// dryRun returns a rebuilder that writes nothing, and otherwise does the same. One goroutine uses it.
func (b *Rebuilder) dryRun() *Rebuilder {
	dry := *b
	dry.dry, dry.views = true, &dryRun{b.views, make(map[events.Pair]projections.Balance),
		make(map[string]projections.Summary)}
	return &dry
}

// on returns the same rebuilder on other views.
func (b *Rebuilder) on(views Views) *Rebuilder {
	other := *b
	other.views = views
	return &other
}

// Report is what rebuilding one projection found: a balance (Account and Asset are set), a membership (Account or
// Group, and User), a place in a group (Account and Group), entries of a hold (Account and Hold), or a summary (Account
// alone).
// In a dry run Differences are what a rebuild would write.
type Report struct {
	Account, Group, Asset, User, Hold string

	Postings    int64        // read
	Differences []Difference // written, one for each item
	Strays      []Stray      // which no rebuild can make right
	Err         error
}

// retry runs attempt until it succeeds: again from its beginning after a conflict, a write whose outcome is unknown,
// or when the store throttles.
func (b *Rebuilder) retry(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, b.pause, store.Attempts(conflictTries, throttledTries), attempt)
}

// IsLost implements projections.Repairer: a segment lies beyond the base of b.
func (b *Rebuilder) IsLost(ctx context.Context, balance projections.Balance) (bool, error) {
	beyond, _, err := b.views.StoredSegments(ctx, balance.Pair, balance.Base.Through)
	if err != nil || len(beyond) == 0 {
		return false, err
	}
	// A refold that closes segments becomes visible item by item.
	now, segments, _, err := b.views.Snapshot(ctx, balance.Pair, []events.KSUID{beyond[0].Value.Through})
	switch {
	case err != nil:
		return false, fmt.Errorf("read balance and segment: %w", err)
	case now.Value.Version != balance.Version || now.Exists != (balance.Version > 0) || !segments[0].Exists:
		return false, fmt.Errorf("balance went on from version %d: %w", balance.Version, store.ErrConflict)
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
