// Package ledger is the write side: it decides what may be posted and appends it to the journal.
//
// A command is checked in the order of the API's error table: the shape of its fields, the rules over several fields,
// the things that it names, its id, its funds. What can be decided without the store is pure; what needs it goes
// through two ports, the Journal and the Projections.
package ledger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// Ledger carries out commands. It is safe for concurrent use, and remembers definitions and known credits for as long
// as the process lives.
type Ledger struct {
	journal     Journal
	projections Projections
	minter      *events.Minter
	now         func() time.Time // the process's clock; durations are taken by time.Now's stopwatch instead
	log         *slog.Logger

	clock    storeClock
	accounts *memory[string, *events.AccountOpened]
	assets   *memory[string, *events.AssetRegistered]
	credits  *knownCredits
}

// Config is what a Ledger is made of.
type Config struct {
	Journal     Journal
	Projections Projections
	Minter      *events.Minter   // nil: a minter on Now
	Now         func() time.Time // nil: time.Now
	Log         *slog.Logger     // nil: nothing is logged
}

// New returns a ledger.
func New(c Config) *Ledger {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Minter == nil {
		c.Minter = events.NewMinter(c.Now, nil)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Ledger{
		journal:     c.Journal,
		projections: c.Projections,
		minter:      c.Minter,
		now:         c.Now,
		log:         c.Log,
		accounts:    newMemory[string](definitionsBytes, accountBytes),
		assets:      newMemory[string](definitionsBytes, assetBytes),
		credits:     newKnownCredits(),
	}
}

// Asset returns an asset's definition, from memory when it was seen before. Errors: CodeAssetNotFound, CodeThrottled,
// CodeUnavailable.
func (l *Ledger) Asset(ctx context.Context, id string) (events.AssetRegistered, error) {
	if asset, ok := l.assets.get(id); ok {
		return *asset, nil
	}
	if events.ValidID(id) {
		found, err := l.look(ctx, Wanted{Assets: []string{id}})
		if err != nil {
			return events.AssetRegistered{}, err
		}
		if asset, ok := found.Assets[id]; ok {
			return asset, nil
		}
	}
	return events.AssetRegistered{}, &Error{Code: CodeAssetNotFound, Detail: "There is no such asset.", OfPath: true}
}

// Account returns an account's definition, from memory when it was seen before. Errors: CodeAccountNotFound,
// CodeThrottled, CodeUnavailable.
func (l *Ledger) Account(ctx context.Context, id string) (events.AccountOpened, error) {
	if account, ok := l.accounts.get(id); ok {
		return *account, nil
	}
	if events.ValidID(id) {
		found, err := l.look(ctx, Wanted{Accounts: []string{id}})
		if err != nil {
			return events.AccountOpened{}, err
		}
		if account, ok := found.Accounts[id]; ok {
			return account, nil
		}
	}
	return events.AccountOpened{}, &Error{Code: CodeAccountNotFound, Detail: "There is no such account.", OfPath: true}
}

// Transaction reads a transaction, strongly consistent. Errors: CodeTransactionNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Transaction(ctx context.Context, id string) (events.TransactionPosted, error) {
	absent := &Error{Code: CodeTransactionNotFound, Detail: "There is no such transaction.", OfPath: true}
	if !events.ValidID(id) {
		return events.TransactionPosted{}, absent
	}
	t, _, err := l.readHeader(ctx, id)
	switch {
	case errors.Is(err, table.ErrAbsent):
		return events.TransactionPosted{}, absent
	case err != nil:
		return events.TransactionPosted{}, storeError(err)
	}
	return t, nil
}

// look asks the journal, retrying what may be retried, and remembers what it found. It never remembers an absence.
// Its error is an *Error.
func (l *Ledger) look(ctx context.Context, wanted Wanted) (found Found, err error) {
	ctx, cancel := context.WithTimeout(ctx, life)
	defer cancel()
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		found, err = l.journal.Look(ctx, wanted)
		return found.At, err
	})
	if err != nil {
		return Found{}, storeError(err)
	}
	for id, account := range found.Accounts {
		l.accounts.put(id, &account)
	}
	for id, asset := range found.Assets {
		l.assets.put(id, &asset)
	}
	return found, nil
}

// readHeader reads one transaction, retrying what may be retried; the time is the store's.
func (l *Ledger) readHeader(ctx context.Context, id string) (t events.TransactionPosted, at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, life)
	defer cancel()
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		t, at, err = l.journal.Transaction(ctx, id)
		return at, err
	})
	return t, at, err
}
