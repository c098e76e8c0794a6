package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/functions/access"
	"ledger.example/projections"
)

// A route is one operation of the API. Methods other than GET write.
type route struct {
	client.Operation // a public one has only a method, a path and a summary

	may    rule                                // who may use it
	tells  access.Role                         // the role from which on a read shows more, if it is stronger
	query  []string                            // names of the query parameters
	at     positions                           // of a page
	handle func(*api, *request) (reply, error) // the reply is valid only if the error is nil
}

// routes returns the table of routes, in the order of the page for people. To add a route, declare its operation in
// package client, add its line here and what it needs to the file of its resource, and run go generate ./docs.
func routes() []route {
	type lists = projections.Lists
	return []route{
		public("/", "Get a page for people", (*api).home),
		public("/healthz", "Check that the server answers", (*api).health),
		public("/openapi.json", "Get this API as OpenAPI 3.1", (*api).openapi),
		public("/problems", "List every problem", (*api).problems),
		public(problemsPath+"{code}", "Get the page of a problem", (*api).problem),

		read(client.GetMe, (*api).getMe),

		put(client.RegisterAsset, (*request).registerAsset, Commands.RegisterAsset, Resources.Asset, showAsset),
		get(client.GetAsset, Resources.Asset, showAsset),
		list(client.ListAssets, byAsset, those[client.ByPrefix]((*lists).Assets), showAsset),
		list(client.ListAssetHolders, byAccount, (*api).holders, showHolding),

		put(client.OpenAccount, (*request).openAccount, Commands.OpenAccount, Resources.Account, showAccount),
		get(client.GetAccount, Resources.Account, showAccount),
		write(client.ChangeAccount, (*request).changeAccount, (*api).change),
		list(client.ListChanges, byNumber, those[client.AccountID]((*lists).Changes), showChange),
		list(client.ListAccounts, byAccount, (*api).accounts, showHolder),
		read(client.GetAccountSummary, (*api).getSummary),
		list(client.ListBalances, byAsset, (*api).balances, asIs),
		read(client.GetBalance, (*api).getBalance),
		paged(client.GetStatement, inStatement, paramCursor, (*api).statement),
		list(client.ListRates, byRate, (*api).rates, showUsedRate),
		list(client.ListPostings, byKSUID, (*api).postings, showPosting),
		list(client.ListHolds, byKSUID, (*api).holds, showTransaction),
		grantedToOwners(list(client.ListMembers, byUser, those[client.AccountID]((*lists).Members), showMember),
			func(m *client.AccountMember) *client.Granted { return &m.Granted }),
		write(client.GrantMember, (*request).grantMember, (*api).grant),
		write(client.RevokeMember, (*request).revokeMember, (*api).revoke),
		list(client.ListAccountGroups, byGroup, those[client.AccountID]((*lists).AccountGroups), showGrouped),
		list(client.ListMemberships, byRole, those[client.UserID]((*lists).AccountsOf), showAccountRole),
		list(client.ListGroupsOf, byGroup, those[client.UserID]((*lists).GroupsOf), showGroupMembership),

		put(client.RegisterGroup, (*request).registerGroup, Commands.RegisterGroup, Resources.Group, showGroup),
		get(client.GetGroup, Resources.Group, showGroup),
		list(client.ListGroups, byGroup, those[client.ByPrefix]((*lists).Groups), showGroup),
		write(client.GroupAccount, grouping(false), (*api).group),
		write(client.UngroupAccount, grouping(true), (*api).group),
		list(client.ListGroupAccounts, byAccount, those[client.GroupID]((*lists).GroupAccounts), showGrouped),
		write(client.GrantGroupMember, (*request).grantGroupMember, (*api).grant),
		write(client.RevokeGroupMember, (*request).revokeGroupMember, (*api).revoke),
		grantedToOwners(list(client.ListGroupMembers, byUser,
			those[client.GroupID]((*lists).GroupMembers), showGroupMember),
			func(m *client.GroupMember) *client.Granted { return &m.Granted }),
		ofGroup(list(client.GetGroupTotals, byBalance,
			those[client.GroupID]((*lists).GroupTotals), showTotal)),

		write(client.ClosePeriod, (*request).closePeriod, (*api).close),
		list(client.ListPeriods, byNumber, (*api).periods, showPeriod),

		write(client.PostTransaction, (*request).transaction, (*api).post),
		write(client.PostTransfer, (*request).transfer, (*api).post),
		write(client.PostTrade, (*request).trade, (*api).post),
		write(client.PostSplit, (*request).split, (*api).post),
		routeOf(client.PostBatch, (*api).postBatch),
		list(client.ListTransactions, byPosting, (*api).transactions, showTransaction),
		read(client.GetTransaction, (*api).getTransaction),
		write(client.CaptureHold, (*request).capture, (*api).post),
		write(client.ReleaseHold, (*request).release, (*api).post),
		write(client.ReverseTransaction, (*request).reversal, (*api).post),
		list(client.ListReversals, byNumber, (*api).reversals, showReversal),
		list(client.ListOpenHolds, byExpiry, (*api).openHolds, showTransaction),
		paged(client.ListJournal, inJournal, paramAfter, (*api).journal),
	}
}

