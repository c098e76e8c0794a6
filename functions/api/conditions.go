package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/ledger"
)

// Conditional headers of writes (RFC 9110, 13). None is ignored: one that a write does not support is a fault.
const (
	headerMatch     = "If-Match"
	headerNoneMatch = "If-None-Match"
	headerSince     = "If-Unmodified-Since"
)

// The rules of conditional headers, for callers.
const (
	ruleTag       = `must be ETags of the account, such as "3", or *`
	ruleAbsent    = "must be * in a PUT: only if there is nothing yet"
	ruleCondition = "is not supported by this request"
)

// readConditions reads the conditional headers of a write. If-Match of a change of an account is read by ifMatch.
func (r *request) readConditions() {
	if !r.route.writes() {
		return
	}
	for _, name := range []string{headerMatch, headerNoneMatch, headerSince} {
		values, given := r.http.Header[name]
		switch {
		case !given, name == headerMatch && r.route.takesHeader(name):
		case name == headerNoneMatch && r.route.Method == http.MethodPut:
			if r.ifAbsent = len(values) == 1 && strings.TrimSpace(values[0]) == "*"; !r.ifAbsent {
				r.fail(name, ruleAbsent)
			}
		default:
			r.fail(name, ruleCondition)
		}
	}
}

// takesHeader reports whether the operation declares a header of its own.
func (r *route) takesHeader(name string) bool {
	return slices.ContainsFunc(client.FieldsOf(r.In), func(f client.Field) bool { return f.Header == name })
}

// unlessFound returns the answer of a handler, or the problem of a PUT that must not find anything, and did. A PUT
// creates with a conditional write. So if it answers that there was something, the same or not, it wrote nothing. Only
// a grant replaces what it finds: the ledger refuses it.
func (r *request) unlessFound(out reply, err error) (reply, error) {
	isFound := err == nil && out.status == http.StatusOK ||
		err != nil && problemOf(err, true).Status == http.StatusConflict
	if !r.ifAbsent || !isFound {
		return out, err
	}
	return reply{}, ledger.PreconditionFailed()
}

// ifMatch reads the If-Match header: the versions in it, and whether it allows any version. A weak tag, or a tag that
// is not a version, matches nothing (RFC 9110, 13.1.1) and is represented by -1.
func (r *request) ifMatch() (versions []int64, any bool) {
	values, given := r.http.Header[headerMatch]
	if !given {
		return nil, true
	}
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			one = strings.TrimSpace(one)
			tag, isTag := strings.CutPrefix(strings.TrimPrefix(one, "W/"), `"`)
			tag, closed := strings.CutSuffix(tag, `"`)
			switch {
			case one == "*":
				any = true
			case !isTag || !closed || strings.Contains(tag, `"`):
				r.failOnce(headerMatch, ruleTag)
			case strings.HasPrefix(one, "W/") || !isNumber(tag):
				versions = append(versions, -1)
			default:
				n, _ := strconv.ParseInt(tag, 10, 64) // isNumber has checked it
				versions = append(versions, n)
			}
		}
	}
	return versions, any
}
