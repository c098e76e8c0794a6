package api

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// The numbers of items in pages of lists.
const (
	limitMax      = 100
	limitDefault  = 20
	newestMax     = 100
	newestDefault = 10
	pageBalances  = 100 // of an account's summary
)

// The rules of query parameters, for callers.
const (
	ruleParameter   = "is not a parameter of this request"
	ruleEncoding    = "is not valid percent-encoding"
	ruleConsistency = "must be strong or eventual"
	rulePrefix      = "must be the beginning of an id"
	ruleTime        = "must be an RFC 3339 time, such as 2026-11-21T09:00:00Z; a plus sign is sent as %2B"
	ruleFuture      = "must not be in the future"
	ruleEpoch       = "must not be before 2014-05-13T16:53:20Z, the earliest time of a KSUID"
	ruleSpan        = "must not be after to"
	ruleOfAsset     = "is supported only together with asset"
)

// The values of consistency. A strong read includes every transaction acknowledged before it. An eventual read reads
// projections, which lag.
const (
	strong   = "strong"
	eventual = "eventual"
)

// readQuery reads the query parameters. Unknown and repeated parameters are faults.
func (r *request) readQuery() {
	if r.http.URL.RawQuery == "" {
		return
	}
	r.query = make(map[string]string)
	for pair := range strings.SplitSeq(r.http.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			r.failOnce(rawName, ruleEncoding)
			continue
		}
		value, err := url.QueryUnescape(rawValue)
		_, repeated := r.query[name]
		switch {
		case !r.route.takes(name):
			r.failOnce(name, ruleParameter)
		case repeated:
			r.failOnce(name, ruleOnce)
		case err != nil:
			r.failOnce(name, ruleEncoding)
		default:
			r.query[name] = value
		}
	}
}

// failOnce records a fault unless the field already has one, or errorsMax faults are recorded. The name of a parameter
// may be any bytes.
func (r *request) failOnce(field, rule string) {
	if len(r.faults) >= errorsMax {
		return
	}
	field = strings.ToValidUTF8(field, "\uFFFD") // as JSON shows it
	if !slices.ContainsFunc(r.faults, func(f fieldError) bool { return f.Field == field }) {
		r.fail(field, rule)
	}
}

// number returns a parameter that is a whole number from least to most, fallback if it is not given.
func (r *request) number(name string, least, most, fallback int) int {
	text, given := r.query[name]
	if !given {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most || strconv.Itoa(n) != text {
		r.failOnce(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n
}

// isDry reports whether the request is a dry run.
func (r *request) isDry() bool {
	text, given := r.query[paramDryRun]
	if given && text != "true" && text != "false" {
		r.failOnce(paramDryRun, ruleBool)
	}
	return text == "true"
}

// consistency returns strong or eventual.
func (r *request) consistency() string {
	text, given := r.query[paramConsistency]
	if given && text != strong && text != eventual {
		r.failOnce(paramConsistency, ruleConsistency)
	}
	return cmp.Or(text, eventual)
}

// filter returns a parameter that is an id or a prefix of ids, "" if it is not given. An empty parameter is a fault.
func (r *request) filter(name, rule string) string {
	text, given := r.query[name]
	if given && !events.ValidID(text) {
		r.failOnce(name, rule)
	}
	return text
}

// time returns a time parameter in whole microseconds, the zero time if it is not given. It rounds up. Postings have
// times of whole microseconds, so the same postings are before the given time and before the rounded time.
func (r *request) time(name string) time.Time {
	text, given := r.query[name]
	if !given {
		return time.Time{}
	}
	t, ok := events.ReadTime(text)
	if !ok {
		r.failOnce(name, ruleTime)
		return time.Time{}
	}
	if t = wholeMicros(t); t.Unix() < 0 {
		t = time.Unix(0, 0).UTC() // before any posting; the zero time would mean no bound
	}
	return t
}

// wholeMicros returns the first whole microsecond at or after t.
func wholeMicros(t time.Time) time.Time {
	return t.UTC().Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

// slice returns the part of l that the parameters limit and cursor select.
func (r *request) slice(l list) projections.Slice { return r.sliceAfter(paramCursor, l) }

// sliceAfter is slice with the cursor in another parameter.
func (r *request) sliceAfter(name string, l list) projections.Slice {
	s := projections.Slice{Limit: r.number(paramLimit, 1, limitMax, limitDefault)}
	cursor, given := r.query[name]
	if !given {
		return s
	}
	position, err := l.position(cursor)
	// If a filter is invalid, the cursor may belong to the list with the correct filter.
	if err != nil && (err != errCursorForeign || len(r.faults) == 0) {
		before := len(r.faults)
		r.failOnce(name, err.Error())
		r.badCursor = len(r.faults) > before // false if the parameter already has a fault
	}
	s.After = position
	return s
}
