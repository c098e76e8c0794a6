package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ledger.example/client"
)

// A route is one operation of the API. Methods other than GET write.
type route struct {
	method  string
	pattern string                              // segments in braces are ids
	may     rule                                // who may use it
	query   []string                            // names of the query parameters
	summary string                              // one line for people
	handle  func(*api, *request) (reply, error) // the reply is valid only if the error is nil

	declared  client.Operation // empty if it is public
	takesBody bool
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

// routes returns the table of routes, in the order of the page for people. To add a route, declare its operation in
// package client, add its line here and its handler to the file of its resource, and run go generate ./docs.
func routes() []route {
	return []route{
		public("/", "Get a page for people", (*api).home),
		public("/healthz", "Check that the server answers", (*api).health),
		public("/openapi.json", "Get this API as OpenAPI 3.1", (*api).openapi),
		public("/problems", "List every problem", (*api).problems),
		public(problemsPath+"{code}", "Get the page of a problem", (*api).problem),

		serve(client.GetMe, (*api).getMe),

		serve(client.RegisterAsset, (*api).putAsset),
		serve(client.GetAsset, (*api).getAsset),
		serve(client.ListAssets, (*api).listAssets),
		serve(client.ListAssetHolders, (*api).listHolders),

		serve(client.OpenAccount, (*api).putAccount),
		serve(client.GetAccount, (*api).getAccount),
		serve(client.ChangeAccount, (*api).patchAccount),
		serve(client.ListChanges, (*api).listChanges),
		serve(client.ListAccounts, (*api).listAccounts),
		routeOf(client.GetAccountSummary, (*api).getSummary),
		routeOf(client.ListBalances, (*api).listBalances),
		routeOf(client.GetBalance, (*api).getBalance),
		routeOf(client.GetStatement, (*api).getStatement),
		routeOf(client.ListPostings, (*api).listPostings),
		routeOf(client.ListHolds, (*api).listHolds),
		serve(client.ListMembers, (*api).listMembers),
		serve(client.GrantMember, (*api).grantMember),
		serve(client.RevokeMember, (*api).revokeMember),
		serve(client.ListAccountGroups, (*api).listAccountGroups),
		serve(client.ListMemberships, (*api).listAccountsOf),
		serve(client.ListGroupsOf, (*api).listGroupsOf),

		serve(client.RegisterGroup, (*api).putGroup),
		serve(client.GetGroup, (*api).getGroup),
		serve(client.ListGroups, (*api).listGroups),
		serve(client.GroupAccount, (*api).putGrouped),
		serve(client.UngroupAccount, (*api).deleteGrouped),
		serve(client.ListGroupAccounts, (*api).listGroupAccounts),
		serve(client.GrantGroupMember, (*api).grantGroupMember),
		serve(client.RevokeGroupMember, (*api).revokeGroupMember),
		serve(client.ListGroupMembers, (*api).listGroupMembers),
		serve(client.GetGroupTotals, (*api).getTotals),

		routeOf(client.PostTransaction, (*api).postTransaction),
		routeOf(client.PostTransfer, (*api).postTransfer),
		routeOf(client.PostTrade, (*api).postTrade),
		routeOf(client.PostBatch, (*api).postBatch),
		routeOf(client.ListTransactions, (*api).listTransactions),
		serve(client.GetTransaction, (*api).getTransaction),
		routeOf(client.CaptureHold, (*api).capture),
		routeOf(client.ReleaseHold, (*api).release),
		routeOf(client.ReverseTransaction, (*api).postReversal),
		serve(client.ListReversals, (*api).listReversals),
		serve(client.ListOpenHolds, (*api).listOpenHolds),
		routeOf(client.ListJournal, (*api).listJournal),
	}
}

// public returns the route of a read that everybody may do. It is not an operation of the ledger.
func public(path, summary string, handle func(*api, *request) (reply, error)) route {
	return route{method: http.MethodGet, pattern: path, summary: summary, handle: handle}
}

// batches is the path of batches. Their bodies may be larger than others.
var batches = client.PostBatch.Path

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

// hasBody reports whether r needs a JSON object. Other routes ignore a body.
func (r *route) hasBody() bool { return r.takesBody }

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
