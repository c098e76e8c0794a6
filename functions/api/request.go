package api

import (
	"net/http"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/access"
	"ledger.example/ledger"
)

// request is one HTTP request and what was read of it.
type request struct {
	http      *http.Request
	id        string
	route     *route // nil if no route matches
	caller    access.Caller
	actor     string            // the caller's name in events
	ids       map[string]string // of the path, by the name in braces
	query     map[string]string // the valid query parameters, by name
	text      []byte            // the body, nil if the route has none; read uses it up
	body      *body             // what was found in text, nil before it is read
	faults    []fieldError      // of path, query and headers, then those of the body
	badCursor bool              // one of faults is a cursor that does not belong to the list
	dry       bool              // a dry run: nothing is written

	rule         rule          // who may
	grants       access.Grants // the roles of users
	isPermitted  bool          // a user's roles were checked, and are enough
	right        access.Right  // that checkRole found
	seen         view          // of the transactions in the answer to a user
	pendingCheck chan error    // what a check under way says; nil: there is none
}

// checkPath checks the ids of the path, in their order.
func (r *request) checkPath() {
	for part := range strings.SplitSeq(r.route.pattern, "/") {
		if name, isID := strings.CutPrefix(part, "{"); isID {
			if name = strings.TrimSuffix(name, "}"); !events.ValidID(r.ids[name]) {
				r.fail(name, ruleID)
			}
		}
	}
}

// lastID returns the last id of the path.
func (r *request) lastID() string {
	path := r.route.pattern
	return r.ids[strings.TrimSuffix(path[strings.LastIndex(path, "{")+1:], "}")]
}

// fail records a fault of a field, a parameter or a header.
func (r *request) fail(field, rule string) {
	r.faults = append(r.faults, fieldError{Field: field, Rule: rule})
}

// check returns the problem of all recorded faults. If there are none, it starts the check of the caller's role, and
// returns a refusal that is known at once.
func (r *request) check() error {
	switch {
	case len(r.faults) == 0:
		return r.startCheck()
	case len(r.faults) == 1 && r.badCursor:
		return newProblem(codeInvalidCursor, "The cursor "+r.faults[0].Rule+"; begin again without it.", r.faults...)
	}
	return newProblem(ledger.CodeInvalidRequest, "One or more fields are invalid; see errors.", r.faults...)
}
