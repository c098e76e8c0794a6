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
	"ledger.example/internal/table"
)

// A refold of a cached balance does not move the seal for each settled posting: each move costs a read of the table.
// It moves the seal when more than unsealedMax settled postings lie above it, or when the oldest of them has been
// settled for unsealedFor. Strong reads must read these postings as well, about 16 KB at most.
const (
	unsealedMax = 64
	unsealedFor = time.Minute
)

// dirtyPosting is a posting that a stream record names.
type dirtyPosting struct {
	id      events.KSUID
	figures *events.Figures // nil: the record has none
	written time.Time       // see Record
}

// lag returns the age of the posting at now. For a posting with an effective date, the time in its KSUID is long before
// the time of the write, so the latter is used.
func (d dirtyPosting) lag(now time.Time) time.Duration {
	since := d.id.Time()
	if d.written.Sub(since) > table.SettleWindow {
		since = d.written
	}
	return max(0, now.Sub(since))
}

// Refold counts the committed postings with these KSUIDs in the balance of k. It also counts every other posting that
// it reads on the way. Refold is idempotent: ids may be in any order, may repeat, and may be counted already. It may be
// interrupted and retried, and several refolds of one balance may run concurrently.
//
//   - Postings above the seal: Refold counts everything after the seal. It then moves the seal to the newest posting
//     that was settled when it began to read. It closes a segment whenever the seal is StretchPostings ahead of the
//     base.
//   - Postings at or below the seal: Refold counts the stretch that contains the posting again. It adds late postings
//     to the segment, and to base, seal and head. It reads nothing above the stretch.
//   - Segments and balance are written in one transaction, conditional on the balance's version. After SegmentsMax
//     segments Refold saves its progress. If it was counting forward, the saved balance is marked unfinished and its
//     head does not change.
//   - A balance that counts everything already is not written.
//   - A balance without an item gets its version from FirstVersion. If the balance has segments, its item was lost, and
//     Refold rebuilds it.
//   - For a cached balance, Refold only counts the postings that the seal passes. It reads them if there are more than
//     it knows.
//
// Errors: those of Views; table.ErrConflict after too many conflicts; ErrPostingsMissing;
// events.ErrOverflow. Progress saved before an error stays.
func (p *Projector) Refold(ctx context.Context, k events.Pair, ids []events.KSUID) error {
	dirty := make([]dirtyPosting, len(ids))
	for i, id := range ids {
		dirty[i].id = id
	}
	return p.refold(ctx, k, dirty, &effort{})
}

// refold is Refold. It adds its costs to e.
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
		r.views = p.views.Watched(r.saw)
		r.entry, e.cached = p.cache.Lookup(b)
		if lost, err = p.isLost(ctx, b); lost || err != nil {
			return err
		}
		if b.Version == 0 {
			b.Version, r.revision = FirstVersion(storeTime), new(Revision)
		}
		r.stored, r.balance = b, b
		if err := r.count(ctx, dirty); err != nil {
			if errors.Is(err, table.ErrConflict) {
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
		p.log.WarnContext(ctx, "balance was lost, rebuilding it", "account", k.Account, "asset", k.Asset)
		e.rebuilt = true
		return p.repairer.RebuildLost(ctx, k)
	}
	return err
}

// sorted returns dirty in order and without duplicates. It prefers records with figures.
func sorted(dirty []dirtyPosting) []dirtyPosting {
	missing := func(d dirtyPosting) int {
		if d.figures == nil {
			return 1
		}
		return 0
	}
	dirty = slices.Clone(dirty)
	slices.SortFunc(dirty, func(a, b dirtyPosting) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(missing(a), missing(b)))
	})
	return slices.CompactFunc(dirty, func(a, b dirtyPosting) bool { return a.id == b.id })
}

