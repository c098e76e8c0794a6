package projections

import (
	"fmt"
	"iter"
	"time"

	"ledger.example/events"
)

// Balance is the projection of one pair: three nested folds. A zero Balance with a pair is one that was never written.
type Balance struct {
	events.Pair
	Version    int64        // compared by every write; 0: never written
	Base       Fold         // all closed segments
	Seal       Fold         // everything that was settled when a refold began to read
	Head       Fold         // everything counted: what reads show
	First      events.KSUID // the earliest posting counted
	Unfinished bool         // saved halfway: the rest must be read; until then Seal may be ahead of Head
}

// AsOf returns the newest posting that is shown, "" when there is none.
func (b Balance) AsOf() events.KSUID { return b.Head.Through }

// SettleAt moves the seal of b to f, a fold of b's postings. If the seal is then at least `every` postings ahead of
// the base, the stretch between them is returned as a segment, and the base moves to the seal. Error:
// events.ErrOverflow.
func (b *Balance) SettleAt(f Fold, every int64) (closed Segment, ok bool, err error) {
	b.Seal = f
	if f.Count-b.Base.Count < every {
		return Segment{}, false, nil
	}
	open, err := f.Minus(b.Base)
	if err != nil {
		return Segment{}, false, err
	}
	closed = Segment{Pair: b.Pair, After: b.Base.Through, Fold: open}
	b.Base = f
	return closed, true, nil
}

// CountOn counts the postings that follow the seal, all of them and in order. The seal follows through those below
// settled. Each segment that this closes goes to closed, which may write b as it is then. Errors: those of postings,
// Add, SettleAt and closed.
func (b *Balance) CountOn(
	postings iter.Seq2[Posting, error], settled events.KSUID, every int64, closed func(Segment) error,
) error {
	f := b.Seal
	for p, err := range postings {
		if err != nil {
			return err
		}
		if f, err = f.Add(p); err != nil {
			return fmt.Errorf("fold posting %s: %w", p.ID, err)
		}
		b.First = Earlier(b.First, p.ID)
		if p.ID >= settled {
			continue
		}
		segment, ok, err := b.SettleAt(f, every)
		if err == nil && ok {
			err = closed(segment)
		}
		if err != nil {
			return err
		}
	}
	b.Head, b.Unfinished = f, false
	return nil
}

// Corrected returns b with late in every fold that covers the stretch through `through`: what a recount of the
// stretch found in addition. first is the stretch's first posting. What an unfinished balance shows does not change.
// Error: events.ErrOverflow.
func (b Balance) Corrected(through events.KSUID, late Fold, first events.KSUID) (Balance, error) {
	var err error
	if through <= b.Base.Through {
		if b.Base, err = b.Base.Plus(late); err != nil {
			return b, err
		}
	}
	if b.Seal, err = b.Seal.Plus(late); err != nil {
		return b, err
	}
	if !b.Unfinished {
		if b.Head, err = b.Head.Plus(late); err != nil {
			return b, err
		}
	}
	b.First = Earlier(b.First, first)
	return b, nil
}

// FirstVersion returns the version from which an item without one counts on, given the store's clock; 0 if the clock
// is unknown. A write on a version of before the item was lost may still arrive, and must fail. So the first version
// is far above what counting from 1 could have reached.
func FirstVersion(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}
