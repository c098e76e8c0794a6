// Package api is the HTTP API: an http.Handler for every route of version 1. It runs in Lambda and in `ledger up`.
//
// The table of routes is in routes.go. Each resource has a file with its handlers. Answers are types of package client,
// except those with legs: here their amounts are strings, which saves allocations. A request is checked in this order:
// route and method, caller, type and size of the body, JSON, syntax of every field, and then the rules of the domain.
// Errors are problem details (RFC 9457).
//
// Handlers have no state. They are safe for concurrent use.
package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Commands are the writes of the ledger. Errors are *ledger.Error.
type Commands interface {
	Post(ctx context.Context, r ledger.Request) (ledger.Posted, error)
	PostBatch(ctx context.Context, requests []ledger.Request, atomic bool) ([]ledger.BatchResult, error)
	RegisterAsset(ctx context.Context, r ledger.RegisterAsset) (asset events.AssetRegistered, created bool, err error)
	OpenAccount(ctx context.Context, r ledger.OpenAccount) (account ledger.Account, created bool, err error)
	ChangeAccount(ctx context.Context, r ledger.ChangeAccount) (ledger.Account, error)
	Grant(ctx context.Context, r ledger.GrantMember) (created bool, err error)
	Revoke(ctx context.Context, r ledger.RevokeMember) error
	RegisterGroup(ctx context.Context, r ledger.RegisterGroup) (group events.GroupRegistered, created bool, err error)
	GroupAccount(ctx context.Context, r ledger.GroupAccount) (groups []string, changed bool, err error)
	ClosePeriod(ctx context.Context, r ledger.ClosePeriod) (closed events.PeriodClosed, created bool, err error)
}

// Resources reads assets, groups, accounts and transactions by id, strongly consistent. Errors are *ledger.Error.
type Resources interface {
	Asset(ctx context.Context, id string) (events.AssetRegistered, error)
	Group(ctx context.Context, id string) (events.GroupRegistered, error)
	Account(ctx context.Context, id string) (ledger.Account, error)
	// KnownAccount returns an account that may be stale.
	KnownAccount(ctx context.Context, id string) (ledger.Account, error)
	// Rates reads the limits over time of an account after a position, at most limit, with what is used of each.
	Rates(ctx context.Context, account, after string, limit int) (used []ledger.UsedRate, more bool, err error)
	// Transaction reads one item, and Lifecycle a transaction with its end and all its reversals.
	Transaction(ctx context.Context, id string) (events.TransactionPosted, error)
	Lifecycle(ctx context.Context, id string) (ledger.Lifecycle, error)
}

// Strong reads balances that include every transaction acknowledged before the read. floor is the lowest quantity that
// a balance may have, nil for no limit. Errors are those of package table.
type Strong interface {
	Balance(ctx context.Context, k events.Pair, floor *events.Amount) (projections.Balance, error)
	Balances(
		ctx context.Context, account string, floor func(asset string) *events.Amount, s projections.Slice,
	) (projections.Page[projections.Balance], error)
}

// Config configures the API.
type Config struct {
	// Commands executes writes. It is nil in a function that only reads.
	Commands Commands
	// Resources is required for reads and writes.
	Resources Resources
	// Lists, Strong, Past and Journal answer reads. They are nil in a function that only writes.
	Lists   *projections.Lists
	Strong  Strong
	Past    *projections.Past
	Journal *projections.JournalReader
	// IndexedMetadata has the metadata keys by which transactions and accounts can be found.
	IndexedMetadata []string
	// Caller returns the caller of a request, the zero Caller if it is not authenticated. Routes under /v1 refuse that.
	Caller func(*http.Request) access.Caller
	// Grants reads the roles of users. If it is nil, users may do nothing.
	Grants access.Grants
	// Version is the version of the program, which /healthz returns.
	Version string
	// Console is the path of the console, which the page for people links, "" where none is served.
	Console string
	Log     *slog.Logger     // nil for no log
	Now     func() time.Time // nil for time.Now
}

// New returns the API. It always has all routes, so that every function refuses unknown paths and methods in the same
// way. If c lacks what a route needs, the answer is an internal error, because the gateway sent the request to the
// wrong function.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &api{config: c, routes: checkRules(routes())}
}

// api serves every route. It does not change after New.
type api struct {
	config Config
	routes []route
}

// ServeHTTP answers one request and writes one log line.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	id := RequestID(r.Header)
	w.Header().Set("X-Request-Id", id)
	req := &request{http: r, id: id, config: &a.config}
	out, err := a.answer(w, req)
	status := 0
	if err == nil {
		status, err = out.send(w, r, req.route.Tagged)
	}
	var p *problem
	if err != nil {
		p = problemOf(err, req.route != nil && req.route.writes())
		p.RequestID, status = id, p.Status
		p.send(w, r)
	}
	a.log(req, id, status, time.Since(start), out, p)
}

// recoverTo must be deferred. It turns a panic into an error, so that a panic ends one request and not the process.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// answer finds the route of a request, reads the request and runs the handler.
func (a *api) answer(w http.ResponseWriter, r *request) (out reply, err error) {
	defer recoverTo(&err)
	found, ids, allow := match(a.routes, r.http.Method, r.http.URL)
	switch {
	case found != nil:
	case allow == nil:
		return reply{}, newProblem(codeNotFound, "This path does not exist; GET /openapi.json lists all paths.")
	default:
		p := newProblem(codeMethodNotAllowed, fmt.Sprintf("This path supports only %s.", strings.Join(allow, ", ")))
		p.allow = allow
		return reply{}, p
	}
	r.route, r.ids, r.rule = found, ids, found.may
	if found.public() {
		return found.handle(a, r)
	}
	if err := a.identify(r); err != nil {
		return reply{}, err
	}
	if found.writes() && a.config.Commands == nil || !found.writes() && a.config.Lists == nil {
		return reply{}, fmt.Errorf("%s %s was sent to a function that does not serve it", found.Method, found.Path)
	}
	if found.HasBody() {
		if r.text, err = readBody(w, r.http, found.bodyBytes()); err != nil {
			return reply{}, err
		}
	}
	r.checkPath()
	r.readQuery()
	r.readConditions()
	out, err = r.unlessFound(r.visible(found.handle(a, r)))
	return r.checked(out, r.refusal(err))
}

// checked withholds the answer of a handler if nobody checked the body or the caller. It writes a raw one.
func (r *request) checked(out reply, err error) (reply, error) {
	switch {
	case err != nil:
		return reply{}, err
	case r.body != nil && !r.body.checked:
		return reply{}, errors.New("a request was answered without a check of its body")
	case !r.caller.Admin && !r.isPermitted:
		return reply{}, errors.New("a request of a user was answered without a check")
	}
	if content, isRaw := out.body.(raw); isRaw && content.write != nil {
		content.text, err = content.write(content.shows)
		out.body = content
	}
	return out, err
}

// RequestID returns the caller's id for the request if it is 1 to 64 of an id's characters, else a new one.
func RequestID(h http.Header) string {
	if given := h.Values("X-Request-Id"); len(given) == 1 && isRequestID.MatchString(given[0]) {
		return given[0]
	}
	return rand.Text()
}

var isRequestID = regexp.MustCompile(`^[A-Za-z0-9._:@-]{1,64}$`)
