package api

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// BodyBytes is the most bytes of a request's body (API, order of checks): a transaction of the most postings with the
// longest ids has about 14 KB.
const BodyBytes = 256 << 10

// request is one request under way.
type request struct {
	*http.Request
	route *route
	actor string
	ids   map[string]string   // of the path, by the name in braces
	query map[string]string   // the parameters given, by name; complete unless wrong has something to say
	body  *node               // nil unless the route takes one
	twice []ledger.FieldError // fields that come twice in body
	wrong []ledger.FieldError

	badCursor bool // one of wrong is a cursor that isn't of the list
}

// ServeHTTP answers one request and writes one line to the log.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	id := requestID(r.Header)
	w.Header().Set("X-Request-Id", id)
	req := &request{Request: r}
	out, err := a.answer(w, req)
	status := 0
	if err == nil {
		status, err = out.send(w, r)
	}
	var p *problem
	if err != nil {
		p = problemOf(err, req.route != nil && req.route.part == partWrite)
		p.RequestID, status = id, p.Status
		p.send(w, r)
	}
	a.log(req, id, status, time.Since(start), out, p)
}

// survive, deferred, turns a panic into an error: one request's fault stops no other.
func survive(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// answer finds and runs the handler.
func (a *api) answer(w http.ResponseWriter, r *request) (out reply, err error) {
	defer survive(&err)
	found, ids, allow := match(a.routes, r.Method, r.URL)
	switch {
	case found != nil:
	case allow == nil:
		return reply{}, newProblem(codeNotFound, "Nothing is served at this path; GET /openapi.json lists what is.")
	default:
		p := newProblem(codeMethodNotAllowed, fmt.Sprintf("This path takes %s.", strings.Join(allow, ", ")))
		p.allow = allow
		return reply{}, p
	}
	r.route, r.ids = found, ids
	if found.part != partNone {
		if r.actor = a.Actor(r.Request); r.actor == "" {
			return reply{}, newProblem(codeUnauthenticated, "No authorizer vouches for who sends this request.")
		}
		if found.part == partWrite && a.Commands == nil || found.part == partRead && a.Lists == nil {
			return reply{}, fmt.Errorf("%s %s was sent to a function that does not serve it", found.method, found.pattern)
		}
	}
	if found.body {
		if r.body, r.twice, err = readBody(w, r.Request); err != nil {
			return reply{}, err
		}
	}
	if found.part != partNone {
		r.checkPath()
		r.readQuery()
	}
	return found.handle(a, r)
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

// fail records a field, a parameter or a header at fault.
func (r *request) fail(field, rule string) {
	r.wrong = append(r.wrong, ledger.FieldError{Field: field, Rule: rule})
}

// check returns nil, or the problem of everything that is wrong with the request's shape.
func (r *request) check() error {
	switch {
	case len(r.wrong) == 0:
		return nil
	case len(r.wrong) == 1 && r.badCursor:
		return newProblem(codeInvalidCursor, "The cursor "+r.wrong[0].Rule+"; begin again without it.", r.wrong...)
	}
	return newProblem(ledger.CodeInvalidRequest, "One or more fields are at fault; see errors.", r.wrong...)
}

// readBody reads the body of a request and its JSON, and returns the fields that come twice in it.
func readBody(w http.ResponseWriter, r *http.Request) (*node, []ledger.FieldError, error) {
	if !isJSON(r.Header) {
		return nil, nil, newProblem(codeUnsupportedMedia, "Send the body as application/json in UTF-8, not compressed.")
	}
	if r.ContentLength > BodyBytes {
		return nil, nil, tooLarge()
	}
	var body bytes.Buffer
	body.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead) // the whole, and what tells Buffer that there is no more
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, BodyBytes))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, nil, tooLarge()
	}
	if err != nil {
		p := newProblem(codeMalformedBody, "The body ended before it was complete.")
		p.cause = err
		return nil, nil, p
	}
	root, twice, err := parse(body.Bytes())
	if err != nil {
		return nil, nil, newProblem(codeMalformedBody, "The body "+err.Error()+".")
	}
	return root, twice, nil
}

// isJSON tells whether headers announce JSON in UTF-8, as it is.
func isJSON(h http.Header) bool {
	if h.Get("Content-Encoding") != "" {
		return false
	}
	content := h.Get("Content-Type")
	if content == jsonType {
		return true
	}
	media, params, err := mime.ParseMediaType(content)
	charset, given := params["charset"]
	return err == nil && media == jsonType && (!given || strings.EqualFold(charset, "utf-8"))
}

func tooLarge() *problem {
	return newProblem(codeBodyTooLarge, fmt.Sprintf("The body may have at most %d bytes.", BodyBytes))
}

// requestID returns the caller's id for the request if it is 1 to 64 of an id's characters, else a new one.
func requestID(h http.Header) string {
	given := h.Values("X-Request-Id")
	if len(given) == 1 && given[0] != "" && len(given[0]) <= events.IDChars && strings.Trim(given[0], idAlphabet) == "" {
		return given[0]
	}
	return rand.Text()
}

// idAlphabet has every character that an id may hold.
const idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@-"
