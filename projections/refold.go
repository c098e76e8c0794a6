package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// Refold counts every posting of marks in the balance of k, in as many saves as it takes. Marks are KSUIDs of postings
// that are committed, in any order, repeated or not, counted before or not. It may be broken off anywhere and done
// again, by several at once.
//
//   - Marks above the seal: the postings after the seal are counted to their end. The seal follows those that were settled
//     when the refold began to read, and closes a segment whenever it is StretchPostings ahead of the base.
//   - Marks at or below the seal: the stretch that each lies in is counted again. Late postings are added to the
//     segment, to base, seal and head; nothing above is read again.
//   - Segments and balance are written in one transaction, on the balance's version. After SegmentsMax segments the way
//     so far is saved; read forwards, the balance is then marked unfinished and what is shown stays as it was.
//   - When nothing new was found, nothing is written.
//   - They are read, unless the stored balance is the one that this projector wrote or read last: then it remembers which
//     are counted, and only those are read that the seal is to go past (see refold.postings).
//
// Errors: those of Views; table.ErrConflict when others kept coming first; ErrPostingsMissing; events.ErrOverflow. What
// was saved before an error stays.
func (p *Projector) Refold(ctx context.Context, k Key, marks []events.KSUID) error {
	all := make([]mark, len(marks))
	for i, id := range marks {
		all[i].id = id
	}
	return p.work(ctx, k, all, &work{})
}

// mark is a posting that a record told of.
type mark struct {
	id      events.KSUID
	figures *Figures // nil: not told
}

// work is Refold, and adds to w what it took.
func (p *Projector) work(ctx context.Context, k Key, marks []mark, w *work) error {
	marks = slices.Clone(marks)
	slices.SortFunc(marks, func(a, b mark) int {
		if c := strings.Compare(string(a.id), string(b.id)); c != 0 || (a.figures != nil) == (b.figures != nil) {
			return c
		}
		if a.figures != nil {
			return -1 // of two of one posting the first is kept
		}
		return 1
	})
	marks = slices.CompactFunc(marks, func(a, b mark) bool { return a.id == b.id })
	known := p.memory.take(k)
	return p.untilQuiet(ctx, func() error {
		begun := p.now()
		b, storeTime, err := p.views.Balance(ctx, k)
		if err != nil {
			return fmt.Errorf("read balance: %w", err)
		}
		reads := &measured{Views: p.views, work: w}
		r := refold{Projector: p, views: reads, stored: b, balance: b, settled: settledBefore(begun, storeTime, p.window)}
		w.remembered = known != nil && known.balance == b
		if w.remembered {
			r.known = known
		}
		known = nil // if this attempt fails, the next trusts nothing
		if err := r.count(ctx, marks); err != nil {
			if errors.Is(err, table.ErrConflict) {
				w.conflicts++
			}
			return err
		}
		p.memory.put(r.learned(reads.read))
		if w.written && len(marks) > 0 {
			w.lag = max(0, p.now().Sub(marks[len(marks)-1].id.Time()))
		}
		return nil
	})
}

// settledBefore returns the KSUID below which postings are settled for one who began to read at begun by its own clock
// and at storeTime by the store's. The earlier counts. A store that doesn't tell its time settles nothing.
func settledBefore(begun, storeTime time.Time, window time.Duration) events.KSUID {
	if storeTime.IsZero() {
		return ""
	}
	if storeTime.Before(begun) {
		begun = storeTime
	}
	return events.FirstKSUID(begun.Add(-window))
}

// refold is one attempt on one balance, from reading it to its last write.
type refold struct {
	*Projector
	views    Views
	stored   Balance      // as the table has it: as read, later as written by this attempt
	balance  Balance      // what it becomes
	segments []Segment    // to be written with it
	settled  events.KSUID // postings below are settled
	known    *remembered  // which postings stored counted when it was read; nil: not known
	told     []mark       // above the seal, and not known to be counted
	tail     *tail        // of balance; nil: the way to its end was not gone
}

