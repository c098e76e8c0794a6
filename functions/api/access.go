package api

import (
	"fmt"

	"ledger.example/internal/access"
)

// subject is what a role must be on.
type subject int

const (
	// onNothing: every caller may, whoever it is.
	onNothing subject = iota
	// onLedger: services and administrators alone.
	onLedger
	// onThemselves: the user of the path, about themselves.
	onThemselves
	// onAccount: a role on the account of the path.
	onAccount
	// onGroup: a role in the group of the path.
	onGroup
	// onDebited: a role on every account that the body debits.
	onDebited
	// onAnyLeg: a role on an account of the transaction of the path. What stands in other accounts is left out.
	onAnyLeg
	// onHold: a role on every account that the hold of the path debits, if a user placed it.
	onHold
	// onReversed: a role on every account that a reversal of the transaction of the path debits.
	onReversed
)

// A rule says who may use a route: services and administrators may use all of them, users only with a role.
type rule struct {
	method, pattern string
	of              subject
	role            access.Role // the weakest that is enough
	note            string      // what else counts, for people
}

// rules is the table of who may do what: the checks, docs/access.md and the tests of every route come from it. A route
// under /v1 that it lacks does not start. To add a route, add its line here.
func rules() []rule {
	const (
		asset   = "/v1/assets/{asset}"
		account = "/v1/accounts/{account}"
		posted  = "/v1/transactions/{id}"
		group   = "/v1/groups/{group}"
		nobody  = access.None
		viewer  = access.Viewer
		oper    = access.Operator
		owner   = access.Owner
		admin   = access.Administrator
	)
	return []rule{
		{"GET", "/v1/me", onNothing, nobody, ""},

		{"PUT", asset, onLedger, admin, ""},
		{"GET", asset, onNothing, nobody, ""},
		{"GET", "/v1/assets", onNothing, nobody, ""},
		{"GET", asset + "/holders", onLedger, admin, ""},

		{"PUT", account, onLedger, admin, ""},
		{"GET", account, onAccount, viewer, ""},
		{"PATCH", account, onLedger, admin, ""},
		{"GET", account + "/changes", onAccount, viewer, ""},
		{"GET", "/v1/accounts", onLedger, admin, ""},
		{"GET", account + "/summary", onAccount, viewer, ""},
		{"GET", account + "/balances", onAccount, viewer, ""},
		{"GET", account + "/balances/{asset}", onAccount, viewer, ""},
		{"GET", account + "/postings", onAccount, viewer, ""},
		{"GET", account + "/statement", onAccount, viewer, ""},
		{"GET", account + "/holds", onAccount, viewer, "legs of accounts without a role are left out"},
		{"GET", account + "/groups", onAccount, viewer, "groups without a role are left out"},
		{"GET", account + "/members", onAccount, viewer, ""},
		{"PUT", account + "/members/{user}", onAccount, owner, ownNote},
		{"DELETE", account + "/members/{user}", onAccount, owner, ownNote},
		{"GET", "/v1/users/{user}/accounts", onThemselves, nobody, ""},
		{"GET", "/v1/users/{user}/groups", onThemselves, nobody, ""},

		{"PUT", group, onLedger, admin, ""},
		{"GET", group, onGroup, viewer, ""},
		{"GET", "/v1/groups", onLedger, admin, ""},
		{"GET", group + "/accounts", onGroup, viewer, ""},
		{"PUT", group + "/accounts/{account}", onLedger, admin, ""},
		{"DELETE", group + "/accounts/{account}", onLedger, admin, ""},
		{"GET", group + "/members", onGroup, viewer, ""},
		{"PUT", group + "/members/{user}", onGroup, owner, ownNote},
		{"DELETE", group + "/members/{user}", onGroup, owner, ownNote},
		{"GET", group + "/balances", onGroup, viewer, ""},

		{"POST", "/v1/transactions", onDebited, oper, effectiveNote},
		{"POST", "/v1/transfers", onDebited, oper, effectiveNote},
		{"POST", "/v1/trades", onDebited, oper, effectiveNote},
		{"POST", batches, onDebited, oper, "each request for itself; " + effectiveNote},
		{"GET", "/v1/transactions", onLedger, admin, ""},
		{"GET", posted, onAnyLeg, viewer, "legs of accounts without a role are left out"},
		{"POST", posted + "/capture", onHold, oper, "only of a hold that a user placed"},
		{"POST", posted + "/release", onHold, oper, "only of a hold that a user placed"},
		{"POST", posted + "/reversals", onReversed, oper, effectiveNote},
		{"GET", posted + "/reversals", onAnyLeg, viewer, "legs of accounts without a role are left out"},
		{"GET", "/v1/holds", onLedger, admin, ""},
		{"GET", "/v1/journal", onLedger, admin, ""},
	}
}

const ownNote = "nobody changes their own role, so that the last owner stays"

const effectiveNote = "administrators alone give effective_at"

// AccessRule is a line of the table of who may do what, for people.
type AccessRule struct {
	Method, Path string
	Role         string // the weakest that is enough; "" if users need none
	Of           string // what the role must be on
	Note         string
}

// AccessRules returns who may do what, for the routes that there are, in their order.
func AccessRules() []AccessRule {
	var lines []AccessRule
	served := routes()
	may := ruled(served)
	for i := range served {
		if rule := may[&served[i]]; rule != nil {
			lines = append(lines, AccessRule{
				Method: rule.method, Path: rule.pattern, Note: rule.note,
				Role: rule.role.String(), Of: subjects[rule.of],
			})
		}
	}
	return lines
}

// subjects are what roles must be on, in words for people.
var subjects = map[subject]string{
	onNothing:    "",
	onLedger:     "the ledger",
	onThemselves: "(the user themselves)",
	onAccount:    "the account",
	onGroup:      "the group",
	onDebited:    "every account that the body debits",
	onAnyLeg:     "an account of the transaction",
	onHold:       "every account that the hold debits",
	onReversed:   "every account that the reversal debits",
}

// ruled returns the rule of each route under /v1. It panics if there is none: a route that nobody thought about must
// not be served.
func ruled(routes []route) map[*route]*rule {
	all, found := rules(), make(map[*route]*rule, len(routes))
	for i := range routes {
		r := &routes[i]
		for j := range all {
			if all[j].method == r.method && all[j].pattern == r.pattern {
				found[r] = &all[j]
			}
		}
		if found[r] == nil && !r.public() {
			panic(fmt.Sprintf("%s %s has no line in the table of who may do what: functions/api/access.go", r.method,
				r.pattern))
		}
	}
	return found
}