// isLost reports whether the item of b was lost. It makes one query, and only for a balance that counts nothing yet or
// is unfinished.
func (p *Projector) isLost(ctx context.Context, b Balance) (bool, error) {
	if p.repairer == nil || b.Seal.Count+b.Head.Count > 0 && !b.Unfinished {
		return false, nil
	}
	return p.repairer.IsLost(ctx, b)
}

// refold is one attempt at refolding one balance, from its first read to its last write.
type refold struct {
	projector *Projector
	views     *Views // watched
	effort    *effort
	stored    Balance        // as stored: first as read, later as this attempt wrote it
	balance   Balance        // the new balance
	segments  []Segment      // to be written with balance
	revision  *Revision      // the next write compares it instead of the version; nil: it compares the version
	settled   events.KSUID   // postings below it are settled
	entry     *cacheEntry    // the cached postings of stored
	dirty     []dirtyPosting // above the seal, and not known to be counted
	tail      *tail          // postings that were read and that balance counts above its seal; nil: none was read
	read      []events.KSUID // the first postings that were read, for the cache
}

// saw records a page of postings that was read.
func (r *refold) saw(page []Posting) {
	r.effort.postings += int64(len(page))
	for _, p := range page[:min(len(page), cachedCountedMax-len(r.read))] {
		r.read = append(r.read, p.ID)
	}
}

// count counts dirty, which is sorted, and writes the new balance.
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

