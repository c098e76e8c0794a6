package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// With a cached balance a refold leaves settled postings above the seal until they are so many, or the first of them
// has been settled for so long. Then one request serves many of them. Strong reads read them too: at most some 16 KB.
const (
	unsealedMax = 64
	unsealedFor = time.Minute
)

// ErrFiguresDiffer is returned when the table has other figures for a posting than the stream showed: one of them was
// altered.
var ErrFiguresDiffer = errors.New("posting was counted with other figures")

// dirtyPosting is a posting that a stream record names.
type dirtyPosting struct {
	id      events.KSUID
	figures *events.Figures // nil: the record shows none
	written time.Time       // see Record
}

// lag returns how long the posting has been there at a time. One with an effective date was written long after the
// time in its KSUID.
func (d dirtyPosting) lag(now time.Time) time.Duration {
	since := d.id.Time()
	if d.written.Sub(since) > table.SettleWindow {
		since = d.written
	}
	return max(0, now.Sub(since))
}

// Refold counts the postings with these KSUIDs, and all others that it meets, in the balance of k. The postings are
// committed; they may come in any order, repeatedly, counted before or not. A refold may be broken off anywhere and
// done again, by several at once.
//
//   - Postings above the seal: everything after the seal is counted. The seal then moves to the newest posting that
//     was settled when the refold began to read. A segment is closed whenever the seal is StretchPostings ahead of
//     the base.
//   - Postings at or below the seal: the stretch that each lies in is counted again. Late postings are added to its
//     segment, to base, seal and head. Nothing above is read.
//   - Segments and balance are written in one transaction, on the balance's version. After SegmentsMax segments the
//     refold saves what it has. If it was reading forwards, the balance is marked unfinished, and what is shown does
//     not change.
//   - A balance that counts everything already is not written.
//   - A balance without an item gets a version from FirstVersion. If it has segments, its item was lost, and is
//     rebuilt.
//   - For a cached balance only those postings are read that the seal is to pass.
//
// Errors: those of the ports; store.ErrConflict when others kept writing first; ErrPostingsMissing; ErrFiguresDiffer;
// events.ErrOverflow. What was saved before an error stays.
func (p *Projector) Refold(ctx context.Context, k events.Pair, ids []events.KSUID) error {
	dirty := make([]dirtyPosting, len(ids))
	for i, id := range ids {
		dirty[i].id = id
	}
	return p.refold(ctx, k, dirty, &effort{})
}

// refold is Refold. It adds what it took to e.
func (p *Projector) refold(ctx context.Context, k events.Pair, dirty []dirtyPosting, e *effort) error {
	dirty = sorted(dirty)
	lost := false
	err := p.retryOnConflict(ctx, func() error {
		begun := p.now()
		b, storeTime, err := p.views.Balance(ctx, k)
		if err != nil {
			return fmt.Errorf("read balance: %w", err)
		}
		r := refold{projector: p, effort: e, settled: SettledBefore(begun, storeTime)}
		r.entry, e.cached = p.cache.Lookup(b)
		if lost, err = p.isLost(ctx, b); lost || err != nil {
			return err
		}
		if b.Version == 0 {
			b.Version, r.revision = FirstVersion(storeTime), new(RevisionAbsent)
		}
		r.stored, r.balance = b, b
		if err := r.count(ctx, dirty); err != nil {
			if errors.Is(err, store.ErrConflict) {
				e.conflicts++
			}
			return err
		}
		p.cache.Commit(r.entry, r.stored, r.tail, r.read)
		if e.written && len(dirty) > 0 {
			e.lag = dirty[len(dirty)-1].lag(p.now())
		}
		return nil
	})
	if err == nil && lost {
		p.log.WarnContext(ctx, "balance was lost: it is rebuilt", "account", k.Account, "asset", k.Asset)
		return p.repairer.RebuildLost(ctx, k)
	}
	return err
}

