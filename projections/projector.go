package projections

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
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
func NewProjector(t table.Table, now func() time.Time, log *slog.Logger) *Projector {
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
	return retry.Do(ctx, p.pause, table.Attempts(conflictAttempts, 0), attempt)
}

// retryThrottled retries attempt while the store throttles. A growing table may be throttled for minutes, but a failed
// record is redelivered only a few times before it becomes a dead letter.
func (p *Projector) retryThrottled(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, p.pause, table.Attempts(0, throttledAttempts), attempt)
}

// SettledBefore returns the KSUID below which postings are settled for a reader that began at begun by its own clock
// and at storeTime by the store's. It trusts the earlier of the two clocks. Without the store's clock (zero) it returns
// "": nothing is settled.
func SettledBefore(begun, storeTime time.Time) events.KSUID {
	return trailingKSUID(begun, storeTime, table.SettleWindow)
}

// trailingKSUID returns the first KSUID of the instant that is trail before the earlier of both clocks. It returns ""
// if storeTime is zero.
func trailingKSUID(begun, storeTime time.Time, trail time.Duration) events.KSUID {
	if storeTime.IsZero() {
		return ""
	}
	if storeTime.Before(begun) {
		begun = storeTime
	}
	return events.FirstKSUID(begun.Add(-trail))
}

// alarmLateCredit logs an alarm when a credit reaches an account that is closed. An account closes only when all its
// balances are zero. So the first such credit makes a balance positive whose debits are at least the credits counted
// before. Only then is the account read. The alarm is logged before the write: if the write's outcome is unknown, the
// retry may find the credit counted and would stay silent.
func (r *refold) alarmLateCredit(ctx context.Context) error {
	head := r.balance.Head
	if head.Quantity().Sign() <= 0 || head.Debits.Cmp(r.stored.Head.Credits) < 0 {
		return nil
	}
	closed, err := r.projector.views.IsClosed(ctx, r.balance.Account)
	if err != nil {
		return fmt.Errorf("read account: %w", err)
	}
	if closed {
		r.projector.log.ErrorContext(ctx, "credit reached a closed account", "account", r.balance.Account,
			"asset", r.balance.Asset, "quantity", head.Quantity(), "CreditsAfterClose", 1)
	}
	return nil
}

// effort is the cost of refolding one balance, over all attempts.
type effort struct {
	postings  int64 // read
	conflicts int64 // attempts that ended in a conflict
	written   bool
	rebuilt   bool          // as it was lost
	cached    bool          // the last attempt found the balance in the cache
	lag       time.Duration // from the newest dirty posting to the end of the refold, if it wrote
}

// logBatch logs one line for a batch that had something to project. Capitalized attributes become metrics: RefoldDepth
// in postings, ProjectionLag in milliseconds, ProjectionConflicts in attempts. Each has one value per refold.
func (p *Projector) logBatch(ctx context.Context, batch []Record, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	var depths, lags, conflicts []int64
	failed, stopped, cached := 0, 0, 0
	for _, j := range jobs {
		if j.err != nil && j.isFinal() {
			stopped++
		} else if j.err != nil {
			failed++
		}
		if j.effort.cached {
			cached++
		}
		if j.effort.postings > 0 {
			depths = append(depths, j.effort.postings)
		}
		if j.err == nil && j.effort.written {
			lags = append(lags, j.effort.lag.Milliseconds())
		}
		if j.effort.conflicts > 0 {
			conflicts = append(conflicts, j.effort.conflicts)
		}
	}
	attrs := []slog.Attr{
		slog.Int("records", len(batch)), slog.Int("groups", len(jobs)),
		slog.Int("failed", failed), slog.Int("cached", cached),
	}
	if stopped > 0 {
		attrs = append(attrs, slog.Int("stopped", stopped))
	}
	add := func(name string, values []int64) {
		if len(values) > 0 {
			attrs = append(attrs, slog.Any(name, values))
		}
	}
	add("RefoldDepth", depths)
	add("ProjectionLag", lags)
	add("ProjectionConflicts", conflicts)
	p.log.LogAttrs(ctx, slog.LevelInfo, "batch", attrs...)
}
