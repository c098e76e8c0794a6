// Package projections computes balances and account summaries from postings, and memberships from grants. It lists
// holds, transactions and the accounts of groups, and writes the journal: a feed of all transactions and ends of holds.
// It also reads all of these.
//
// All that it stores can be computed again from events. A fold is the sum of an account's postings in one asset, up to
// one KSUID. A balance stores three folds: the head counts all postings, the seal only those that were settled, the
// base only those in closed segments. A posting is settled when it is older than the settle window, which is longer
// than a command may take. A segment is the stored fold of a closed stretch of postings. A summary counts an account's
// balances. A membership is the role of a user on an account.
//
// The table's stream only names the balances that changed. A Projector then refolds each: it reads the balance, adds
// the postings after its seal, and writes the balance on the condition that its version is unchanged. KSUIDs are
// created before the commit, on the clocks of many machines. So a posting may be late: it appears at or below the seal.
// Then the stretch that contains it is counted again. A Reader answers strong reads with the same fold.
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
		views: &Views{table: t, queries: table.Strong}, now: now, log: cmp.Or(log, slog.Default()),
		pause:  backoff.Sleep,
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

// Project applies a batch. It refolds each balance that the batch names once, and refreshes each target of a view. It
// skips all other records: the projector's own writes are in the stream, too. Applying a batch again is safe. Jobs of
// one account run one after another, because they share the account's summary.
//
// One failed job does not stop the others. Project returns the sequence number of the first record whose job failed,
// "" if none did; all records before it are done. If that is the batch's first record, it returns an error
// instead, so that the invocation fails and Lambda halves the batch. It stops a second before ctx's deadline.
// Unfinished work then counts as failed.
//
// A record that would fail on every retry does not count as failed, as it would block its shard for hours: it is logged
// as an error and counted in RecordsMalformed. Such records have a malformed key, or name a balance or a membership
// with an event that cannot be decoded. That projection stays stale until the event is repaired and a rebuild, or
// usually the next posting, updates it. An event of a newer version does fail: a deployment makes it readable.
//
// A record of an altered or deleted event is logged and counted, and changes nothing. So is one of an altered copy of
// an account's newest change.
func (p *Projector) Project(ctx context.Context, batch []Record) (failed string, err error) {
	ctx, cancel := untilReport(ctx)
	defer cancel()
	jobs := p.jobs(ctx, batch)
	p.run(ctx, jobs, func(Target, int, bool, error) {})
	p.logBatch(ctx, batch, jobs)
	return report(ctx, p.log, batch, jobs, "projection stopped", "projection failed", func(j *job) []any {
		return []any{"account", j.Account, "group", j.Group, "asset", j.Asset, "user", j.User, "hold", j.Hold}
	})
}

// Applied is called with the result of a batch for one target: the position in the batch of the target's first record,
// and whether its balance was behind. The calls may be concurrent.
type Applied func(t Target, first int, wasBehind bool, err error)

// Apply is Project with a result for each target in place of the first failed record.
func (p *Projector) Apply(ctx context.Context, batch []Record, done Applied) {
	p.run(ctx, p.jobs(ctx, batch), done)
}

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
