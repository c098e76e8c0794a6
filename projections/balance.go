package projections

import (
	"fmt"
	"iter"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Balance is the projection of one pair: three nested folds. A zero Balance with a pair was never written.
type Balance struct {
	events.Pair
	Version    int64        // compared by every write; 0: never written
	Base       Fold         // the sum of all closed segments
	Seal       Fold         // the postings that were settled when a refold began to read
	Head       Fold         // all counted postings: the balance that readers see
	First      events.KSUID // the earliest posting counted
	Unfinished bool         // saved before all postings were read; Seal may be ahead of Head
}

// AsOf returns the newest posting in the head, "" if there is none.
func (b Balance) AsOf() events.KSUID { return b.Head.Through }

// SettleAt moves the seal of b to f, a fold of b's postings. If the seal is then at least `every` postings ahead of
// the base, SettleAt returns the stretch between them as a segment, and moves the base to the seal. Error:
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

// CountOn counts postings, which must be all postings after the seal, in order. The seal moves past those below
// settled. Each segment that this closes is passed to closed, which may save b.
//
// A backdated posting is counted only together with moving the seal past it: strong reads leave out those above the
// seal. Errors: those of postings, Add, SettleAt and closed; store.ErrConflict if a backdated posting is not settled
// yet.
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
		switch {
		case p.ID < settled:
		case p.Backdated:
			return fmt.Errorf("backdated posting %s is not settled yet: %w", p.ID, store.ErrConflict)
		default:
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

// Corrected returns b with late added to every fold that covers the stretch ending at through. late is the fold of the
// stretch's late postings. first is the stretch's first posting. The head of an unfinished balance does not change.
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

// FirstVersion returns the initial version of an item, given the store's clock; 0 if the clock is unknown. If the item
// was lost, a write that compares one of its old versions may still be in flight, and must fail. So the initial version
// is far above any version that the lost item can have had.
func FirstVersion(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}
