package ledger

import (
	"context"
	"time"

	"ledger.example/events"
)

// Account is what an account is now: its opening and its newest change.
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
	ChangedBy string    // likewise

	opening *events.AccountOpened
}

// NewAccount returns what an opening and the account's newest change make of an account; a nil change means none.
func NewAccount(opening events.AccountOpened, newest *events.AccountChanged) Account {
	a := Account{
		ID: opening.ID, Name: opening.Name, Profile: opening.Profile, Overdraft: opening.Overdraft,
		State: events.StateOpen, Version: 1, OpenedAt: opening.At, OpenedBy: opening.Actor, opening: &opening,
	}
	if newest != nil {
		a.Name, a.Profile, a.Overdraft = newest.Name, newest.Profile, newest.Overdraft
		a.State, a.Version, a.ChangedAt, a.ChangedBy = newest.State, newest.Number, newest.At, newest.Actor
	}
	return a
}

// Floor returns the lowest quantity of an asset that a balance of the account may show, nil without a limit. It is the
// lower one of what the account's limits were when it was opened and are now: a limit may be lowered below what is
// owed.
func (a Account) Floor(asset string) *events.Amount {
	if a.Overdraft.Unlimited {
		return nil
	}
	most := a.mostOverdraft(asset).Neg()
	return &most
}

// mostOverdraft is the higher one of the limits of an asset when the account was opened and now.
func (a *Account) mostOverdraft(asset string) events.Amount {
	now := a.Overdraft.Limits[asset]
	if a.opening != nil {
		if first := a.opening.Overdraft.Limits[asset]; first.Cmp(now) > 0 {
			return first
		}
	}
	return now
}

// Account returns what an account is now, strongly consistent. Errors: CodeAccountNotFound, CodeThrottled,
// CodeUnavailable.
func (l *Ledger) Account(ctx context.Context, id string) (Account, error) {
	found, err := l.lookupValid(ctx, id, LookupKeys{Accounts: []string{id}})
	if err != nil {
		return Account{}, err
	}
	account, ok := found.Accounts[id]
	if !ok {
		return Account{}, AccountNotFound()
	}
	return account, nil
}

// KnownAccount returns what an account is now or was before: it makes no request for one that is cached. Errors: those
// of Account.
func (l *Ledger) KnownAccount(ctx context.Context, id string) (Account, error) {
	if known := l.accounts.any(id); known != nil {
		return *known, nil
	}
	return l.Account(ctx, id)
}

// AccountNotFound is the error of a request for an account that does not exist.
func AccountNotFound() *Error {
	return &Error{Code: CodeAccountNotFound, Detail: "There is no such account."}
}

// How long what an account was may be used. Debits of limited accounts may use it at any age: their guards know the
// newest change.
const (
	// debitAge is for debits of accounts without a limit.
	debitAge = time.Minute
	// creditAge is for credits.
	creditAge = 15 * time.Minute
)

// knownAccounts caches accounts. It keeps the newest version that was read of each.
type knownAccounts struct {
	cache *cache[string, knownAccount]
	now   func() time.Time // the process's clock
}

type knownAccount struct {
	account *Account
	read    reading
}

func newKnownAccounts(now func() time.Time) *knownAccounts {
	weight := func(a knownAccount) int { return accountBytes(a.account) }
	return &knownAccounts{newCache[string](definitionsBytes, weight), now}
}

// any returns an account as it was at any time, nil if it is not cached.
func (k *knownAccounts) any(id string) *Account {
	known, _ := k.cache.get(id)
	return known.account
}

// of returns an account as it may be used for debits, credits or both, nil if nothing fresh enough is cached.
func (k *knownAccounts) of(id string, debited, credited bool) *Account {
	known, ok := k.cache.get(id)
	switch {
	case !ok,
		credited && !known.read.within(creditAge, k.now),
		debited && known.account.Overdraft.Unlimited && !known.read.within(debitAge, k.now):
		return nil
	}
	return known.account
}

// learn takes in an account that was read at a given time or later.
func (k *knownAccounts) learn(a *Account, read reading) {
	k.cache.change(a.ID, func(known knownAccount, ok bool) knownAccount {
		if ok && known.read.within(creditAge, k.now) && (known.account.Version > a.Version ||
			known.account.Version == a.Version && known.read.stopwatch.After(read.stopwatch)) {
			return known
		}
		return knownAccount{a, read}
	})
}
