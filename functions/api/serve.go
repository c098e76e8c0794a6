package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// ServeHTTP answers one request and writes one log line.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	id := RequestID(r.Header)
	w.Header().Set("X-Request-Id", id)
	req := &request{http: r, id: id, config: &a.config}
	out, err := a.answer(w, req)
	status := 0
	if err == nil {
		status, err = out.send(w, r, req.route.Tagged)
	}
	var p *problem
	if err != nil {
		p = problemOf(err, req.route != nil && req.route.writes())
		p.RequestID, status = id, p.Status
		p.send(w, r)
	}
	a.log(req, id, status, time.Since(start), out, p)
}

// recoverTo must be deferred. It turns a panic into an error, so that a panic ends one request and not the process.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// answer finds the route of a request, reads the request and runs the handler.
func (a *api) answer(w http.ResponseWriter, r *request) (out reply, err error) {
	defer recoverTo(&err)
	found, ids, allow := match(a.routes, r.http.Method, r.http.URL)
	switch {
	case found != nil:
	case allow == nil:
		return reply{}, newProblem(codeNotFound, "This path does not exist; GET /openapi.json lists all paths.")
	default:
		p := newProblem(codeMethodNotAllowed, fmt.Sprintf("This path supports only %s.", strings.Join(allow, ", ")))
		p.allow = allow
		return reply{}, p
	}
	r.route, r.ids, r.rule = found, ids, found.may
	if found.public() {
		return found.handle(a, r)
	}
	if err := a.identify(r); err != nil {
		return reply{}, err
	}
	if found.writes() && a.config.Commands == nil || !found.writes() && a.config.Lists == nil {
		return reply{}, fmt.Errorf("%s %s was sent to a function that does not serve it", found.Method, found.Path)
	}
	if found.HasBody() {
		if r.text, err = readBody(w, r.http, found.bodyBytes()); err != nil {
			return reply{}, err
		}
	}
	r.checkPath()
	r.readQuery()
	out, err = r.visible(found.handle(a, r))
	return r.checked(out, r.refusal(err))
}

// checked withholds the answer of a handler if nobody checked the body or the caller.
func (r *request) checked(out reply, err error) (reply, error) {
	switch {
	case err != nil:
		return reply{}, err
	case r.body != nil && !r.body.checked:
		return reply{}, errors.New("a request was answered without a check of its body")
	case !r.caller.Admin && !r.isPermitted:
		return reply{}, errors.New("a request of a user was answered without a check")
	}
	return out, nil
}

// RequestID returns the caller's id for the request if it is 1 to 64 of an id's characters, else a new one.
func RequestID(h http.Header) string {
	if given := h.Values("X-Request-Id"); len(given) == 1 && isRequestID.MatchString(given[0]) {
		return given[0]
	}
	return rand.Text()
}

var isRequestID = regexp.MustCompile(`^[A-Za-z0-9._:@-]{1,64}$`)
