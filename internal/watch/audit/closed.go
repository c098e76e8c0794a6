package audit

import (
	"fmt"
	"math/big"
	"time"

	"ledger.example/internal/table"
)

const (
	// closingSkew bounds the difference between the times of a posting and of a change, when their order is not the
	// order of the commits: a command takes up to 8 s, and each of two clocks may be wrong by 5 s.
	closingSkew = 20 * time.Second
	// lateCommit is how long a write may be under way after its command ended without an answer. The store accepts no
	// request that was signed more than 5 minutes ago.
	lateCommit = 5 * time.Minute
	// accountCacheAge is how long an unlimited account may be debited after it was closed: such debits use an account
	// from a cache.
	accountCacheAge = time.Minute
)

// closing checks one asset of a closed account: the account was empty when it was closed, and was not debited later,
// neither by a quantity nor by a cost alone.
// Credits that arrive while the account is being closed, or later, stay on it, and a reversal may take them back. The
// methods of a nil closing do nothing.
//
// A write that nobody acknowledged may be committed long after its KSUIDs were minted, and nothing keeps a credit, or a
// debit of an unlimited account, out of an account that was closed meanwhile. The guards of a limited account keep its
// debits out.
type closing struct {
	account account
	asset   string
	// Credits, and debits, from then on may have been committed after the account was closed.
	creditsFrom, debitsFrom time.Time
	to                      time.Time // later debits were begun after the account was closed
	costsTo                 time.Time // likewise, of costs alone

	quantity   big.Int
	credited   big.Int // credits at creditsFrom or later
	takenBack  big.Int // reversals at debitsFrom or later; of an unlimited account all debits
	debit      big.Int // pending debits placed before debitsFrom and not ended until to
	credit     big.Int // pending credits placed before creditsFrom and not ended until to
	late       int     // number of debits after to, and of costs alone after costsTo
	lateKSUID  string  // of the first one
	lateAmount string
}

// closingOf returns nil if the account is not closed or not known.
func closingOf(acct account, asset string) *closing {
	if acct.closedAt.IsZero() || !acct.known {
		return nil
	}
	c := &closing{account: acct, asset: asset,
		debitsFrom: acct.closedAt.Add(-closingSkew), to: acct.closedAt.Add(closingSkew)}
	c.creditsFrom = c.debitsFrom.Add(-lateCommit)
	if acct.unlimited {
		c.debitsFrom, c.to = c.creditsFrom, c.to.Add(accountCacheAge)
	}
	c.costsTo = c.to.Add(accountCacheAge)
	return c
}

// count adds a posting that was recorded at at. An old backdated one may have been committed at any time: it counts as
// one around the close.
func (c *closing) count(p posting, at time.Time) {
	if c == nil {
		return
	}
	if p.Backdated && p.RecordedAt.IsZero() {
		at = c.account.closedAt
	}
	c.quantity.Add(&c.quantity, p.Quantity)
	isAfter := at.After(c.to)
	switch isCredit := p.Quantity.Sign() > 0; {
	case isCredit && !at.Before(c.creditsFrom):
		c.credited.Add(&c.credited, p.Quantity)
	case isCredit, at.Before(c.debitsFrom):
	case p.Kind == reversal, c.account.unlimited:
		c.takenBack.Sub(&c.takenBack, p.Quantity)
	}
	moved := p.Quantity
	if p.Phase != "" {
		moved = p.Pending
		sum, from := &c.credit, c.creditsFrom
		if p.holdsDebit() {
			sum, from = &c.debit, c.debitsFrom
		}
		if p.Phase == placed && at.Before(from) || p.endsHold() && !isAfter {
			sum.Add(sum, p.Pending)
		}
	}
	amount := ""
	switch {
	case p.Kind == reversal, p.endsHold():
	case moved.Sign() < 0 && isAfter:
		amount = moved.String()
	case moved.Sign() == 0 && p.Cost.Sign() < 0 && at.After(c.costsTo):
		amount = "cost " + p.Cost.String()
	}
	if amount == "" {
		return
	}
	if c.late++; c.late == 1 {
		c.lateKSUID, c.lateAmount = p.ID, amount
	}
}

// judge returns the findings. It must follow the last count.
func (c *closing) judge() (found []Finding) {
	if c == nil {
		return nil
	}
	since := "closed at " + c.account.closedAt.Format(instantForm)
	if c.late > 0 {
		found = append(found, Finding{DebitAfterClose, table.Posting.Key(c.account.ID, c.asset, c.lateKSUID), "",
			fmt.Sprintf("%s; late debits: %d", c.lateAmount, c.late), "no debit: the account was " + since})
		return found
	}
	lowest := new(big.Int).Neg(&c.takenBack)
	isEmpty := c.quantity.Cmp(lowest) >= 0 && c.quantity.Cmp(&c.credited) <= 0
	if isEmpty && c.debit.Sign() >= 0 && c.credit.Sign() <= 0 {
		return nil
	}
	is := fmt.Sprintf("quantity %s (credited since %s, taken back since %s), pending debits %s, pending credits %s",
		&c.quantity, &c.credited, &c.takenBack, &c.debit, &c.credit)
	return []Finding{{ClosedNotEmpty, table.Balance.Key(c.account.ID, c.asset), "", is,
		"nothing from before: the account was " + since}}
}
