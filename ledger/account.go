package ledger

import (
	"context"
	"time"

	"ledger.example/events"
)

// Account is the current state of an account, by its opening and its newest change.
type Account struct {
	ID        string
	Name      string
	Profile   string // a JSON object in compact form
	Overdraft events.Overdraft
	State     events.AccountState
	Version   int64     // 1 when opened; each change adds 1
	OpenedAt  time.Time // UTC, whole microseconds
	OpenedBy  string
	ChangedAt time.Time // of the newest change, zero at version 1
	ChangedBy string    // of the newest change, empty at version 1

	opening *events.AccountOpened
	closing bool                     // see events.AccountChanged, likewise highest
	highest map[string]events.Amount // nil at version 1
}

// NewAccount returns the account with an opening and a newest change, which is nil if there is none.
func NewAccount(opening events.AccountOpened, newest *events.AccountChanged) Account {
	a := Account{
		ID: opening.ID, Name: opening.Name, Profile: opening.Profile, Overdraft: opening.Overdraft,
		State: events.StateOpen, Version: 1, OpenedAt: opening.At, OpenedBy: opening.Actor, opening: &opening,
	}
	if newest != nil {
		a.Name, a.Profile, a.Overdraft = newest.Name, newest.Profile, newest.Overdraft
		a.State, a.Version, a.ChangedAt, a.ChangedBy = newest.State, newest.Number, newest.At, newest.Actor
		a.closing, a.highest = newest.Closing, newest.Highest
	}
	return a
}

// Floor returns the lowest quantity of an asset that a balance of the account may have, nil without a limit. It uses
// the highest limit that the account ever had, because a limit may be reduced below the account's debt.
func (a Account) Floor(asset string) *events.Amount {
	if a.Overdraft.Unlimited {
		return nil
	}
	most := a.mostOverdraft(asset).Neg()
	return &most
}

// mostOverdraft is the highest limit that an asset ever had.
func (a *Account) mostOverdraft(asset string) events.Amount {
	if highest, ok := a.highest[asset]; ok {
		return highest
	}
	return a.Overdraft.Limits[asset]
}

// highestBeside returns AccountChanged.Highest of the next change, which sets the policy o.
func (a *Account) highestBeside(o events.Overdraft) map[string]events.Amount {
	var highest map[string]events.Amount
	for _, earlier := range []map[string]events.Amount{a.Overdraft.Limits, a.highest} { // the higher ones last
		for asset, limit := range earlier {
			if limit.Cmp(o.Limits[asset]) > 0 {
				if highest == nil {
					highest = make(map[string]events.Amount)
				}
				highest[asset] = limit
			}
		}
	}
	return highest
}

// Account reads an account, strongly consistent. Errors: CodeAccountNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Account(ctx context.Context, id string) (Account, error) {
	found, err := l.lookupValid(ctx, id, lookupKeys{accounts: []string{id}})
	return definition(found.account(id), err, AccountNotFound())
}

// KnownAccount returns an account, perhaps an earlier version of it: it prefers the cache, at any age. Errors: those of
// Account.
func (l *Ledger) KnownAccount(ctx context.Context, id string) (Account, error) {
	if known := l.accounts.anyAge(id); known != nil {
		return *known, nil
	}
	return l.Account(ctx, id)
}

// How old a cached account may be. Debits of limited accounts may use any age, because their guards have the newest
// version.
const (
	debitAge  = time.Minute      // for debits of accounts without a limit
	creditAge = 15 * time.Minute // for credits
)

// knownAccounts caches accounts. It keeps the newest version read of each.
type knownAccounts struct {
	cache *cache[string, knownAccount]
	now   func() time.Time // the process's clock
}

type knownAccount struct {
	account *Account
	readAt  readTime
}

func newKnownAccounts(now func() time.Time) *knownAccounts {
	weight := func(a knownAccount) int { return accountBytes(a.account) }
	return &knownAccounts{newCache[string](definitionsBytes, weight), now}
}

// anyAge returns a cached account of any age, nil if there is none.
func (k *knownAccounts) anyAge(id string) *Account {
	known, _ := k.cache.get(id)
	return known.account
}

// fresh returns a cached account that is fresh enough for debits, credits or both, nil if there is none.
func (k *knownAccounts) fresh(id string, debited, credited bool) *Account {
	known, ok := k.cache.get(id)
	switch {
	case !ok,
		credited && !known.readAt.within(creditAge, k.now),
		debited && known.account.Overdraft.Unlimited && !known.readAt.within(debitAge, k.now):
		return nil
	}
	return known.account
}

// add caches an account that was read at readAt or later.
func (k *knownAccounts) add(a *Account, readAt readTime) {
	k.cache.change(a.ID, func(known knownAccount, ok bool) knownAccount {
		if ok && known.readAt.within(creditAge, k.now) && (known.account.Version > a.Version ||
			known.account.Version == a.Version && known.readAt.monotonic.After(readAt.monotonic)) {
			return known
		}
		return knownAccount{a, readAt}
	})
}
