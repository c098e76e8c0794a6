package repair

import (
	"context"
	"errors"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// Balance rebuilds the balance of k and its segments from the postings. The stored items may be wrong, lost, malformed,
// or count postings that do not exist. It deletes nothing. It may run concurrently with projectors, commands, strong
// reads and other rebuilds. It is idempotent and may be interrupted.
//
// It reads the balance and all its segments at one version, folds each stretch of postings between two stored ends, and
// compares complete folds, not only counts:
//
//   - If a segment is missing, the stretch of the next one becomes longer. A stretch of twice the normal length or more
//     is split. A segment that late postings have made long is kept.
//   - A surplus segment splits the stretch that contains it. A segment beyond the base moves the base. So each segment
//     begins where the previous one ends.
//   - A segment whose end is not settled, or is not a KSUID, is a Stray and ignored. With a base there, new postings
//     would lie below the seal, where strong reads do not see them.
//
// Every write is a transaction, conditional on the version that was read. If the wrong segments fit one change, they
// are written together with base, seal, head and summary. If not, or if there are many beyond the stored seal (as of a
// lost balance), they are saved step by step: the base moves to the last written segment, the head stays, and the
// balance is unfinished. The seal then goes through the end of the stored one, or through the base if that is later.
//
// The head may go back. The seal does only if its stored end is no KSUID of a settled posting: strong reads leave out
// backdated postings above it. A new seal never hides a posting that EnsureVisible has reported visible. The seal
// covers only postings that were read after the balance, and the write fails if the balance's version has changed. If
// EnsureVisible found its posting above the seal, it raised the version. If it found the posting counted in a stretch
// below the seal, that stretch is folded again unless its stored segment is unchanged.
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
	report  Report
	counted map[events.KSUID]stretch // by their ends, as last read
	saves   int

	// State of the current attempt:
	chain    chain                 // as read
	stored   projections.Balance   // first as read, later as written by this attempt
	balance  projections.Balance   // the new balance
	segments []projections.Segment // to be written with balance
	bases    []projections.Fold    // the sum of all segments through each of segments, as long as walk finds them
	seal     projections.Fold      // through the end of the stored seal; a write stores no earlier one
	revision *projections.Revision // the next write compares it instead of the version; nil: it compares the version
	settled  events.KSUID          // postings below it are settled
	horizon  events.KSUID          // postings at or above it are young, see lateFor
	pending  []Difference          // of the items to be written
	walked   int                   // stretches beyond the seal since the last save
}

// Postings implements projections.PostingReader. It counts the postings read, and records their holds.
func (r *rebuild) Postings(
	ctx context.Context, k events.Pair, after, through events.KSUID,
) ([]projections.Posting, bool, error) {
	found, more, err := r.views.Postings(ctx, k, after, through)
	r.report.Postings += int64(len(found))
	for _, p := range found {
		if p.Hold != "" && r.holds != nil {
			r.holds[p.Hold] = true
		}
	}
	return found, more, err
}

// attempt reads the stored balance and segments, and writes those that differ from their postings.
func (r *rebuild) attempt(ctx context.Context) error {
	begun, saves := r.now(), r.saves
	c, err := r.readChain(ctx, r.key)
	if err != nil {
		return err
	}
	r.chain, r.stored = c, c.balance.Value
	if r.stored.Version == 0 {
		r.stored.Version = projections.FirstVersion(c.at)
	}
	r.balance, r.segments, r.bases, r.pending, r.walked = r.stored, nil, nil, nil, 0
	r.revision, r.report.Strays, r.seal = &c.balance.Revision, nil, projections.Fold{}
	r.settled, r.horizon = projections.SettledBefore(begun, c.at), events.FirstKSUID(c.at.Add(-lateFor))
	if c.strayEnd(r.stored.Seal.Through) != "" {
		r.stored.Seal, r.balance.Seal = projections.Fold{}, projections.Fold{}
	}
	sealed := r.stored.Seal.Through
	r.settled = max(r.settled, sealed+"0") // what was settled for another clock is settled

	base, first, err := r.walk(ctx)
	if err != nil {
		return err
	}
	b, seal, open := &r.balance, base, events.KSUID("")
	if sealed > base.Through {
		if seal, open, err = projections.FoldOn(ctx, r, r.key, base, sealed); err != nil {
			return err
		}
	}
	if err := r.saveSteps(ctx, seal); err != nil {
		return err
	}
	b.Base, b.Seal, b.First = base, base, first
	// If two stretches or more lie between base and seal, segments were lost. Then forward closes new ones.
	if seal.Count-base.Count < 2*r.tuning.Stretch {
		b.Seal, b.First = seal, projections.Earlier(first, open)
	}
	if err := r.forward(ctx); err != nil {
		return err
	}
	key := store.Balance.Key(r.key.Account, r.key.Asset)
	if c.balance.Exists && b.Head.Count == 0 {
		// Only a posting creates a balance.
		r.report.Strays = append(r.report.Strays, Stray{key,
			"the balance has no postings: it is set to zero and remains stored"})
	}
	becomes := *b
	if seal == c.balance.Value.Seal {
		becomes.Base, becomes.Seal = base, seal // moving only base and seal is not worth a write
	}
	if d := differenceOf(key, c.balance, becomes); len(d.Fields) > 0 || d.Fault != "" {
		d.CountsMore = c.balance.Value.Head.Count > b.Head.Count
		if d.Behind, err = r.isBalanceBehind(ctx, base, seal); err != nil {
			return err
		}
		r.pending = append(r.pending, d)
	}
	if len(r.pending) == 0 && r.saves == saves {
		return nil
	}
	behind := allBehind(r.pending)
	if err := r.save(ctx); !behind || !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a concurrent refold counts the recent postings
}

// forward counts the postings after the seal. It saves whenever it has as many segments as fit one change.
func (r *rebuild) forward(ctx context.Context) error {
	postings := projections.ReadPostings(ctx, r, r.key, r.balance.Seal.Through, "")
	return r.balance.CountOn(postings, r.settled, r.tuning.Stretch, func(closed projections.Segment) error {
		if r.segments = append(r.segments, closed); len(r.segments) < r.tuning.Segments {
			return nil
		}
		r.balance.Unfinished = true
		return r.save(ctx)
	})
}
