package api

import (
	"fmt"

	"ledger.example/internal/access"
)

// subject is what a role must be on.
type subject int

const (
	// undecided is of what is public. A route under /v1 that nobody decided about does not start.
	undecided subject = iota
	// onNothing: every caller may, whoever it is.
	onNothing
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
	of   subject
	role access.Role // the weakest that is enough
	note string      // what else counts, for people
}

// The rules of the table of routes. The checks, docs/access.md and the tests of every route come from them.
var (
	public            = rule{}
	everyone          = rule{of: onNothing}
	admins            = rule{of: onLedger, role: access.Administrator}
	themselves        = rule{of: onThemselves}
	viewers           = rule{of: onAccount, role: access.Viewer}
	owners            = rule{onAccount, access.Owner, ownNote}
	groupViewers      = rule{of: onGroup, role: access.Viewer}
	groupOwners       = rule{onGroup, access.Owner, ownNote}
	operators         = rule{onDebited, access.Operator, effectiveNote}
	batchOperators    = rule{onDebited, access.Operator, "each request for itself; " + effectiveNote}
	legViewers        = rule{onAnyLeg, access.Viewer, leftOut("legs of accounts")}
	holdOperators     = rule{onHold, access.Operator, "only of a hold that a user placed"}
	reversalOperators = rule{onReversed, access.Operator, effectiveNote}
)

const (
	ownNote       = "nobody changes their own role, so that the last owner stays"
	effectiveNote = "administrators alone give effective_at"
)

// viewersOf is viewers of a list in which some are left out.
func viewersOf(what string) rule { return rule{onAccount, access.Viewer, leftOut(what)} }

func leftOut(what string) string { return what + " without a role are left out" }

// AccessRule is a line of the table of who may do what, for people.
type AccessRule struct {
	Method, Path string
	Role         string // the weakest that is enough; "" if users need none
	Of           string // what the role must be on
	Note         string
}

// AccessRules returns who may do what, for the routes that are not public, in their order.
func AccessRules() []AccessRule {
	var lines []AccessRule
	for _, r := range routes() {
		if !r.public() {
			lines = append(lines, AccessRule{
				Method: r.method, Path: r.pattern, Note: r.may.note, Role: r.may.role.String(), Of: subjects[r.may.of],
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

// decided returns routes. It panics if one under /v1 has no rule: a route that nobody thought about must not be served.
func decided(routes []route) []route {
	for _, r := range routes {
		if r.may.of == undecided && !r.public() {
			panic(fmt.Sprintf("%s %s has no rule that says who may: functions/api/routes.go", r.method, r.pattern))
		}
	}
	return routes
}