// sorted returns dirty in order, each posting once, with its figures if any record shows them.
func sorted(dirty []dirtyPosting) []dirtyPosting {
	missing := func(d dirtyPosting) int {
		if d.figures == nil {
			return 1
		}
		return 0
	}
	dirty = slices.SortedFunc(slices.Values(dirty), func(a, b dirtyPosting) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(missing(a), missing(b)))
	})
	return slices.CompactFunc(dirty, func(a, b dirtyPosting) bool { return a.id == b.id })
}

// isLost reports whether the item of b was lost. It costs a balance's first refold one query.
func (p *Projector) isLost(ctx context.Context, b Balance) (bool, error) {
	if p.repairer == nil || b.Seal.Count+b.Head.Count > 0 && !b.Unfinished {
		return false, nil
	}
	return p.repairer.IsLost(ctx, b)
}

// refold is one attempt on one balance, from reading it to its last write.
type refold struct {
	projector *Projector
	effort    *effort
	stored    Balance        // as the table has it: as read, later as this attempt wrote it
	balance   Balance        // what it becomes
	segments  []Segment      // to be written with it
	revision  *Revision      // what the next write compares instead of the version; nil: the version
	settled   events.KSUID   // postings below are settled
	entry     *cacheEntry    // what is known of stored
	dirty     []dirtyPosting // above the seal, and not known to be counted
	tail      *tail          // what balance counts above its seal; nil: not read
	read      []events.KSUID // the first postings that were read, for the cache
}

// Postings implements PostingReader. It keeps account of what is read.
func (r *refold) Postings(ctx context.Context, k events.Pair, after, through events.KSUID) ([]Posting, bool, error) {
	found, more, err := r.projector.views.Postings(ctx, k, after, through)
	r.effort.postings += int64(len(found))
	for _, p := range found[:min(len(found), cachedOthersMax-len(r.read))] {
		r.read = append(r.read, p.ID)
	}
	return found, more, err
}

// count counts dirty, sorted, and writes what the balance becomes.
func (r *refold) count(ctx context.Context, dirty []dirtyPosting) error {
	dirty = r.entry.uncounted(dirty)
	above := slices.IndexFunc(dirty, func(d dirtyPosting) bool { return d.id > r.balance.Seal.Through })
	if above < 0 {
		above = len(dirty)
	}
	if err := r.check(ctx, dirty[:above]); err != nil {
		return err
	}
	if r.dirty = dirty[above:]; len(r.dirty) == 0 && r.balance == r.stored && !r.stored.Unfinished {
		return nil
	}
	if err := r.forward(ctx); err != nil {
		return err
	}
	if r.balance.Head == r.stored.Head && len(r.segments) == 0 && !r.stored.Unfinished {
		return nil // moving the seal alone is not worth a write
	}
	return r.save(ctx)
}

