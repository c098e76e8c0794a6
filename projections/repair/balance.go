package repair

import (
	"context"
	"errors"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// Balance rebuilds the balance of k and its segments from the postings. The stored items may be wrong, lost, malformed,
// or count postings that do not exist. It deletes nothing. It may run concurrently with projectors, commands, strong
// reads and other rebuilds. It is idempotent and may be interrupted.
//
// It reads the balance and all its segments at one version, and counts all postings as the projector does, beginning
// with no base and no seal. It closes a segment at the end of each stored one, and compares complete folds, not only
// counts:
//
//   - If a segment is missing, the stretch of the next one becomes longer, and is split. A segment that late postings
//     have made long is kept.
//   - A surplus segment splits the stretch that contains it. A segment beyond the base moves the base. So each segment
//     begins where the previous one ends.
//   - A segment whose end is not settled, or is not a KSUID, is a Stray and ignored. With a base there, new postings
//     would lie below the seal, where strong reads do not see them.
//
// Every write is a transaction, conditional on the version that was read. If the segments to write fit one change, they
// are written together with base, seal, head and summary. If not, or if there are many beyond the stored seal (as of a
// lost balance), they are saved step by step, once the stored seal is passed. The seal then goes through the last
// posting counted, the head stays, and the balance is unfinished. The base is the end of the last segment written. If
// the rebuild ends while others are stored beyond it, the projector takes the balance for lost and rebuilds it.
//
// The head may go back. The seal does only if its stored end is no KSUID of a settled posting: strong reads leave out
// backdated postings above it. A new seal never hides a posting that EnsureVisible has reported visible. The seal
// covers only postings that were read after the balance, and the write fails if the balance's version has changed. If
// EnsureVisible found its posting above the seal, it raised the version. If it found the posting counted below the
// seal, that stretch is folded again, unless it ends at or below the base and its stored segment is unchanged.
//
// While a wrong count was stored, a projector or EnsureVisible may have taken a posting for counted that arrived after
// the rebuild read its stretch. So a balance that was wrong is rebuilt a second time, now with correct counts stored.
//
// The summary changes by the difference of the balance's share. Account recomputes it afterwards. Errors in the report:
// those of store.Table; store.ErrConflict after too many conflicts.
func (b *Rebuilder) Balance(ctx context.Context, k events.Pair) Report {
	r := &rebuild{
		Rebuilder: b, key: k, counted: make(map[events.KSUID]stretch),
		report: Report{Account: k.Account, Asset: k.Asset},
	}
	r.watched = b.views.Watched(r.saw)
	attempt := func() error {
		for {
			saves := r.saves
			if err := r.attempt(ctx); r.saves == saves || !store.NeedsReread(err) {
				return err
			} // an attempt that saved something made progress: it does not count
		}
	}
	r.report.Err = b.retry(ctx, attempt)
	if r.report.Err == nil && !b.dry && !allBehind(r.report.Differences) {
		r.report.Err = b.retry(ctx, attempt)
	}
	return r.report
}

// rebuild is the rebuild of one balance, over all its attempts.
type rebuild struct {
	*Rebuilder
	key     events.Pair
	watched *projections.Views // read the postings
	report  Report
	counted map[events.KSUID]stretch // by their ends, as last read
	saves   int

	// State of the current attempt:
	chain    chain                 // as read
	stored   projections.Balance   // first as read, later as written by this attempt
	last     events.KSUID          // the end of the last stored segment, "" if there is none
	balance  projections.Balance   // the new balance, as far as it is counted
	parts    []projections.Segment // closed in the current stretch
	segments []projections.Segment // to be written with balance
	bases    []projections.Fold    // the base at the end of each of segments
	pending  []Difference          // of the items to be written
	closed   int                   // segments closed beyond the stored seal since the last save
	revision *projections.Revision // the next write compares it instead of the version; nil: it compares the version
	settled  events.KSUID          // postings below it are settled
	horizon  events.KSUID          // postings at or above it are young, see lateFor
}

// saw counts postings that were read, and records their holds.
func (r *rebuild) saw(page []projections.Posting) {
	r.report.Postings += int64(len(page))
	for _, p := range page {
		if p.Hold != "" && r.holds != nil {
			r.holds[p.Hold] = true
		}
	}
}

// attempt reads the stored balance and segments, and writes those that differ from their postings.
func (r *rebuild) attempt(ctx context.Context) error {
	begun, saves := r.now(), r.saves
	c, err := r.readChain(ctx, r.key)
	if err != nil {
		return err
	}
	ends, strays := c.ends()
	r.chain, r.stored, r.report.Strays = c, c.balance.Value, strays
	if r.stored.Version == 0 {
		r.stored.Version = projections.FirstVersion(c.at)
	}
	if c.strayEnd(r.stored.Seal.Through) != "" {
		r.stored.Seal = projections.Fold{}
	}
	sealed := r.stored.Seal.Through
	r.balance = projections.Balance{Pair: r.key, Version: r.stored.Version}
	if base := r.stored.Base.Through; base > slices.Max(append(ends, "")) && c.strayEnd(base) == "" {
		ends = append(ends, base) // its segment is lost
	}
	r.last = slices.Max(append(ends, ""))
	r.segments, r.bases, r.pending, r.closed, r.revision = nil, nil, nil, 0, &c.balance.Revision
	r.settled = max(projections.SettledBefore(begun, c.at), sealed+"0") // what was settled for another clock is settled
	r.horizon = events.FirstKSUID(c.at.Add(-lateFor))
	for _, end := range ends {
		if err := r.countStretch(ctx, end); err != nil {
			return err
		}
	}
	base := r.balance.Base
	if base.Through < sealed {
		if err := r.countOn(ctx, sealed, r.settled, r.tuning.Stretch); err != nil {
			return err
		}
	}
	seal := r.balance.Seal
	if err := r.countOn(ctx, "", r.settled, r.tuning.Stretch); err != nil {
		return err
	}
	key, becomes := store.Balance.Key(r.key.Account, r.key.Asset), r.balance
	if c.balance.Exists && becomes.Head.Count == 0 {
		// Only a posting creates a balance.
		r.report.Strays = append(r.report.Strays, Stray{key,
			"the balance has no postings: it is set to zero and remains stored"})
	}
	if seal == c.balance.Value.Seal {
		becomes.Base, becomes.Seal = base, seal // moving only base and seal is not worth a write
	}
	if d := differenceOf(key, c.balance, becomes); len(d.Fields) > 0 || d.Fault != "" {
		d.CountsMore = c.balance.Value.Head.Count > becomes.Head.Count
		if d.Behind, err = r.isBalanceBehind(ctx, base, seal); err != nil {
			return err
		}
		r.pending = append(r.pending, d)
	}
	if len(r.pending) == 0 && r.saves == saves {
		return nil
	}
	behind := allBehind(r.pending)
	if err := r.save(ctx, r.balance); !behind || !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a concurrent refold counts the recent postings
}
