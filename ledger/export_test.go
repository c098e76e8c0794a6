package ledger

import (
	"context"
	"fmt"
	"strings"

	"ledger.example/events"
)

// CreditsTTL is creditsTTL, for tests.
const CreditsTTL = creditsTTL

// DebitAge is debitAge and CreditAge creditAge, for tests.
const (
	DebitAge  = debitAge
	CreditAge = creditAge
)

// CacheOnePair lets l cache the credits of one pair only: each that is read evicts the one before.
func (l *Ledger) CacheOnePair() { l.credits.cache.most = 1 }

// CachedAccount returns the cached account.
func (l *Ledger) CachedAccount(id string) (Account, bool) { return l.accounts.anyAge(id) }

// CreateGuard writes the guard of a pair without a version, and SetGuardVersion sets the version.
func (l *Ledger) CreateGuard(ctx context.Context, p events.Pair) error { return l.createGuard(ctx, p) }

func (l *Ledger) SetGuardVersion(ctx context.Context, p events.Pair, version int64) error {
	return l.setGuardVersion(ctx, p, version)
}

// Names returns the fields at fault: "postings[1].quantity", "metadata.order".
func Names(faults []FieldError) []string {
	names := []string{}
	for _, f := range faults {
		name := f.Field.Name
		if f.Field.Leg > 0 {
			name = strings.TrimSuffix(fmt.Sprintf("postings[%d].%s", f.Field.Leg-1, name), ".")
		}
		if f.Field.Entry {
			name += "." + f.Field.Key
		}
		names = append(names, name)
	}
	return names
}