func (r *refold) count(ctx context.Context, marks []mark) error {
	marks = r.known.without(marks)
	above, _ := slices.BinarySearchFunc(marks, r.balance.Seal.Through, func(m mark, seal events.KSUID) int {
		if m.id <= seal {
			return -1
		}
		return 1
	})
	if err := r.check(ctx, marks[:above]); err != nil {
		return err
	}
	if r.told = marks[above:]; len(r.told) == 0 && r.balance == r.stored && !r.stored.Unfinished {
		return nil
	}
	return r.readOn(ctx)
}

// check counts again each stretch that one of marks, ascending and none above the seal, lies in.
func (r *refold) check(ctx context.Context, marks []mark) error {
	var checked events.KSUID
	for _, mark := range marks {
		if mark.id <= checked {
			continue
		}
		counted, err := stretchOf(ctx, r.views, r.balance, mark.id)
		if err != nil {
			return err
		}
		again, first, err := recount(ctx, r.views, counted)
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
		if len(r.segments) == r.Projector.segments {
			// Corrections are whole by themselves: what is shown stays a sum of postings, each counted once.
			if err := r.save(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// correct adds to every fold over a stretch what its recount found more.
func (r *refold) correct(counted, again Segment, first events.KSUID) error {
	late, err := again.minus(counted.Fold)
	if err != nil {
		return err
	}
	if counted.Through <= r.balance.Base.Through {
		r.segments = append(r.segments, again)
	}
	r.balance, err = r.balance.corrected(counted.Through, late, first)
	return err
}

// corrected returns b with late, which a recount of the stretch that ends at through found, in every fold over that stretch. What an
// unfinished balance shows stays as it was until the end is read. Error: events.ErrOverflow.
func (b Balance) corrected(through events.KSUID, late Fold, first events.KSUID) (Balance, error) {
	var err error
	if through <= b.Base.Through {
		if b.Base, err = b.Base.plus(late); err != nil {
			return b, err
		}
	}
	if b.Seal, err = b.Seal.plus(late); err != nil {
		return b, err
	}
	if !b.Unfinished {
		if b.Head, err = b.Head.plus(late); err != nil {
			return b, err
		}
	}
	b.First = earlier(b.First, first)
	return b, nil
}

// readOn reads the postings after the seal to their end, and writes what became of the balance.
func (r *refold) readOn(ctx context.Context) error {
	if err := r.forward(ctx, r.save); err != nil {
		return err
	}
	if r.balance.Head == r.stored.Head && len(r.segments) == 0 && !r.stored.Unfinished {
		return nil // that the seal alone could follow is not worth a write
	}
	return r.save(ctx)
}

// forward brings the postings after the seal to their end into the balance, and saves the way when there are as many segments
// to write as one change takes.
func (r *refold) forward(ctx context.Context, save func(context.Context) error) error {
	b := &r.balance
	f := b.Seal
	r.tail = &tail{after: f.Through}
	for p, err := range r.postings(ctx) {
		if err != nil {
			return err
		}
		if f, err = f.Add(p); err != nil {
			return fmt.Errorf("fold posting %s: %w", p.ID, err)
		}
		b.First = earlier(b.First, p.ID)
		r.tail.add(p, b.Seal.Through)
		if p.ID >= r.settled {
			continue
		}
		b.Seal = f
		if b.Seal.Count-b.Base.Count < r.stretch {
			continue
		}
		closed, err := b.Seal.minus(b.Base)
		if err != nil {
			return err
		}
		r.segments = append(r.segments, Segment{Key: b.Key, After: b.Base.Through, Fold: closed})
		b.Base = b.Seal
		if len(r.segments) == r.Projector.segments {
			b.Unfinished = true
			if err := save(ctx); err != nil {
				return err
			}
		}
	}
	b.Head, b.Unfinished = f, false
	return nil
}

// save writes the balance and the segments so far, with the summary if what is shown asks for it.
func (r *refold) save(ctx context.Context) error {
	summary, err := summarize(ctx, r.views, r.stored, r.balance)
	if err != nil {
		return err
	}
	if err := r.views.Write(ctx, Change{Balance: r.balance, Segments: r.segments, Summary: summary}); err != nil {
		return fmt.Errorf("write balance: %w", err)
	}
	r.balance.Version++
	r.stored, r.segments = r.balance, nil
	return nil
}
