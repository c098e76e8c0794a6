package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A route is one operation of the API. Methods other than GET write, and have a JSON object as their body unless
// hasBody says otherwise.
type route struct {
	method  string
	pattern string                              // segments in braces are ids
	may     rule                                // who may use it
	query   []string                            // names of the query parameters
	summary string                              // one line for people
	handle  func(*api, *request) (reply, error) // the reply is valid only if the error is nil
}

// The query parameters.
const (
	paramLimit       = "limit"
	paramCursor      = "cursor"
	paramConsistency = "consistency"
	paramPrefix      = "prefix"
	paramAsset       = "asset"
	paramFrom        = "from"
	paramTo          = "to"
	paramNewest      = "newest"
	paramStatus      = "status"
	paramDryRun      = "dry_run"
	paramAt          = "at"
	paramOrder       = "order"
	paramAfter       = "after"
	paramType        = "type"
	paramMetadata    = metadataPrefix + "KEY" // KEY is any metadata key
)

// metadataPrefix begins the names of parameters that filter by metadata.
const metadataPrefix = "metadata."

// The values of order.
const (
	orderAscending  = "asc"
	orderDescending = "desc"
)

// routes returns the table of routes, in the order of the page for people. To add a route, add its line here, its
// handler to the file of its resource, and its description to openapi.json.
func routes() []route {
	page := func(more ...string) []string { return append(more, paramLimit, paramCursor) }
	dry := []string{paramDryRun}
	history := page(paramAsset, paramFrom, paramTo, paramConsistency)
	const (
		asset   = "/v1/assets/{asset}"
		account = "/v1/accounts/{account}"
		member  = account + "/members/{user}"
		posted  = "/v1/transactions/{id}"
		group   = "/v1/groups/{group}"
		inGroup = group + "/members/{user}"
	)
	return []route{
		{"GET", "/", public, nil, "Get a page for people", (*api).home},
		{"GET", "/healthz", public, nil, "Check that the server answers", (*api).health},
		{"GET", "/openapi.json", public, nil, "Get this API as OpenAPI 3.1", (*api).openapi},
		{"GET", "/problems", public, nil, "List every problem", (*api).problems},
		{"GET", problemsPath + "{code}", public, nil, "Get the page of a problem", (*api).problem},

		{"GET", "/v1/me", everyone, nil, "Get the caller's identity", (*api).getMe},

		{"PUT", asset, admins, nil, "Register an asset", (*api).putAsset},
		{"GET", asset, everyone, nil, "Get an asset", (*api).getAsset},
		{"GET", "/v1/assets", everyone, page(paramPrefix), "List assets", (*api).listAssets},
		{"GET", asset + "/holders", admins, page(), "List the holders of an asset", (*api).listHolders},

		{"PUT", account, admins, nil, "Open an account", (*api).putAccount},
		{"GET", account, viewers, nil, "Get an account", (*api).getAccount},
		{"PATCH", account, admins, nil, "Change an account", (*api).patchAccount},
		{"GET", account + "/changes", viewers, page(), "List an account's changes, newest first", (*api).listChanges},
		{"GET", "/v1/accounts", admins, page(paramPrefix), "List accounts", (*api).listAccounts},
		{"GET", account + "/summary", viewers, []string{paramNewest},
			"Get an account with its balances and newest postings", (*api).getSummary},
		{"GET", account + "/balances", viewers, page(paramAt, paramConsistency), "List an account's balances",
			(*api).listBalances},
		{"GET", account + "/balances/{asset}", viewers, []string{paramAt, paramConsistency}, "Get one balance",
			(*api).getBalance},
		{"GET", account + "/statement", viewers, page(paramAsset, paramFrom, paramTo),
			"Get a statement, oldest posting first", (*api).getStatement},
		{"GET", account + "/postings", viewers, history, "List an account's postings, newest first",
			(*api).listPostings},
		{"GET", account + "/holds", viewersOf("legs of accounts"), page(paramStatus),
			"List an account's holds, newest first", (*api).listHolds},
		{"GET", account + "/members", viewers, page(), "List an account's members", (*api).listMembers},
		{"PUT", member, owners, nil, "Grant a user a role", (*api).putMember},
		{"DELETE", member, owners, nil, "Revoke a user's role", (*api).deleteMember},
		{"GET", account + "/groups", viewersOf("groups"), page(), "List an account's groups",
			(*api).listAccountGroups},
		{"GET", "/v1/users/{user}/accounts", themselves, page(), "List a user's accounts, direct and through groups",
			(*api).listAccountsOf},
		{"GET", "/v1/users/{user}/groups", themselves, page(), "List a user's groups", (*api).listGroupsOf},

		{"PUT", group, admins, nil, "Register a group", (*api).putGroup},
		{"GET", group, groupViewers, nil, "Get a group", (*api).getGroup},
		{"GET", "/v1/groups", admins, page(paramPrefix), "List groups", (*api).listGroups},
		{"PUT", groupedPath, admins, nil, "Put an account into a group", (*api).putGrouped},
		{"DELETE", groupedPath, admins, nil, "Take an account out of a group", (*api).deleteGrouped},
		{"GET", group + "/accounts", groupViewers, page(), "List a group's accounts", (*api).listGroupAccounts},
		{"PUT", inGroup, groupOwners, nil, "Grant a user a role in a group", (*api).putMember},
		{"DELETE", inGroup, groupOwners, nil, "Revoke a user's role in a group", (*api).deleteMember},
		{"GET", group + "/members", groupViewers, page(), "List a group's members", (*api).listGroupMembers},
		{"GET", group + "/balances", groupViewers, page(), "Get the totals of a group's accounts", (*api).getTotals},

		{"POST", "/v1/transactions", operators, dry, "Post a transaction", (*api).postTransaction},
		{"POST", "/v1/transfers", operators, dry, "Post a transfer", (*api).postTransfer},
		{"POST", "/v1/trades", operators, dry, "Post a trade", (*api).postTrade},
		{"POST", batches, batchOperators, dry, "Post a batch", (*api).postBatch},
		{"GET", "/v1/transactions", admins, page(paramFrom, paramTo, paramOrder, paramMetadata),
			"List transactions by time, all or by metadata", (*api).listTransactions},
		{"GET", posted, legViewers, nil, "Get a transaction with all its postings", (*api).getTransaction},
		{"POST", posted + "/capture", holdOperators, dry, "Capture a hold", (*api).capture},
		{"POST", posted + "/release", holdOperators, dry, "Release a hold", (*api).release},
		{"POST", posted + "/reversals", reversalOperators, dry, "Reverse a transaction", (*api).postReversal},
		{"GET", posted + "/reversals", legViewers, page(), "List the reversals of a transaction", (*api).listReversals},
		{"GET", "/v1/holds", admins, page(), "List all open holds", (*api).listOpenHolds},
		{"GET", "/v1/journal", admins, []string{paramAfter, paramFrom, paramType, paramLimit}, "Read the journal",
			(*api).listJournal},
	}
}

