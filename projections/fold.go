// Package projections folds postings into balances, account summaries and memberships, and reads them.
//
// Postings are the only truth: everything here can be thrown away and refolded. The nouns: a posting moves a quantity
// of one asset into or out of one account; a fold is the sum of postings up to one KSUID; a balance holds three nested
// folds of one account's postings of one asset; a segment is the stored fold of a closed stretch of them; a summary
// counts an account's balances; a membership shows a user's newest grant on an account.
//
// The stream of the table says where to look. A refold reads the balance, folds the postings after its seal, which it reads or
// remembers, and writes the balance on the condition that its version is unchanged. KSUIDs are minted on other people's clocks before
// their commit, so a posting may turn up at or below the seal: then the stretch that it lies in is counted again. See
// Projector.Refold.
package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"ledger.example/events"
)

// ErrOrder is returned for a posting that is not after the fold it was to be added to: it may be counted already.
var ErrOrder = errors.New("posting is not after the fold")

// Key names one account's holding of one asset.
type Key struct{ Account, Asset string }

// Fold is the sum of the postings of one Key up to and including Through. The zero Fold is that of no postings.
type Fold struct {
	Through     events.KSUID
	Credits     events.Amount // sum of the positive quantities, at most 38 digits
	Debits      events.Amount // sum of the negative quantities' magnitudes
	Expenditure events.Amount // sum of the signed costs
	Count       int64         // number of postings
}

// Posting is what a fold needs of a posting.
type Posting struct {
	ID             events.KSUID
	Quantity, Cost events.Amount
}

// Quantity is credits less debits.
func (f Fold) Quantity() events.Amount {
	// Neither is negative, so their difference has no more digits than the longer.
	quantity, _ := f.Credits.Sub(f.Debits)
	return quantity
}

// Add returns f with p counted. It is the one place where a posting becomes part of a sum. Errors: events.ErrOverflow;
// ErrOrder when p is not after f.Through.
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
	f.Through = p.ID
	f.Count++
	return f, nil
}

// plus returns f with what d counts, through where f goes. Error: events.ErrOverflow.
func (f Fold) plus(d Fold) (Fold, error) {
	credits, err1 := f.Credits.Add(d.Credits)
	debits, err2 := f.Debits.Add(d.Debits)
	expenditure, err3 := f.Expenditure.Add(d.Expenditure)
	sum := Fold{Through: f.Through, Credits: credits, Debits: debits, Expenditure: expenditure, Count: f.Count + d.Count}
	return sum, errors.Join(err1, err2, err3)
}

// minus returns what f counts beyond g, through where f goes. Error: events.ErrOverflow.
func (f Fold) minus(g Fold) (Fold, error) {
	return f.plus(Fold{Credits: g.Credits.Neg(), Debits: g.Debits.Neg(), Expenditure: g.Expenditure.Neg(), Count: -g.Count})
}

// earlier returns the earlier of two KSUIDs of which each may be missing.
func earlier(a, b events.KSUID) events.KSUID {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// postings reads the postings of k after `after` and through `through` (empty: to the end) in order, and holds one page
// of them at most. The first error ends it.
func postings(ctx context.Context, views Views, k Key, after, through events.KSUID) iter.Seq2[Posting, error] {
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

// foldOn returns f with the postings of k after it and through `through` (empty: to the end) counted, and the first of
// these, "" when there are none.
func foldOn(ctx context.Context, views Views, k Key, f Fold, through events.KSUID) (sum Fold, first events.KSUID, err error) {
	for p, err := range postings(ctx, views, k, f.Through, through) {
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
