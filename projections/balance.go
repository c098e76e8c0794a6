package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
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

// CountOn counts postings, which must be all postings after f, in order. f is the seal or, if nothing is settled, the
// head. The seal moves past those below settled. Each segment that this closes is passed to closed, which may save b.
//
// A backdated posting is counted only together with moving the seal past it: strong reads leave out those above the
// seal. Errors: those of postings, Add, SettleAt and closed; table.ErrConflict if a backdated posting is not settled
// yet.
func (b *Balance) CountOn(
	f Fold, postings iter.Seq2[Posting, error], settled events.KSUID, every int64, closed func(Segment) error,
) error {
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
			return fmt.Errorf("backdated posting %s is not settled yet: %w", p.ID, table.ErrConflict)
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

// StretchPostings is how many settled postings close a segment. It is small: a stretch can be counted again by reading
// one small page.
const StretchPostings = 256

// ErrPostingsMissing is returned when fewer postings are found than were counted. Postings are never deleted, so the
// store or a projection is wrong. Nothing corrects this automatically.
var ErrPostingsMissing = errors.New("fewer postings than were counted")

// Segment is the stored fold of one closed stretch: the postings after After, up to and including Through.
type Segment struct {
	events.Pair
	After events.KSUID
	Fold
}

// stretchOf returns the stretch of b that contains id, which is at or below the seal. The stretch is a stored segment
// or lies between base and seal. Transactions become visible item by item. So a segment is trusted only if it contains
// id and was read in one transaction with the balance at b's version. Otherwise the error is table.ErrConflict, and the
// caller must read the balance again.
func (v *Views) stretchOf(ctx context.Context, b Balance, id events.KSUID) (Segment, error) {
	if id > b.Base.Through {
		open, err := b.Seal.Minus(b.Base)
		return Segment{Pair: b.Pair, After: b.Base.Through, Fold: open}, err
	}
	found, err := v.SegmentFrom(ctx, b.Pair, id)
	switch {
	case err != nil && !errors.Is(err, table.ErrAbsent):
		return Segment{}, fmt.Errorf("find segment: %w", err)
	case err != nil, id <= found.After || id > found.Through:
		return Segment{}, fmt.Errorf("the segment of %s is not visible: %w", id, table.ErrConflict)
	}
	now, segment, err := v.BalanceWithSegment(ctx, b.Pair, found.Through)
	switch {
	case errors.Is(err, table.ErrAbsent):
		return Segment{}, fmt.Errorf("segment through %s is not visible: %w", found.Through, table.ErrConflict)
	case err != nil:
		return Segment{}, fmt.Errorf("read balance and segment: %w", err)
	case now.Version != b.Version:
		return Segment{}, fmt.Errorf("balance changed to version %d: %w", now.Version, table.ErrConflict)
	}
	return segment, nil
}

// recount folds the postings of s again, and also returns the first of them. s must have been read before: then equal
// counts mean the same postings, and a higher count means that some arrived late. Error: ErrPostingsMissing.
func (v *Views) recount(ctx context.Context, s Segment) (again Segment, first events.KSUID, err error) {
	f, first, err := v.FoldOn(ctx, s.Pair, Fold{Through: s.After}, s.Through)
	if err != nil {
		return Segment{}, "", err
	}
	if f.Count < s.Count {
		return Segment{}, "", fmt.Errorf("%w: %d of %d after %q through %s",
			ErrPostingsMissing, f.Count, s.Count, s.After, s.Through)
	}
	f.Through = s.Through
	return Segment{Pair: s.Pair, After: s.After, Fold: f}, first, nil
}

// Summary is the projection of one account: the sum of its balances' contributions. A write that changes a balance's
// contribution changes the summary in the same transaction. A balance contributes once its head counts a posting. A
// balance that EnsureVisible created, to raise its version, does not contribute yet.
type Summary struct {
	Account  string
	Version  int64        // 0: never written
	Assets   int64        // number of balances with a posting in their head
	Holdings int64        // number of balances whose quantity is not zero
	First    events.KSUID // the earliest posting of these balances
}

// share is the contribution of one balance to its account's summary.
type share struct {
	assets, holdings int64
	first            events.KSUID
}

func (b Balance) share() share {
	if b.Head.Count == 0 {
		return share{}
	}
	s := share{assets: 1, first: b.First}
	if !b.Head.Quantity().IsZero() {
		s.holdings = 1
	}
	return s
}

// With returns s after one balance of the account changed from was to is.
func (s Summary) With(was, is Balance) Summary { return s.with(was.share(), is.share()) }

// with returns s with one balance's contribution changed from before to after. If the stored summary was lost, s counts
// too little. Counts stay at zero or above: a negative count would make the item malformed.
func (s Summary) with(before, after share) Summary {
	s.Assets = max(0, s.Assets+after.assets-before.assets)
	s.Holdings = max(0, s.Holdings+after.holdings-before.holdings)
	s.First = Earlier(s.First, after.first)
	return s
}

// SegmentsMax is the maximum number of segments in one Change. With the balance and the summary they stay below the 100
// actions of a DynamoDB transaction.
const SegmentsMax = 90

// Change is one write of a refold or a rebuild. Balance and Summary carry the version that was read. The write stores
// the next version.
type Change struct {
	Balance  Balance   // written if the stored version is unchanged
	Segments []Segment // at most SegmentsMax, all of the balance's pair; written unconditionally
	Summary  *Summary  // written if the stored version is unchanged; nil: not written

	// Revision and SummaryRevision, if not nil, are compared instead of the version: for items without a usable
	// version.
	Revision, SummaryRevision *Revision
}

// Write writes c atomically: in one plain conditional write if c is a balance alone, else in a transaction.
// ErrConflict: a version had changed, or another transaction was in flight.
func (v *Views) Write(ctx context.Context, c Change) error {
	if len(c.Segments) > SegmentsMax {
		return fmt.Errorf("%d segments in one change", len(c.Segments))
	}
	next := c.Balance
	next.Version++
	balance := BalanceForm.Replace(next, revisionRead(c.Balance.Version, c.Revision))
	if len(c.Segments) == 0 && c.Summary == nil {
		_, err := v.table.Write(ctx, balance)
		return err
	}
	writes := []table.Write{balance}
	for _, s := range c.Segments {
		// Segments need no condition: they are always written with their balance, whose version protects them.
		writes = append(writes, table.Write{Item: segmentItem(s)})
	}
	if c.Summary != nil {
		next := *c.Summary
		next.Version++
		writes = append(writes, SummaryForm.Replace(next, revisionRead(c.Summary.Version, c.SummaryRevision)))
	}
	_, err := v.table.Transact(ctx, writes)
	return err
}
