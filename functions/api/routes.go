package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A route is one request that the API answers.
type route struct {
	method  string
	pattern string   // segments in braces are ids
	part    part     // what must be there to serve it
	body    bool     // it takes a JSON object
	query   []string // names of the query parameters that it takes
	summary string   // one line for people
	handle  func(*api, *request) (reply, error)
}

// part is what a route needs of Config.
type part int

const (
	partNone part = iota // serves everywhere, also callers without a name
	partWrite
	partRead
)

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
)

// routes returns the table of routes, in the order in which people should read it.
func routes() []route {
	page := func(more ...string) []string { return append(more, paramLimit, paramCursor) }
	return []route{
		{http.MethodGet, "/", partNone, false, nil, "This page", (*api).home},
		{http.MethodGet, "/healthz", partNone, false, nil, "Alive, with version", (*api).health},
		{http.MethodGet, "/openapi.json", partNone, false, nil, "This API as OpenAPI 3.1", (*api).openapi},

		{http.MethodPut, "/v1/assets/{asset}", partWrite, true, nil, "Register an asset", (*api).putAsset},
		{http.MethodGet, "/v1/assets/{asset}", partRead, false, nil, "An asset", (*api).getAsset},
		{http.MethodGet, "/v1/assets", partRead, false, page(paramPrefix), "Assets by id", (*api).listAssets},
		{http.MethodGet, "/v1/assets/{asset}/holders", partRead, false, page(), "Accounts that hold or held it", (*api).listHolders},

		{http.MethodPut, "/v1/accounts/{account}", partWrite, true, nil, "Open an account", (*api).putAccount},
		{http.MethodGet, "/v1/accounts/{account}", partRead, false, nil, "An account", (*api).getAccount},
		{http.MethodGet, "/v1/accounts", partRead, false, page(paramPrefix), "Accounts by id", (*api).listAccounts},
		{http.MethodGet, "/v1/accounts/{account}/summary", partRead, false, []string{paramNewest}, "The account's page", (*api).getSummary},
		{http.MethodGet, "/v1/accounts/{account}/balances", partRead, false, page(paramConsistency), "All its balances", (*api).listBalances},
		{http.MethodGet, "/v1/accounts/{account}/balances/{asset}", partRead, false, []string{paramConsistency}, "One balance", (*api).getBalance},
		{http.MethodGet, "/v1/accounts/{account}/postings", partRead, false, page(paramAsset, paramFrom, paramTo, paramConsistency), "Its history, newest first", (*api).listPostings},
		{http.MethodGet, "/v1/accounts/{account}/members", partRead, false, page(), "Its members", (*api).listMembers},
		{http.MethodPut, "/v1/accounts/{account}/members/{user}", partWrite, true, nil, "Grant a user a role", (*api).putMember},
		{http.MethodDelete, "/v1/accounts/{account}/members/{user}", partWrite, false, nil, "Revoke a user's role", (*api).deleteMember},
		{http.MethodGet, "/v1/users/{user}/accounts", partRead, false, page(), "A user's memberships", (*api).listAccountsOf},

		{http.MethodPost, "/v1/transactions", partWrite, true, nil, "Post a transaction", (*api).postTransaction},
		{http.MethodPost, "/v1/transfers", partWrite, true, nil, "Post a transfer", (*api).postTransfer},
		{http.MethodPost, "/v1/trades", partWrite, true, nil, "Post a trade", (*api).postTrade},
		{http.MethodGet, "/v1/transactions/{id}", partRead, false, nil, "A transaction with all its postings", (*api).getTransaction},
	}
}

// match finds the route of a request and the values of its braces. HEAD is answered as GET. Without a route, allow lists
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
		v, ok := fit(routes[i].pattern, segments)
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

// split cuts a path at its slashes, and decodes the segments after that: an encoded slash is part of a segment.
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

// fit compares a pattern with a path's segments. An empty segment is no id: a path with a slash too many is unknown.
func fit(pattern string, segments []string) (values map[string]string, ok bool) {
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
