package audit

import (
	"fmt"
	"math/big"
	"time"

	"ledger.example/internal/table"
)

const (
	// closingAround is how far the time in a posting may be from that of its account's change, though one was committed
	// before the other: a command takes 8 s, and two clocks differ by 5 s each from the time.
	closingAround = 20 * time.Second
	// learning is how long an account without a limit may be debited after it was closed, as such debits know it as it
	// was at most a minute before.
	learning = time.Minute
)

// closing judges one asset of an account that was closed. It knows what every posting adds, however late it arrives: a
// credit that arrives while the account is being closed is kept, and a reversal may take it back. A nil one judges
// nothing.
type closing struct {
	of       account
	asset    string
	from, to time.Time // the account was closed in between

	quantity   big.Int
	credited   big.Int // from from on
	takenBack  big.Int // by reversals, or any debits if the account has no limit, from from on
	debit      big.Int // pending debits that were placed before and not ended until to
	credit     big.Int // pending credits, likewise
	late       int     // debits after to
	lateKSUID  string  // of the first of these
	lateAmount *big.Int
}

func closingOf(of account, asset string) *closing {
	if of.closedAt.IsZero() || !of.known {
		return nil
	}
	c := &closing{of: of, asset: asset, from: of.closedAt.Add(-closingAround), to: of.closedAt.Add(closingAround)}
	if of.unlimited {
		c.to = c.to.Add(learning)
	}
	return c
}

// count adds a posting.
func (c *closing) count(p leg, at time.Time) {
	if c == nil {
		return
	}
	c.quantity.Add(&c.quantity, p.quantity)
	isAfter := at.After(c.to)
	switch {
	case at.Before(c.from):
	case p.quantity.Sign() > 0:
		c.credited.Add(&c.credited, p.quantity)
	case p.kind == reversal, c.of.unlimited:
		c.takenBack.Sub(&c.takenBack, p.quantity)
	}
	moved := p.quantity
	if p.phase != "" {
		moved = p.pending
		if p.phase == placed && at.Before(c.from) || p.endsHeld() && !isAfter {
			of := &c.credit
			if p.holdsDebit() {
				of = &c.debit
			}
			of.Add(of, p.pending)
		}
	}
	if isAfter && moved.Sign() < 0 && p.kind != reversal && !p.endsHeld() {
		if c.late++; c.late == 1 {
			c.lateKSUID, c.lateAmount = p.ksuid, moved
		}
	}
}

// judge returns what is wrong.
func (c *closing) judge() (found []Finding) {
	if c == nil {
		return nil
	}
	since := "closed at " + c.of.closedAt.Format(instantForm)
	if c.late > 0 {
		found = append(found, Finding{DebitAfterClose, table.PostingKey(c.of.id, c.asset, c.lateKSUID), "",
			fmt.Sprintf("%s, the first of %d", c.lateAmount, c.late), "no debit: the account was " + since})
		return found
	}
	lowest := new(big.Int).Neg(&c.takenBack)
	isEmpty := c.quantity.Cmp(lowest) >= 0 && c.quantity.Cmp(&c.credited) <= 0
	if isEmpty && c.debit.Sign() >= 0 && c.credit.Sign() <= 0 {
		return nil
	}
	is := fmt.Sprintf("quantity %s, of which %s was credited and %s taken back since, pending %s and %s", &c.quantity,
		&c.credited, &c.takenBack, &c.debit, &c.credit)
	return []Finding{{ClosedNotEmpty, table.BalanceKey(c.of.id, c.asset), "", is, "nothing: the account was " + since}}
}
