// Package projections computes balances and account summaries from postings, and memberships from grants. It lists
// holds, transactions, the accounts of groups, and all that happened: the journal. It also reads what it stores.
//
// Everything that it stores can be computed again from events. A fold is the sum of an account's postings in one
// asset, up to one KSUID. A balance stores three folds, each including the one before: base, seal and head. A segment
// is the stored fold of a closed stretch of postings. A summary counts an account's balances. A membership is the role
// of a user in an account.
//
// The table's stream only names the balances that changed. A Projector then refolds each: it reads the balance, adds
// the postings after its seal, and writes the balance on the condition that its version is unchanged. KSUIDs are
// created before the commit, on the clocks of many machines. A posting may therefore appear at or below the seal. Then
// the stretch that contains it is added up again. A Reader answers strong reads with the same fold.
package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"ledger.example/events"
)

// ErrOrder is returned for a posting that is not after the fold it was to be added to: it may be counted already.
var ErrOrder = errors.New("posting is not after the fold")

// Fold is the sum of the postings of one pair up to and including Through. The zero Fold is that of no postings.
type Fold struct {
	Through     events.KSUID
	Credits     events.Amount // sum of the positive quantities, at most 38 digits
	Debits      events.Amount // sum of the negative quantities' magnitudes
	Expenditure events.Amount // sum of the signed costs
	Count       int64         // number of postings

	// Holds is how many of the postings place or end a hold. It only grows, so that an item that counts holds never
	// turns into one that older code reads: its type is in an index, and each turn would write to that.
	Holds int64
	// What is pending is that of open holds: of a stretch that has the end of a hold without its placing it is below
	// zero.
	PendingDebits  events.Amount
	PendingCredits events.Amount
	Returned       events.Amount // what ended holds gave back of their debits, ever: it only grows
}

// Posting is what a fold needs of a posting.
type Posting struct {
	ID events.KSUID
	events.Figures
}

// Funds is all that was ever received, by credits or from ended holds. What was ever spent or held is at most that
// much above it that the account's limit allows.
func (f Fold) Funds() (events.Amount, error) { return f.Credits.Add(f.Returned) }

// Spent is all that was ever spent or held: what the account's guard says once all commands are done.
func (f Fold) Spent() (events.Amount, error) {
	held, err := f.PendingDebits.Add(f.Returned)
	if err != nil {
		return events.Amount{}, err
	}
	return f.Debits.Add(held)
}

// WithHolds reports whether f counts any posting of a hold.
func (f Fold) WithHolds() bool { return f.Holds != 0 }

// Quantity is credits less debits.
func (f Fold) Quantity() events.Amount {
	// Neither is negative, so their difference has no more digits than the longer.
	quantity, _ := f.Credits.Sub(f.Debits)
	return quantity
}

// Add returns f with p counted. Only here a posting becomes part of a sum. Errors: events.ErrOverflow; ErrOrder when
// p is not after f.Through.
func (f Fold) Add(p Posting) (Fold, error) {
	if p.ID <= f.Through {
		return Fold{}, ErrOrder
	}
	var err error
	if p.Quantity.Sign() < 0 {
		f.Debits, err = f.Debits.Sub(p.Quantity)
	} else {
		f.Credits, err = f.Credits.Add(p.Quantity)
	}
	if err != nil {
		return Fold{}, err
	}
	if f.Expenditure, err = f.Expenditure.Add(p.Cost); err != nil {
		return Fold{}, err
	}
	if p.Phase != "" {
		if f, err = f.addPending(p); err != nil {
			return Fold{}, err
		}
	}
	if f.Count == math.MaxInt64 {
		return Fold{}, events.ErrOverflow
	}
	f.Through = p.ID
	f.Count++
	return f, nil
}

// addPending counts what a posting of a hold does to the pending amounts.
func (f Fold) addPending(p Posting) (Fold, error) {
	f.Holds++ // at most Count
	isDebit := p.Pending.Sign() < 0
	if p.Phase.Ends() {
		isDebit = p.Pending.Sign() > 0
	}
	var err error
	if !isDebit {
		f.PendingCredits, err = f.PendingCredits.Add(p.Pending)
		return f, err
	}
	if f.PendingDebits, err = f.PendingDebits.Sub(p.Pending); err != nil || p.Phase == events.PhasePlaced {
		return f, err
	}
	returned, err := p.Pending.Add(p.Quantity) // what was held less what was spent of it
	if err != nil {
		return f, err
	}
	f.Returned, err = f.Returned.Add(returned)
	return f, err
}

// Plus returns the sum of f and d, with f's Through. Error: events.ErrOverflow.
func (f Fold) Plus(d Fold) (Fold, error) {
	credits, err1 := f.Credits.Add(d.Credits)
	debits, err2 := f.Debits.Add(d.Debits)
	expenditure, err3 := f.Expenditure.Add(d.Expenditure)
	pendingDebits, err4 := f.PendingDebits.Add(d.PendingDebits)
	pendingCredits, err5 := f.PendingCredits.Add(d.PendingCredits)
	returned, err6 := f.Returned.Add(d.Returned)
	sum := Fold{
		Through: f.Through, Credits: credits, Debits: debits, Expenditure: expenditure, Count: f.Count + d.Count,
		Holds: f.Holds + d.Holds, PendingDebits: pendingDebits, PendingCredits: pendingCredits, Returned: returned,
	}
	if d.Count > 0 && sum.Count < f.Count || d.Count < 0 && sum.Count > f.Count {
		return sum, events.ErrOverflow
	}
	return sum, errors.Join(err1, err2, err3, err4, err5, err6)
}

// Minus returns what f counts beyond g, with f's Through. Error: events.ErrOverflow.
func (f Fold) Minus(g Fold) (Fold, error) {
	return f.Plus(Fold{
		Credits: g.Credits.Neg(), Debits: g.Debits.Neg(), Expenditure: g.Expenditure.Neg(), Count: -g.Count,
		Holds: -g.Holds, PendingDebits: g.PendingDebits.Neg(), PendingCredits: g.PendingCredits.Neg(),
		Returned: g.Returned.Neg(),
	})
}

// Earlier returns the earlier of two KSUIDs; either may be missing, which is "".
func Earlier(a, b events.KSUID) events.KSUID {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// ReadPostings reads the postings of k after `after` and through `through` ("": to the end) in order. It holds one
// page of them at most. The first error ends it.
func ReadPostings(
	ctx context.Context, views PostingReader, k events.Pair, after, through events.KSUID,
) iter.Seq2[Posting, error] {
	return func(yield func(Posting, error) bool) {
		for {
			page, more, err := views.Postings(ctx, k, after, through)
			if err != nil {
				yield(Posting{}, fmt.Errorf("read postings: %w", err))
				return
			}
			for _, p := range page {
				if !yield(p, nil) {
					return
				}
			}
			if !more {
				return
			}
			if len(page) > 0 {
				after = page[len(page)-1].ID
			}
		}
	}
}

// FoldOn returns f with the postings of k counted that follow it, through `through` ("": to the end), and the first
// of them, "" if there are none. Errors: those of views and of Add.
func FoldOn(ctx context.Context, views PostingReader, k events.Pair, f Fold, through events.KSUID) (
	sum Fold, first events.KSUID, err error,
) {
	for p, err := range ReadPostings(ctx, views, k, f.Through, through) {
		if err != nil {
			return Fold{}, "", err
		}
		if f, err = f.Add(p); err != nil {
			return Fold{}, "", fmt.Errorf("fold posting %s: %w", p.ID, err)
		}
		if first == "" {
			first = p.ID
		}
	}
	return f, first, nil
}
