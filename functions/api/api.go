package api

import (
	"context"
	"log/slog"
	"net/http"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Commands is what writes need of the ledger. Errors are *ledger.Error.
type Commands interface {
	RegisterAsset(ctx context.Context, r ledger.RegisterAsset) (asset events.AssetRegistered, created bool, err error)
	OpenAccount(ctx context.Context, r ledger.OpenAccount) (account events.AccountOpened, created bool, err error)
	Post(ctx context.Context, r ledger.PostingRequest) (ledger.Posted, error)
	Grant(ctx context.Context, r ledger.GrantMember) (created bool, err error)
	Revoke(ctx context.Context, r ledger.RevokeMember) error
}

// Facts are immutable events by id, strongly consistent. Errors are *ledger.Error.
type Facts interface {
	Asset(ctx context.Context, id string) (events.AssetRegistered, error)
	Account(ctx context.Context, id string) (events.AccountOpened, error)
	Transaction(ctx context.Context, id string) (events.TransactionPosted, error)
}

// Strong answers reads that include every transaction acknowledged before them. Errors are those of package table.
type Strong interface {
	Balance(ctx context.Context, k projections.Key, floor *events.Amount) (projections.Balance, error)
	Balances(ctx context.Context, account string, floor func(asset string) *events.Amount, s projections.Slice) (projections.Listed[projections.Balance], error)
}

// Config is what the API is made of.
type Config struct {
	// Commands carries out writes; nil in a function that only reads.
	Commands Commands
	// Facts, Lists and Strong answer reads; nil in a function that only writes.
	Facts  Facts
	Lists  projections.Lists
	Strong Strong
	// Actor names the caller, "" when nobody vouches for one: then nothing under /v1 is served.
	Actor func(*http.Request) string
	// Version is the program's, as /healthz tells it.
	Version string
	Log     *slog.Logger
}

// New returns the API. Every route is known whatever parts c leaves out, so that an unknown path or method is told rightly
// everywhere; a request for a part that is left out was sent to the wrong function, and is answered as an internal error.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &api{Config: c, routes: routes()}
}

type api struct {
	Config
	routes []route
}
