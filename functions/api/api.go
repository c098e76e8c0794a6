// Package api is the HTTP API: an http.Handler for every route of version 1. It runs in Lambda and in `ledger up`.
//
// The table of routes is in routes.go. Each resource has a file with its handlers. Answers are the types of package
// client, except those with legs, whose amounts are texts here: that saves allocations when a transaction is posted. A
// request passes these checks in this order: route and method, caller, type and size of the body, its JSON, the
// syntax of every field, and then the rules of the domain. Errors are problem details (RFC 9457).
//
// Handlers have no state. They are safe for concurrent use.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"ledger.example/events"
	"ledger.example/internal/access"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Posts are the requests that move money, set it aside or give it back. Errors are *ledger.Error.
type Posts interface {
	Post(ctx context.Context, r ledger.PostingRequest) (ledger.Posted, error)
	PostBatch(ctx context.Context, requests []ledger.PostingRequest, atomic bool) ([]ledger.BatchResult, error)
	Capture(ctx context.Context, r ledger.CaptureRequest) (ledger.Ended, error)
	Release(ctx context.Context, r ledger.ReleaseRequest) (ledger.Ended, error)
	Reverse(ctx context.Context, r ledger.ReverseRequest) (ledger.Posted, error)
}

// Commands are the writes of the ledger. Errors are *ledger.Error.
type Commands interface {
	Posts
	RegisterAsset(ctx context.Context, r ledger.RegisterAsset) (asset events.AssetRegistered, created bool, err error)
	OpenAccount(ctx context.Context, r ledger.OpenAccount) (account ledger.Account, created bool, err error)
	ChangeAccount(ctx context.Context, r ledger.ChangeAccount) (ledger.Account, error)
	Grant(ctx context.Context, r ledger.GrantMember) (created bool, err error)
	Revoke(ctx context.Context, r ledger.RevokeMember) error
	RegisterGroup(ctx context.Context, r ledger.RegisterGroup) (group events.GroupRegistered, created bool, err error)
	GroupAccount(ctx context.Context, r ledger.GroupAccount) (groups []string, changed bool, err error)
}

// Facts are what assets, groups, accounts and transactions are, by id, strongly consistent. Errors are *ledger.Error.
type Facts interface {
	Asset(ctx context.Context, id string) (events.AssetRegistered, error)
	Group(ctx context.Context, id string) (events.GroupRegistered, error)
	Account(ctx context.Context, id string) (ledger.Account, error)
	// KnownAccount returns what an account is now or was before.
	KnownAccount(ctx context.Context, id string) (ledger.Account, error)
	Life(ctx context.Context, id string) (ledger.Life, error)
}

// Strong answers reads that include every transaction acknowledged before them. A floor is the lowest quantity that a
// balance may have, nil for no limit. Errors are those of package store.
type Strong interface {
	Balance(ctx context.Context, k events.Pair, floor *events.Amount) (projections.Balance, error)
	Balances(
		ctx context.Context, account string, floor func(asset string) *events.Amount, s projections.Slice,
	) (projections.Listed[projections.Balance], error)
}

// Config is what the API is made of.
type Config struct {
	// Commands carries out writes, and DryRun judges them alone; nil in a function that only reads.
	Commands Commands
	DryRun   Posts
	// Facts are needed by reads and writes.
	Facts Facts
	// Lists, Strong, Past and Journal answer reads; nil in a function that only writes.
	Lists   projections.Lists
	Strong  Strong
	Past    Past
	Journal Journal
	// Ledger names the ledger among others: its lists of everything are bound to it.
	Ledger string
	// IndexedMetadata are the keys by which transactions are found.
	IndexedMetadata []string
	// Caller returns who sends a request, the zero Caller for nobody, whom routes under /v1 refuse.
	Caller func(*http.Request) access.Caller
	// Grants are the roles of users. Without them, users may do nothing.
	Grants access.Grants
	// Version is the program's version, which /healthz shows.
	Version string
	Log     *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // the process's clock; nil: time.Now
}

// New returns the API. It knows every route even if c leaves out what a route needs, so that an unknown path or method
// is refused in the same way by every function. A request that c cannot serve is answered with an internal error: the
// gateway sent it to the wrong function.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &api{config: c, routes: decided(routes())}
}

// api serves every route. It does not change after New.
type api struct {
	config Config
	routes []route
}
