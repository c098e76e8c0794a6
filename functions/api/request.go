package api

import (
	"net/http"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/access"
	"ledger.example/ledger"
)

// request is one request that is being answered.
type request struct {
	http      *http.Request
	id        string
	route     *route // nil: there is none
	caller    access.Caller
	actor     string            // the caller's name in events
	ids       map[string]string // of the path, by the name in braces
	query     map[string]string // the parameters given, by name; those at fault are left out
	body      *node             // nil unless the route has one
	twice     []fieldError      // fields that come twice in body
	wrong     []fieldError      // faults of path, query and headers, then those of the body
	badCursor bool              // one of wrong is a cursor that does not belong to the list
	dry       bool              // nothing is to be written

	rule    rule          // who may
	grants  access.Grants // the roles of users
	passed  bool          // a user's roles were checked, and are enough
	right   access.Right  // what look found
	verdict chan error    // what a check under way says; nil: there is none
}

// checkPath checks the ids of the path, in its order.
func (r *request) checkPath() {
	for part := range strings.SplitSeq(r.route.pattern, "/") {
		if name, isID := strings.CutPrefix(part, "{"); isID {
			if name = strings.TrimSuffix(name, "}"); !events.ValidID(r.ids[name]) {
				r.fail(name, ruleID)
			}
		}
	}
}

// fail records a fault of a field, a parameter or a header.
func (r *request) fail(field, rule string) {
	r.wrong = append(r.wrong, fieldError{Field: field, Rule: rule})
}

// check returns nil, or the problem of all faults recorded, or else what says at once that the caller may not.
func (r *request) check() error {
	switch {
	case len(r.wrong) == 0:
		return r.begin()
	case len(r.wrong) == 1 && r.badCursor:
		return newProblem(codeInvalidCursor, "The cursor "+r.wrong[0].Rule+"; begin again without it.", r.wrong...)
	}
	return newProblem(ledger.CodeInvalidRequest, "One or more fields are invalid; see errors.", r.wrong...)
}
