package api

import (
	"fmt"

	"ledger.example/internal/access"
)

// subject is what a user needs a role on.
type subject int

const (
	// undecided is for public routes. New panics if a route under /v1 has it.
	undecided subject = iota
	// onNothing is for all authenticated callers.
	onNothing
	// onLedger is for services and administrators only.
	onLedger
	// onThemselves is for the user of the path.
	onThemselves
	// onAccount needs a role on the account of the path.
	onAccount
	// onGroup needs a role in the group of the path.
	onGroup
	// onDebited needs a role on every account that the body debits or gives a cost.
	onDebited
	// onAnyLeg needs a role on an account of the transaction of the path. Legs of other accounts are omitted.
	onAnyLeg
	// onHold needs a role on every account that the hold of the path debits. A user must have placed the hold.
	onHold
	// onReversed needs a role on every account that the reversal of the transaction of the path debits.
	onReversed
)

// A rule says who may use a route. Services and administrators may use all routes. Users need a role.
type rule struct {
	of   subject
	role access.Role // the weakest that suffices
	note string      // other conditions, for people
}

// The rules of the routes. The checks, docs/access.md and the tests of every route use them.
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
	batchOperators    = rule{onDebited, access.Operator, batchNote + effectiveNote}
	legViewers        = rule{onAnyLeg, access.Viewer, omitted("legs of accounts")}
	holdOperators     = rule{onHold, access.Operator, "the hold must have been placed by a user"}
	reversalOperators = rule{onReversed, access.Operator, effectiveNote}
)

const (
	batchNote     = "each request is checked as on its own route; "
	ownNote       = "users cannot change their own role"
	effectiveNote = "only administrators may set effective_at"
)

// viewersOf returns the rule of viewers for a list in which items without a role are omitted.
func viewersOf(what string) rule { return rule{onAccount, access.Viewer, omitted(what)} }

func omitted(what string) string { return what + " without a role are omitted" }

// AccessRule is a line of the table of who may do what, for people.
type AccessRule struct {
	Method, Path string
	Role         string // the weakest that suffices; "" if users need none
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

// subjects describes subjects for people.
var subjects = map[subject]string{
	onNothing:    "",
	onLedger:     "the ledger",
	onThemselves: "(the user themselves)",
	onAccount:    "the account",
	onGroup:      "the group",
	onDebited:    "every account that the body debits or gives a cost",
	onAnyLeg:     "an account of the transaction",
	onHold:       "every account that the hold debits",
	onReversed:   "every account that the reversal debits",
}

// checkRules returns routes. It panics if a route under /v1 has no rule, so that no route is public by mistake.
func checkRules(routes []route) []route {
	for _, r := range routes {
		if r.may.of == undecided && !r.public() {
			panic(fmt.Sprintf("%s %s has no rule that says who may: functions/api/routes.go", r.method, r.pattern))
		}
	}
	return routes
}
