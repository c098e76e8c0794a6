package projections

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/store"
)

const (
	// conflictAttempts is how often a refold is tried while others write first: for up to four seconds. Then its
	// batch is left to be delivered again.
	conflictAttempts = 12
	// throttledAttempts is how often work is tried while the store throttles: for some 40 s, less when the deadline
	// is near.
	throttledAttempts = 120
)

var backoff = retry.Backoff{First: 10 * time.Millisecond, Max: 640 * time.Millisecond}

// Projector folds postings into balances and summaries, grants into memberships, and changes of groups into
// places in them. It is safe for concurrent use.
type Projector struct {
	views    ProjectorViews
	repairer Repairer // nil: lost items are not looked for
	now      func() time.Time
	log      *slog.Logger
	pause    func(ctx context.Context, failed int) error
	tuning   Tuning
	cache    balanceCache
}

// NewProjector returns a projector on views; now is its own clock (nil: time.Now). A nil log is slog.Default().
func NewProjector(views ProjectorViews, now func() time.Time, log *slog.Logger) *Projector {
	if now == nil {
		now = time.Now
	}
	return &Projector{
		views: views, now: now, log: cmp.Or(log, slog.Default()), pause: backoff.Sleep,
		tuning: Tuning{Stretch: StretchPostings, Segments: SegmentsMax, Unsealed: unsealedMax},
		cache:  balanceCache{entries: make(map[events.Pair]*cacheEntry)},
	}
}

// RepairWith makes refolds hand what they find lost to r. It is called before p is used.
func (p *Projector) RepairWith(r Repairer) { p.repairer = r }

// Tuning holds the thresholds that only a hot account meets. Simulations lower them, so that a few postings meet
// them. Results are right with any positive values.
type Tuning struct {
	Stretch  int64 // settled postings that close a segment; usually StretchPostings
	Segments int   // segments after which a refold saves what it has, at most SegmentsMax
	Unsealed int   // settled postings that may stay above the seal; usually 64
}

// Tune sets the thresholds. It is called before p is used.
func (p *Projector) Tune(t Tuning) { p.tuning = t }

// retryOnConflict runs attempt again, from its beginning, while others write first or a write's outcome is unknown:
// reading again shows it.
func (p *Projector) retryOnConflict(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, p.pause, store.Attempts(conflictAttempts, 0), attempt)
}

// RetryThrottled runs attempt again while the store throttles. That is no fault of a batch's records, and a table may
// be throttled for minutes while it grows; but a failed record is delivered a few times only before it becomes a dead
// letter.
func (p *Projector) RetryThrottled(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, p.pause, store.Attempts(0, throttledAttempts), attempt)
}
