// Package ledger is the write side. It decides whether a transaction may be posted, and appends its events to the
// table, with the spending guards of its accounts. The events are the source of truth: the API's journal is a
// projection of them, which package projections writes.
//
// A command is checked in this order: each field, the rules over several fields, the accounts and assets that it names,
// its id, its funds. Checks that do not need the store are pure functions. All access to the store goes through
// table.Table, and through Projections for what is read from projections.
//
// post.go tells how postings are written, from top to bottom: a request (requests.go) becomes a draft (draft.go), is
// planned, and its plan is sent until it is stored or refused. request.go makes the plan of a transaction:
// definitions.go reads and checks the accounts and assets that it names, limits.go computes the conditions of the
// guards. A reversal and the end of a hold (ends.go) are planned from another transaction (lifecycle.go). Then
// commit.go has the writes and the guards, funding.go handles refusals by guards, and outcome.go finds out what is
// stored, and answers. batch.go carries out several requests, and writes some of them together. series.go writes all
// other events.
package ledger

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Ledger carries out commands. It is safe for concurrent use. It caches definitions, accounts and credits.
type Ledger struct {
	table       table.Table
	projections Projections
	lanes       *table.LaneLog // for sweeps: commands never read it
	minter      *events.Minter
	now         func() time.Time // the process's clock; durations are measured with time.Now
	log         *slog.Logger

	clock     table.Clock
	accounts  *knownAccounts
	assets    *cache[string, events.AssetRegistered]
	groups    *cache[string, events.GroupRegistered]
	credits   *knownCredits
	rates     *knownRates
	reversed  *cache[string, Lifecycle] // see remember
	reversing queues                    // of reversals, by the transaction that they reverse
}

// Config configures a Ledger.
type Config struct {
	Table       table.Table
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
	return &Ledger{
		table:       c.Table,
		projections: c.Projections,
		lanes:       table.NewLaneLog(c.Table, c.Now),
		minter:      cmp.Or(c.Minter, events.NewMinter(c.Now, nil)),
		now:         c.Now,
		log:         cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		accounts:    newKnownAccounts(c.Now),
		assets:      newCache[string](definitionsBytes, definitionBytes[events.AssetRegistered], itself),
		groups:      newCache[string](groupsBytes, definitionBytes[events.GroupRegistered], itself),
		reversed:    newCache[string](reversedBytes, lifecycleBytes, Lifecycle.clone),
		credits:     newKnownCredits(c.Now),
		rates:       newKnownRates(c.Now),
	}
}

// readEvent reads the event with a key, strongly consistent, with retries. Errors: ErrAbsent, and those of reads.
func readEvent[E events.Event](ctx context.Context, l *Ledger, k table.Key) (e E, err error) {
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		item, at, err := l.table.Get(ctx, k, table.Strong)
		if err == nil && item == nil {
			err = table.ErrAbsent
		}
		if err == nil {
			e, err = table.Only[E](table.DecodeEvent(item))
		}
		return at, err
	})
	return e, err
}

// Projections is the part of the read side that commands need. It is safe for concurrent use.
type Projections interface {
	// Funds returns the exact sum of all credits of account in asset, and of all amounts that ended holds gave back,
	// and the sum of all that was spent or held. Both include every transaction acknowledged before the call, a
	// backdated one once it is projected, and may include a part of one that is being committed. Errors: those of
	// package table for reads.
	Funds(ctx context.Context, account, asset string) (received, spent events.Amount, err error)

	// Holdings returns a page of the account's holdings, by asset: of every asset with a posting. It includes the same
	// transactions as Funds. The page begins after the given asset, or at the first one for "". next is the asset to
	// continue after, "" at the end.
	Holdings(ctx context.Context, account, after string) (page []events.Holding, next string, err error)

	// CountPostings counts all stored postings of account in asset. It includes every posting that was visible before
	// the call. It reads all of them, side by side.
	CountPostings(ctx context.Context, account, asset string) (int64, error)

	// EnsureVisible returns nil when every later strong read is certain to include a committed posting. It returns
	// ErrConflict if another writer came first or the posting is not counted yet: retry, or report an unknown outcome.
	// It never writes a fold.
	EnsureVisible(ctx context.Context, account, asset string, id events.KSUID) error
}
