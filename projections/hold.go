package projections

import (
	"context"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Transaction is a transaction in a list.
type Transaction struct {
	Header events.TransactionPosted
	Ended  *events.HoldEnded // set for a hold that has ended
}

// Hold is a transaction that is a hold. It has an entry for each account in its legs. While it is open, it also has an
// entry in the list by expiry.
type Hold = Transaction

// StatusHeld is the status of an open hold. The status of an ended hold is its outcome.
const StatusHeld = "held"

// Status returns StatusHeld or the outcome.
func (h Hold) Status() string {
	if h.Ended == nil {
		return StatusHeld
	}
	return string(h.Ended.Outcome)
}

// Versions of a hold's entries: while it is open, and once it has ended.
const (
	versionHeld  = 1
	versionEnded = 2
)

// Version is the version of the hold's entries.
func (h Hold) Version() int64 {
	if h.Ended == nil {
		return versionHeld
	}
	return versionEnded
}

// Accounts returns the accounts in the legs, in the order of the legs and without duplicates.
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

// ExpiryKey is the key of the hold's entry by expiry.
func (h Hold) ExpiryKey() store.Key {
	return store.OpenHold.Key(events.FormatTime(h.Header.ExpiresAt), h.Header.ID)
}

// HasEntry reports whether the hold has an entry with that key, in an account's list or in the list by expiry. Other
// transactions have none.
func (h Hold) HasEntry(key store.Key) bool {
	account, placed, ofAccount := store.Hold.Parse(key)
	switch {
	case !h.Header.IsHold():
		return false
	case ofAccount:
		return placed == string(h.Header.Legs[0].ID) && slices.Contains(h.Accounts(), account)
	}
	return key == h.ExpiryKey()
}

// refreshUnnamed refreshes the holds of postings of k whose records have no figures, and so do not name the hold. It
// reads these postings.
func (p *Projector) refreshUnnamed(ctx context.Context, k events.Pair, dirty []dirtyPosting) error {
	for _, d := range dirty {
		if d.figures != nil {
			continue
		}
		before := d.id[:len(d.id)-1] // sorts before this posting, and after nearly every other
		for posting, err := range p.views.Postings(ctx, k, before, d.id) {
			if err == nil && posting.ID == d.id && posting.Hold != "" {
				t, number := ofFigures(posting.Figures)
				t.View = Holds
				err = p.Refresh(ctx, t, Seen{number, number})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
