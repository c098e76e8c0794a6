// Package projections folds posting events into balances, account summaries and memberships, and reads them.
//
// Postings are the only truth: everything here can be thrown away and refolded.
package projections

import "ledger.example/events"

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

// Quantity is credits less debits.
func (f Fold) Quantity() events.Amount { panic("todo") }

// Posting is what a fold needs of a posting.
type Posting struct {
	ID             events.KSUID
	Quantity, Cost events.Amount
}

// Add returns f with p counted. Errors: events.ErrOverflow.
func (f Fold) Add(p Posting) (Fold, error) { panic("todo") }

// Balance is the projection of one Key: three nested folds. The zero Balance with a Key is one never written.
type Balance struct {
	Key
	Version    int64        // 0: never written; compared by every write
	Base       Fold         // all closed segments
	Seal       Fold         // through the newest posting that was settled when a refold began to read
	Head       Fold         // everything seen: what is shown
	First      events.KSUID // the earliest posting counted
	Unfinished bool         // saved on the way: must be read to the end
}

// Segment is the stored fold of one closed stretch: the postings after After, through Through.
type Segment struct {
	Key
	After events.KSUID
	Fold
}

// Summary is the projection of one account.
type Summary struct {
	Account  string
	Version  int64        // 0: never written
	Assets   int64        // number of balances
	Holdings int64        // number of balances whose quantity is not zero
	First    events.KSUID // the account's earliest posting counted
}

// Membership is the projection of one user's role on one account.
type Membership struct {
	Account, User string
	Role          events.Role // "" after a revocation
	Number        int64       // of the grant or revocation it shows
}