// asIs shows an item of a list that is converted already.
func asIs(item any) any { return item }

// public returns the route of a read that everybody may do. It is not an operation of the ledger.
func public(path, summary string, handle func(*api, *request) (reply, error)) route {
	o := client.Operation{Method: http.MethodGet, Path: path, Summary: summary, Tagged: path == "/openapi.json"}
	return route{Operation: o, handle: handle}
}

// A rule says who may use a route. Services and administrators may use all routes. Users need a role.
type rule struct {
	of   client.Subject
	role access.Role // the weakest that suffices
}

// ruleOf returns the rule of a permission.
func ruleOf(p client.Permission) rule {
	role := access.None
	for role.String() != p.Role {
		role++
	}
	return rule{p.On, role}
}

// Operations returns the operations of the API, in the order of the page for people. Public ones have no ID.
func Operations() []client.Operation {
	var all []client.Operation
	for _, r := range routes() {
		all = append(all, r.Operation)
	}
	return all
}

// checkRules returns routes. It panics if a route under /v1 has no rule, so that no route is public by mistake, and if
// users may use one of which the answer does not say what it names.
func checkRules(routes []route) []route {
	for _, r := range routes {
		if r.public() {
			continue
		}
		if r.may.of == "" {
			panic(fmt.Sprintf("%s %s has no rule that says who may: package client", r.Method, r.Path))
		}
		if r.may.of == client.OnLedger { // no user gets its answers
			continue
		}
		err := checkDeclared(r.Path, r.Out)
		if r.IsPage() && len(r.at.forms) == 0 {
			err = fmt.Errorf("a page without positions: %w", errUndeclared)
		}
		if err != nil {
			panic(fmt.Sprintf("%s %s: %v", r.Method, r.Path, err))
		}
	}
	return routes
}

// bodyBytes returns the most bytes of a body. Those of batches may be larger than others.
func (r *route) bodyBytes() int64 {
	if r.Path == client.PostBatch.Path {
		return BatchBytes
	}
	return BodyBytes
}

// takes reports whether r has the query parameter.
func (r *route) takes(name string) bool {
	if strings.HasPrefix(name, metadataPrefix) {
		name = metadataPrefix + "KEY"
	}
	return slices.Contains(r.query, name)
}

// public reports whether r answers requests without authentication.
func (r *route) public() bool { return !strings.HasPrefix(r.Path, "/v1/") }

// writes reports whether r changes the ledger, so that an error may leave the outcome unknown.
func (r *route) writes() bool { return r.Method != http.MethodGet }

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
		v, ok := matchPattern(routes[i].Path, segments)
		switch {
		case !ok:
		case routes[i].Method == method:
			return &routes[i], v, nil
		case routes[i].Method == http.MethodGet:
			allow = append(allow, http.MethodGet, http.MethodHead)
		default:
			allow = append(allow, routes[i].Method)
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