// check recounts each stretch that contains one of dirty. dirty is sorted, and none of it is above the seal.
func (r *refold) check(ctx context.Context, dirty []dirtyPosting) error {
	var checked events.KSUID
	for _, d := range dirty {
		if d.id <= checked {
			continue
		}
		counted, err := r.views.stretchOf(ctx, r.balance, d.id)
		if err != nil {
			return err
		}
		again, first, err := r.views.recount(ctx, counted)
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
			// Every correction so far is complete, so the head is a valid sum: it need not be marked unfinished.
			if err := r.save(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// correct adds the late postings of a stretch, the difference of again and counted, to every fold that covers it.
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

// forward counts the postings after the seal. It saves whenever it has as many segments as fit one change.
func (r *refold) forward(ctx context.Context) error {
	b := &r.balance
	after, postings := r.postings(ctx) // may clear r.settled
	return b.CountOn(after, postings, r.settled, r.projector.tuning.Stretch, func(closed Segment) error {
		r.segments = append(r.segments, closed)
		if len(r.segments) < r.projector.tuning.Segments {
			return nil
		}
		b.Unfinished = true
		return r.save(ctx)
	})
}

// postings returns the postings to count, and the fold that they follow: the seal. If the cache has them all, none is
// read. If then the seal stays, and all dirty postings follow the head, only these are counted, after the head.
//
// Strong reads rely on the seal, and the cache may lack a posting whose stream record has not arrived. So before the
// seal moves, the table's postings up to the settled ones are counted. Postings are only ever added. So if the cache
// has as many, it has the same ones. Otherwise all are read. If moving the seal is not worth a request yet, postings
// clears r.settled, and the seal stays.
func (r *refold) postings(ctx context.Context) (after Fold, _ iter.Seq2[Posting, error]) {
	b := &r.balance
	if !r.entry.Extend(r.dirty) {
		return b.Seal, r.readAll(ctx)
	}
	after, cached := b.Seal, r.entry.above
	if !r.worthSealing() {
		r.settled = ""
	}
	if r.settled == "" && !b.Unfinished && len(r.dirty) > 0 && r.dirty[0].id > b.Head.Through {
		after, cached = b.Head, cached[len(cached)-len(r.dirty):]
	}
	return after, func(yield func(Posting, error) bool) {
		if r.settled != "" {
			known, isLast := r.entry.find(r.settled)
			if isLast {
				known++
			}
			switch stored, err := r.views.CountPostings(ctx, b.Pair, b.Seal.Through, r.settled); {
			case err != nil:
				yield(Posting{}, fmt.Errorf("count postings: %w", err))
				return
			case stored < int64(known):
				err := fmt.Errorf("%w: %d of %d through %s", ErrPostingsMissing, stored, known, r.settled)
				yield(Posting{}, err)
				return
			case stored > int64(known):
				r.readAll(ctx)(yield)
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

// readAll reads the postings after the seal, and collects them in r.tail.
func (r *refold) readAll(ctx context.Context) iter.Seq2[Posting, error] {
	b := &r.balance
	r.tail = &tail{after: b.Seal.Through}
	all := r.views.Postings(ctx, b.Pair, b.Seal.Through, "")
	return func(yield func(Posting, error) bool) {
		for p, err := range all {
			if err == nil {
				r.tail.add(p, b.Seal.Through)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// worthSealing reports whether the cache has enough settled postings, or old enough ones, to move the seal. The seal
// must pass any backdated posting; it has passed those that are counted.
func (r *refold) worthSealing() bool {
	if slices.ContainsFunc(r.dirty, func(d dirtyPosting) bool { return d.figures.Backdated }) {
		return true
	}
	settled, _ := r.entry.find(r.settled)
	if settled == 0 {
		return false
	}
	return settled > r.projector.tuning.Unsealed || r.settled.Time().Sub(r.entry.above[0].ID.Time()) > unsealedFor
}

// CountedAssets is the maximum number of assets of an account whose balances are counted when one is created: about 40
// read units. It is also the maximum for which Repairer.CountSummary recomputes the summary. Each asset takes a few
// requests then, and all must finish within the time limit of a Lambda function.
const CountedAssets = 500

// mayBeCounted reports whether the stored summary may count a balance already that is to be created: its item may have
// been lost. The summary then counts more balances than are stored. It makes one request, none if the summary counts no
// balance, or more than CountedAssets. Of these accounts, a new balance is in doubt unless its first posting is the one
// that triggered this refold. A lost one counts twice there until a rebuild, and the doubt is logged.
func (r *refold) mayBeCounted(ctx context.Context, stored Summary) (bool, error) {
	isNew := r.stored.Head.Count == 0 && r.balance.Head.Count > 0
	switch {
	case !isNew || r.projector.repairer == nil || stored.Assets == 0:
		return false, nil
	case stored.Assets > CountedAssets:
		return len(r.dirty) == 0 || r.dirty[0].id != r.balance.First, nil
	}
	visible, err := r.views.countBalances(ctx, r.balance.Account)
	return visible != stored.Assets, err
}

// save writes the balance and the segments so far, and the summary if the balance changes it.
func (r *refold) save(ctx context.Context) error {
	change := Change{Balance: r.balance, Segments: r.segments, Revision: r.revision}
	if err := r.summarize(ctx, &change); err != nil {
		return err
	}
	if err := r.alarmLateCredit(ctx); err != nil {
		return err
	}
	if err := r.views.Write(ctx, change); err != nil {
		return fmt.Errorf("write balance: %w", err)
	}
	r.effort.written = true
	r.balance.Version++
	r.stored, r.segments, r.revision = r.balance, nil, nil
	return nil
}

// summarize adds the account's new summary to c, if it must be written.
func (r *refold) summarize(ctx context.Context, c *Change) error {
	before, after := r.stored.share(), r.balance.share()
	if before == after {
		return nil
	}
	stored, err := r.views.Summary(ctx, r.balance.Account)
	if err != nil {
		return fmt.Errorf("read summary: %w", err)
	}
	switch isCounted, err := r.mayBeCounted(ctx, stored); {
	case err != nil:
		return fmt.Errorf("count balances: %w", err)
	case isCounted:
		return r.projector.repairer.CountSummary(ctx, c)
	}
	s := stored.with(before, after)
	// If a count moves, the summary is written even if the result equals the stored one. Transactions become visible
	// item by item, so the summary that was read may be older than the balance. Then this write must fail.
	if s != stored || before.assets != after.assets || before.holdings != after.holdings {
		c.Summary = &s
	}
	return nil
}
