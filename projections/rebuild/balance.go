package rebuild

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
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
// those of table.Table; table.ErrConflict after too many conflicts.
func (b *Rebuilder) Balance(ctx context.Context, k events.Pair) Report {
	r := &rebuild{
		Rebuilder: b, key: k, report: Report{Target: projections.Target{Account: k.Account, Asset: k.Asset}},
		counted: make(map[events.KSUID]stretch), backdated: make(map[events.KSUID]projections.Posting),
	}
	r.watched = b.views.Watched(r.saw)
	attempt := func() error {
		for {
			saves := r.saves
			if err := r.attempt(ctx); r.saves == saves || !table.NeedsReread(err) {
				return err
			} // an attempt that saved something made progress: it does not count
		}
	}
	r.report.Err = b.Retry(ctx, attempt)
	if r.report.Err == nil && !b.dry && !AllBehind(r.report.Differences) {
		r.report.Err = b.Retry(ctx, attempt)
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

	// backdated has the backdated postings that were read while they were young. A balance gets at most some thousands
	// of them in lateFor.
	backdated map[events.KSUID]projections.Posting

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
	horizon  time.Time             // postings recorded at or after it are young, see lateFor
}

// saw counts postings that were read, and records their holds and those that are young although their KSUIDs are not.
func (r *rebuild) saw(page []projections.Posting) {
	r.report.Postings += int64(len(page))
	for _, p := range page {
		if p.Hold != "" && r.holds != nil {
			r.holds[p.Hold] = true
		}
		if r.isYoungBackdated(p) {
			r.backdated[p.ID] = p
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
	r.horizon = c.at.Add(-lateFor)
	for _, end := range ends {
		if err := r.countStretch(ctx, end); err != nil {
			return err
		}
	}
	base := r.balance.Base // late postings may make the stretch after it long: that is no difference
	if base.Through < sealed {
		if err := r.countOn(ctx, sealed, r.settled, r.tuning.Stretch); err != nil {
			return err
		}
	}
	seal := r.balance.Seal
	if err := r.countOn(ctx, "", r.settled, r.tuning.Stretch); err != nil {
		return err
	}
	key, becomes := table.Balance.Key(r.key.Account, r.key.Asset), r.balance
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
	behind := AllBehind(r.pending)
	if err := r.save(ctx, r.balance); !behind || !errors.Is(err, table.ErrConflict) {
		return err
	}
	return nil // a concurrent refold counts the recent postings
}

// stretch is what was counted between the ends of two stored segments.
type stretch struct {
	parts  []projections.Segment // one, or several if it was split
	first  events.KSUID          // the first posting of the balance
	stored projections.Segment   // the segment as it was stored before its postings were read
}

// countStretch counts the stretch between the base and end, which is the end of a stored segment or of a lost one.
// It reuses the result of an earlier attempt if the stored segment equals that result, or is the same as then: no
// posting was counted there since. The stretch must also end at or below the stored base: above it, EnsureVisible
// finds postings counted in the seal.
func (r *rebuild) countStretch(ctx context.Context, end events.KSUID) error {
	b, found, every := &r.balance, r.chain.segments[end], r.tuning.Stretch
	if found.Exists && found.Fault == nil && found.Value.After == b.Base.Through {
		// A segment with the correct After is never split, even if late postings have made it long. If a rebuild were
		// interrupted between the writes of two parts, the stored segment would overlap the first part.
		every = math.MaxInt64
	}
	if s := r.counted[end]; len(s.parts) > 0 && s.parts[0].After == b.Base.Through && end <= r.stored.Base.Through &&
		(found.Fault == nil && found.Value == s.parts[len(s.parts)-1] || found.Value == s.stored) {
		b.First = projections.Earlier(b.First, s.first)
		for _, part := range s.parts {
			f, err := b.Base.Plus(part.Fold)
			if err == nil {
				err = r.closeAt(ctx, f, part.Through)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	r.parts = nil
	if err := r.countOn(ctx, end, end+"0", every); err != nil {
		return err
	}
	if b.Base.Through < end {
		if err := r.closeAt(ctx, b.Seal, end); err != nil {
			return err
		}
	}
	r.counted[end] = stretch{r.parts, b.First, found.Value}
	return nil
}

// closeAt closes a segment at end. f has all postings through end.
func (r *rebuild) closeAt(ctx context.Context, f projections.Fold, end events.KSUID) error {
	f.Through = end
	s, _, err := r.balance.SettleAt(f, 0)
	if err != nil {
		return err
	}
	return r.close(ctx, s)
}

// countOn counts the postings after the seal through `through` ("": to the end), as the projector does.
func (r *rebuild) countOn(ctx context.Context, through, settled events.KSUID, every int64) error {
	b := &r.balance
	postings := r.watched.Postings(ctx, r.key, b.Seal.Through, through)
	return b.CountOn(b.Seal, postings, settled, every, func(s projections.Segment) error { return r.close(ctx, s) })
}

// close adds s, a closed segment, to those to write if the stored one differs. A segment after all stored ones is new,
// and no difference. Up to the stored seal, close saves nothing, so that no write moves the seal back. Beyond it, it
// saves when there is enough to write, or when many segments were right.
func (r *rebuild) close(ctx context.Context, s projections.Segment) (err error) {
	r.parts = append(r.parts, s)
	if stored := r.chain.segments[s.Through]; !stored.Exists || stored.Fault != nil || stored.Value != s {
		r.segments, r.bases = append(r.segments, s), append(r.bases, r.balance.Base)
		d := differenceOf(table.Segment.Key(s.Account, s.Asset, string(s.Through)), stored, s)
		if stored.Exists && stored.Fault == nil && stored.Value.After == s.After {
			d.CountsMore = stored.Value.Count > s.Count
			if d.Behind, err = r.isFoldLate(ctx, stored.Value.Fold, s.Fold, s.After); err != nil {
				return err
			}
		}
		if s.Through <= r.last {
			r.pending = append(r.pending, d)
		}
	}
	if s.Through <= r.stored.Seal.Through {
		return nil
	}
	if r.closed++; max(r.closed, len(r.segments)) < r.tuning.Segments {
		return nil
	}
	b := r.balance
	b.Head, b.Unfinished = r.stored.Head, true
	return r.save(ctx, b)
}

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
	if err != nil && !errors.Is(err, table.ErrUnknownOutcome) {
		return fmt.Errorf("write balance: %w", err)
	}
	var left []Difference
	for _, d := range r.pending {
		isWritten := func(s projections.Segment) bool {
			return d.Key == table.Segment.Key(s.Account, s.Asset, string(s.Through))
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