// groupedPath is the path of an account in a group. Its PUT has no body.
const groupedPath = "/v1/groups/{group}/accounts/{account}"

// batches is the path of batches. Their bodies may be larger than others.
const batches = "/v1/batches"

// bodyBytes returns the most bytes of a body.
func (r *route) bodyBytes() int64 {
	if r.pattern == batches {
		return BatchBytes
	}
	return BodyBytes
}

// takes reports whether r has the query parameter.
func (r *route) takes(name string) bool {
	if strings.HasPrefix(name, metadataPrefix) {
		name = paramMetadata
	}
	return slices.Contains(r.query, name)
}

// public reports whether r answers requests without authentication.
func (r *route) public() bool { return !strings.HasPrefix(r.pattern, "/v1/") }

// writes reports whether r changes the ledger, so that an error may leave the outcome unknown.
func (r *route) writes() bool { return r.method != http.MethodGet }

// hasBody reports whether r needs a JSON object. DELETE, and putting an account into a group, take no body and ignore
// one.
func (r *route) hasBody() bool {
	return r.writes() && r.method != http.MethodDelete && r.pattern != groupedPath
}

// match finds the route of a request and its ids by their names. HEAD is answered as GET. Without a route, allow lists
// the methods of the path; it is empty when the path is unknown.
func match(routes []route, method string, u *url.URL) (found *route, values map[string]string, allow []string) {
	segments, ok := split(u.EscapedPath())
	if !ok {
		return nil, nil, nil
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range routes {
		v, ok := matchPattern(routes[i].pattern, segments)
		switch {
		case !ok:
		case routes[i].method == method:
			return &routes[i], v, nil
		case routes[i].method == http.MethodGet:
			allow = append(allow, http.MethodGet, http.MethodHead)
		default:
			allow = append(allow, routes[i].method)
		}
	}
	slices.Sort(allow)
	return nil, nil, allow
}

// split splits a path at its slashes and then decodes the segments, so an encoded slash is part of a segment.
func split(escaped string) (segments []string, ok bool) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, false
	}
	segments = strings.Split(rest, "/")
	for i, s := range segments {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return nil, false
		}
		segments[i] = decoded
	}
	return segments, true
}

// matchPattern matches the segments of a path with a pattern, and returns the ids by their names. An id is not empty.
func matchPattern(pattern string, segments []string) (values map[string]string, ok bool) {
	n := 0
	for part := range strings.SplitSeq(pattern[1:], "/") {
		if n == len(segments) {
			return nil, false
		}
		name, isID := strings.CutPrefix(part, "{")
		switch {
		case !isID && part != segments[n], isID && segments[n] == "":
			return nil, false
		case isID:
			if values == nil {
				values = make(map[string]string, 2)
			}
			values[strings.TrimSuffix(name, "}")] = segments[n]
		}
		n++
	}
	return values, n == len(segments)
}
