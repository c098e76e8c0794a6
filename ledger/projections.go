package ledger

import (
	"context"

	"ledger.example/events"
)

// Projections is the part of the read side that commands need. It is safe for concurrent use.
type Projections interface {
	// Funds returns the exact sum of all credits of account in asset, and of all amounts that ended holds gave back. It
	// includes every transaction acknowledged before the call, a backdated one once it is projected.
	// Errors: those of package store for reads.
	Funds(ctx context.Context, account, asset string) (events.Amount, error)

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
