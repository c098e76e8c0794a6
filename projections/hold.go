package projections

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Transaction is a transaction as lists have it.
type Transaction struct {
	Header events.TransactionPosted
	Ended  *events.HoldEnded // of a hold that has ended, else nil
}

// Hold is a transaction that is a hold. Each account in its legs has an entry of it; one more lists it by expiry while
// it is open.
type Hold = Transaction

// StatusHeld is the status of an open hold. That of an ended one is its outcome.
const StatusHeld = "held"

// Status returns StatusHeld or the outcome.
func (h Hold) Status() string {
	if h.Ended == nil {
		return StatusHeld
	}
	return string(h.Ended.Outcome)
}

// Version is what entries of the hold are compared by: 1 while it is open, 2 once it has ended.
func (h Hold) Version() int64 {
	if h.Ended == nil {
		return 1
	}
	return 2
}

// Accounts returns the accounts in the legs, each once, in their order.
func (h Hold) Accounts() []string {
	var accounts []string
	known := make(map[string]bool)
	for _, leg := range h.Header.Legs {
		if !known[leg.Account] {
			known[leg.Account] = true
			accounts = append(accounts, leg.Account)
		}
	}
	return accounts
}

// RefreshHold makes every entry of a hold what its header and its end say. An entry never replaces a newer one, so
// late and repeated calls do no harm. Errors: those of the ports; store.ErrConflict when the header is not visible yet.
func (p *Projector) RefreshHold(ctx context.Context, id string) error {
	return p.refreshHold(ctx, id, false)
}

// refreshHold is RefreshHold. When a posting was seen that ends the hold, it waits until the end itself is visible:
// no later record would tell of it.
func (p *Projector) refreshHold(ctx context.Context, id string, ended bool) error {
	return p.retryOnConflict(ctx, func() error {
		h, err := p.views.Hold(ctx, id)
		switch {
		case errors.Is(err, store.ErrAbsent): // a posting was seen: its transaction is being committed
			return fmt.Errorf("header of hold %s is not visible: %w", id, store.ErrConflict)
		case err != nil:
			return fmt.Errorf("read hold: %w", err)
		case ended && h.Ended == nil:
			return fmt.Errorf("end of hold %s is not visible: %w", id, store.ErrConflict)
		}
		if err := p.views.WriteHold(ctx, h); err != nil {
			return fmt.Errorf("write entries of hold %s: %w", id, err)
		}
		return nil
	})
}

// refreshUnnamed refreshes the holds of those postings of k whose records do not name them: they are read for it.
func (p *Projector) refreshUnnamed(ctx context.Context, k events.Pair, dirty []dirtyPosting) error {
	for _, d := range dirty {
		if d.figures != nil {
			continue
		}
		before := d.id[:len(d.id)-1] // a text that sorts before it, and after nearly every other posting
		for posting, err := range ReadPostings(ctx, p.views, k, before, d.id) {
			if err == nil && posting.ID == d.id && posting.Hold != "" {
				err = p.refreshHold(ctx, posting.Hold, posting.Phase.Ends())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