// check counts again each stretch that has one of dirty, sorted and none above the seal.
func (r *refold) check(ctx context.Context, dirty []dirtyPosting) error {
	var checked events.KSUID
	for _, d := range dirty {
		if d.id <= checked {
			continue
		}
		counted, err := stretchOf(ctx, r.projector.views, r.balance, d.id)
		if err != nil {
			return err
		}
		again, first, err := recount(ctx, r, counted)
		if err != nil {
			return err
		}
		checked = counted.Through
		if again.Count == counted.Count {
			continue
		}
		if err := r.correct(counted, again, first); err != nil {
			return err
		}
		if len(r.segments) == r.projector.tuning.Segments {
			// With a correction complete, what is shown is a sum of postings, each counted once.
			if err := r.save(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// correct adds to every fold over a stretch what its recount found in addition.
func (r *refold) correct(counted, again Segment, first events.KSUID) error {
	late, err := again.Minus(counted.Fold)
	if err != nil {
		return err
	}
	if counted.Through <= r.balance.Base.Through {
		r.segments = append(r.segments, again)
	}
	r.balance, err = r.balance.Corrected(counted.Through, late, first)
	return err
}

// forward counts the postings after the seal, and saves whenever there are as many segments as one change takes.
func (r *refold) forward(ctx context.Context) error {
	b := &r.balance
	r.tail = &tail{after: b.Seal.Through}
	postings := r.postings(ctx) // may put off what is settled
	remembered := func(yield func(Posting, error) bool) {
		for p, err := range postings {
			if err == nil {
				r.tail.add(p, b.Seal.Through)
			}
			if !yield(p, err) {
				return
			}
		}
	}
	return b.CountOn(remembered, r.settled, r.projector.tuning.Stretch, func(closed Segment) error {
		r.segments = append(r.segments, closed)
		if len(r.segments) < r.projector.tuning.Segments {
			return nil
		}
		b.Unfinished = true
		return r.save(ctx)
	})
}

// postings returns the postings after the seal.
//
// If the cache has them all, only those are read from the table that the seal is to pass: strong reads rely on the
// seal, and the table alone knows what lies below it. The seal stays as long as that is not worth a request. A
// posting that no record named yet is then found when the seal passes it, and else when its record comes.
func (r *refold) postings(ctx context.Context) iter.Seq2[Posting, error] {
	b := r.balance
	if !r.entry.Extend(r.dirty) {
		return ReadPostings(ctx, r, b.Pair, b.Seal.Through, "")
	}
	cached := r.entry.above
	if !r.worthSealing() {
		r.settled = ""
	}
	return func(yield func(Posting, error) bool) {
		if r.settled != "" {
			for p, err := range ReadPostings(ctx, r, b.Pair, b.Seal.Through, r.settled) {
				if err == nil && len(cached) > 0 && cached[0].ID == p.ID {
					if cached[0] != p {
						err = fmt.Errorf("%w: %s of %s in %s", ErrFiguresDiffer, p.ID, b.Asset, b.Account)
					}
					cached = cached[1:]
				}
				if !yield(p, err) || err != nil {
					return
				}
			}
			if len(cached) > 0 && cached[0].ID <= r.settled {
				missing := cached[0].ID
				yield(Posting{}, fmt.Errorf("%w: %s of %s in %s", ErrPostingsMissing, missing, b.Asset, b.Account))
				return
			}
		}
		for _, p := range cached {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// worthSealing reports whether the settled postings in the cache are so many, or so old, that the seal is to pass
// them.
func (r *refold) worthSealing() bool {
	settled, _ := r.entry.find(r.settled)
	if settled == 0 {
		return false
	}
	return settled > r.projector.tuning.Unsealed || r.settled.Time().Sub(r.entry.above[0].ID.Time()) > unsealedFor
}

// mayBeLost reports whether the balance that is made may have been stored before. The first posting of a new balance
// is the one that made this refold run.
func (r *refold) mayBeLost() bool {
	made := r.stored.Head.Count == 0 && r.balance.Head.Count > 0
	return made && r.projector.repairer != nil && (len(r.dirty) == 0 || r.dirty[0].id != r.balance.First)
}

// save writes the balance and the segments so far, with the summary if what is shown changes it.
func (r *refold) save(ctx context.Context) error {
	change := Change{Balance: r.balance, Segments: r.segments, Revision: r.revision}
	var err error
	if r.mayBeLost() {
		err = r.projector.repairer.CountSummary(ctx, &change)
	} else {
		change.Summary, err = summarize(ctx, r.projector.views, r.stored, r.balance)
	}
	if err != nil {
		return err
	}
	if err := r.tellLateCredit(ctx); err != nil {
		return err
	}
	if err := r.projector.views.Write(ctx, change); err != nil {
		return fmt.Errorf("write balance: %w", err)
	}
	r.effort.written = true
	r.balance.Version++
	r.stored, r.segments, r.revision = r.balance, nil, nil
	return nil
}
