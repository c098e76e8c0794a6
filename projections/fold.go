// Package projections computes balances and account summaries from postings, and memberships from grants. It lists
// holds, transactions and the accounts of groups, and writes the journal: a feed of all transactions and ends of holds.
// It also reads all of these.
//
// All that it stores can be computed again from events. A fold is the sum of an account's postings in one asset, up to
// one KSUID. A balance stores three folds: the head counts all postings, the seal only those that were settled, the
// base only those in closed segments. A posting is settled when it is older than the settle window, which is longer
// than a command may take. A segment is the stored fold of a closed stretch of postings. A summary counts an account's
// balances. A membership is the role of a user on an account.
//
// The table's stream only names the balances that changed. A Projector then refolds each: it reads the balance, adds
// the postings after its seal, and writes the balance on the condition that its version is unchanged. KSUIDs are
// created before the commit, on the clocks of many machines. So a posting may be late: it appears at or below the seal.
// Then the stretch that contains it is counted again. A Reader answers strong reads with the same fold.
package projections

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"ledger.example/events"
)

// ErrOrder is returned when a posting is added to a fold that ends at or after it: the fold may count it already.
var ErrOrder = errors.New("posting is not after the fold")

// Fold is the sum of the postings of one pair up to and including Through. The zero Fold is that of no postings.
type Fold struct {
	Through     events.KSUID
	Credits     events.Amount // sum of the positive quantities, at most 38 digits
	Debits      events.Amount // sum of the negative quantities' magnitudes
	Expenditure events.Amount // sum of the signed costs
	Count       int64         // number of postings

	// Holds is the number of postings that place or end a hold. It never decreases. An item with holds has another
	// type, and the type is in an index: each change of it would cost an index write.
	Holds int64
	// Pending amounts are those of open holds. In a stretch that has the end of a hold but not its placing, they are
	// negative.
	PendingDebits  events.Amount
	PendingCredits events.Amount
	Returned       events.Amount // total that ended holds gave back of their debits; never decreases
}

// Posting is the part of a posting that a fold counts.
type Posting struct {
	ID events.KSUID
	events.Figures
}

// Funds is the total ever received, by credits and from ended holds. Spent exceeds it by the account's limit at most.
func (f Fold) Funds() (events.Amount, error) { return f.Credits.Add(f.Returned) }

// Spent is the total ever spent or held. It equals the account's guard when no command is in flight.
func (f Fold) Spent() (events.Amount, error) {
	held, err := f.PendingDebits.Add(f.Returned)
	if err != nil {
		return events.Amount{}, err
	}
	return f.Debits.Add(held)
}

// Quantity is credits less debits.
func (f Fold) Quantity() events.Amount {
	// Neither is negative, so their difference has no more digits than the longer.
	quantity, _ := f.Credits.Sub(f.Debits)
	return quantity
}

// Add returns f with p counted. All sums of postings are made by Add. Errors: events.ErrOverflow; ErrOrder when p is
// not after f.Through.
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

// addPending counts the pending amounts of a posting of a hold.
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
	returned, err := p.Pending.Add(p.Quantity) // the part of the hold that was not spent
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

// Earlier returns the earlier of two KSUIDs. "" is a missing one and never the earlier.
func Earlier(a, b events.KSUID) events.KSUID {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// addAll adds postings to f, and also returns the first of them.
func (f Fold) addAll(postings iter.Seq2[Posting, error]) (sum Fold, first events.KSUID, err error) {
	for p, err := range postings {
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
