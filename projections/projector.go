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
	// conflictAttempts is the number of attempts while writes conflict: about four seconds. Then the batch fails and is
	// redelivered.
	conflictAttempts = 12
	// throttledAttempts is the number of attempts while the store throttles: about 40 s, less if the deadline is near.
	throttledAttempts = 120
)

var backoff = retry.Backoff{First: 10 * time.Millisecond, Max: 640 * time.Millisecond}

// Projector folds postings into balances and summaries, grants into memberships, and changes of groups into
// places in them. It is safe for concurrent use.
type Projector struct {
	views    *Views
	repairer Repairer // nil: lost items are not detected
	now      func() time.Time
	log      *slog.Logger
	pause    func(ctx context.Context, failed int) error
	tuning   Tuning
	cache    balanceCache
}

// NewProjector returns a projector on a table. now is the process's clock (nil: time.Now). A nil log is slog.Default().
func NewProjector(t store.Table, now func() time.Time, log *slog.Logger) *Projector {
	if now == nil {
		now = time.Now
	}
	return &Projector{
		views: NewViews(t), now: now, log: cmp.Or(log, slog.Default()), pause: backoff.Sleep,
		tuning: Tuning{Stretch: StretchPostings, Segments: SegmentsMax, Unsealed: unsealedMax},
		cache:  balanceCache{entries: make(map[events.Pair]*cacheEntry)},
	}
}

// RepairWith makes refolds rebuild lost balances through r. It must be called before p is used.
func (p *Projector) RepairWith(r Repairer) { p.repairer = r }

// Tuning holds thresholds that only a hot account reaches. Simulations lower them, so that a few postings reach them.
// Results are correct with any positive values.
type Tuning struct {
	Stretch  int64 // settled postings that close a segment; usually StretchPostings
	Segments int   // segments after which a refold saves what it has, at most SegmentsMax
	Unsealed int   // settled postings that may stay above the seal; usually 64
}

// Tune sets the thresholds. It must be called before p is used.
func (p *Projector) Tune(t Tuning) { p.tuning = t }

// retryOnConflict retries attempt after conflicts and unknown outcomes. attempt must read the stored state again.
func (p *Projector) retryOnConflict(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, p.pause, store.Attempts(conflictAttempts, 0), attempt)
}

// retryThrottled retries attempt while the store throttles. A growing table may be throttled for minutes, but a failed
// record is redelivered only a few times before it becomes a dead letter.
func (p *Projector) retryThrottled(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, p.pause, store.Attempts(0, throttledAttempts), attempt)
}
