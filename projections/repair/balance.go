package repair

import (
	"context"
	"errors"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Balance makes the balance of k and its segments what the postings make of them, whatever is stored and whoever wrote
// it: wrong, lost, unreadable, or counting what is not there. It deletes nothing. It may run beside projectors,
// commands, strong reads and other rebuilds; it may be interrupted anywhere and run again.
//
// It reads the balance and all its segments at one version, folds each stretch of postings between two stored ends, and
// compares the folds, not only the counts. A missing segment makes the stretch of the next one longer; it is split when
// it is twice as long as needed. One that grew by late postings is kept, however long. A segment that should not be
// there splits the stretch that it lies in; one beyond the base moves the base. So After and Through always chain. An
// end that is not settled, or no KSUID, is a Stray: under such a base, fresh postings would lie below the seal, where
// no strong read looks.
//
// Every write is a transaction on the version that was read. Up to a change's limit, wrong segments are written at once
// with base, seal, head and summary. Beyond that limit, and beyond the stored seal (of a lost balance, most of all),
// they are saved as a refold does that reads forwards: base and seal move to the last one written, the head stays, and
// the balance is unfinished.
//
// So the head may go back, and the seal too. The seal never excludes a posting that a strong read could rely on: it is
// made of postings that were read after the balance, on whose version the write is. A posting that a command makes
// visible then lies above the seal, and raises the version; or it lies in a stretch whose count the command found
// right, and that stretch is folded again unless it is still as it was when its postings were read.
//
// Because of a wrong count, a projector or command may take a posting for counted that came after the rebuild read its
// stretch, and write nothing. So what was wrong is read once more: by then the counts are right.
//
// The summary is moved by the difference of the balance's share. Account counts it anew afterwards. Errors in the
// report: those of Views; store.ErrConflict when others kept coming first.
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
			} // what was saved stays: this attempt is not counted
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
	counted map[events.KSUID]stretch // by where they end, as they were last read
	saves   int

	// Of the attempt under way:
	chain    chain                 // as read
	stored   projections.Balance   // as read, later as written by this attempt
	balance  projections.Balance   // what it becomes
	segments []projections.Segment // to be written with it
	mark     *projections.Revision // what the next write compares instead of the version; nil: the version
	settled  events.KSUID          // postings below are settled
	horizon  events.KSUID          // postings from here on may still be on their way to the projector
	pending  []Difference          // of what is to be written
	walked   int                   // stretches beyond the seal since the last save
}

// Postings implements projections.PostingReader, and counts what is read.
func (r *rebuild) Postings(
	ctx context.Context, k events.Pair, after, through events.KSUID,
) ([]projections.Posting, bool, error) {
	found, more, err := r.views.Postings(ctx, k, after, through)
	r.report.Postings += int64(len(found))
	return found, more, err
}

// attempt reads what is stored, and writes what differs from its postings.
func (r *rebuild) attempt(ctx context.Context) error {
	begun, saves := r.now(), r.saves
	c, err := readChain(ctx, r.views, r.key)
	if err != nil {
		return err
	}
	r.chain, r.stored = c, c.balance.Value
	if r.stored.Version == 0 {
		r.stored.Version = projections.FirstVersion(c.at)
	}
	r.balance, r.segments, r.pending, r.walked = r.stored, nil, nil, 0
	r.mark, r.report.Strays = &c.balance.Revision, nil
	r.settled, r.horizon = projections.SettledBefore(begun, c.at), events.FirstKSUID(c.at.Add(-lateFor))

	base, first, err := r.walk(ctx)
	if err != nil {
		return err
	}
	b, seal, open := &r.balance, base, events.KSUID("")
	if end := c.balance.Value.Seal.Through; end > base.Through && c.strayEnd(end) == "" {
		if seal, open, err = projections.FoldOn(ctx, r, r.key, base, end); err != nil {
			return err
		}
	}
	b.Base, b.Seal, b.First = base, base, first
	// With twice the stretch above the base, its segments were lost, and forward closes new ones.
	isSeal := seal == c.balance.Value.Seal
	if isSeal && seal.Count-base.Count < 2*r.tuning.Stretch {
		b.Seal, b.First = seal, projections.Earlier(first, open)
	}
	if err := r.forward(ctx); err != nil {
		return err
	}
	key := table.BalanceKey(r.key.Account, r.key.Asset)
	if c.balance.Exists && b.Head.Count == 0 {
		// A balance is only made for a posting that is there.
		r.report.Strays = append(r.report.Strays, Stray{key,
			"no posting belongs to this balance: it is made to show nothing, and stays"})
	}
	becomes := *b
	if isSeal {
		becomes.Base, becomes.Seal = base, seal // that they follow is no difference, and not worth a write
	}
	if d := differenceOf(key, c.balance, becomes); len(d.Fields) > 0 || d.Fault != "" {
		d.CountsMore = c.balance.Value.Head.Count > b.Head.Count
		if d.Behind, err = r.isBehind(ctx, base, seal); err != nil {
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
	return nil // somebody else counts what came moments ago
}

// forward counts the postings after the seal in the balance, and saves the way whenever one change can carry no more
// segments.
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
