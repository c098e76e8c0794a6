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

// Limits of lists: numbers of items.
const (
	limitMax      = 100
	limitDefault  = 20
	newestMax     = 100
	newestDefault = 10
	pageBalances  = 100 // of an account's summary
)

// The rules of query parameters, in words for callers.
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

// The values of consistency. A strong read includes every transaction acknowledged before it; an eventual read shows
// what is projected.
const (
	strong   = "strong"
	eventual = "eventual"
)

// readQuery reads the query's parameters, each of which the route must know and the caller may give once.
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

// failOnce is fail for a parameter, which may come again and whose name may be any bytes. It records as many faults
// as a problem names.
func (r *request) failOnce(field, rule string) {
	if len(r.wrong) >= errorsMax {
		return
	}
	field = strings.ToValidUTF8(field, "\uFFFD") // as JSON shows it
	if !slices.ContainsFunc(r.wrong, func(f fieldError) bool { return f.Field == field }) {
		r.fail(field, rule)
	}
}

// number returns a whole number of least to most, in plain digits.
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

// isDry reports whether the caller asks for what would be answered alone.
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

// filter returns an id or the beginning of ids, "" for all. A caller asks for all by leaving the parameter out.
func (r *request) filter(name, rule string) string {
	text, given := r.query[name]
	if given && !events.ValidID(text) {
		r.failOnce(name, rule)
	}
	return text
}

// time returns a time in whole microseconds, the zero time when it isn't given. It rounds up: postings have times of
// whole microseconds, and the rounded time has the same of them before it as the time given.
func (r *request) time(name string) time.Time {
	text, given := r.query[name]
	if !given {
		return time.Time{}
	}
	t, ok := parseTime(text)
	if !ok {
		r.failOnce(name, ruleTime)
		return time.Time{}
	}
	if t = wholeMicros(t); t.Unix() < 0 {
		t = time.Unix(0, 0).UTC() // before any posting, and not the zero time, which means no bound
	}
	return t
}

// wholeMicros returns the first whole microsecond at or after t.
func wholeMicros(t time.Time) time.Time {
	return t.UTC().Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

// parseTime reads an RFC 3339 time. The parser of package time accepts hours of one digit, and a comma before the
// fraction.
func parseTime(text string) (t time.Time, ok bool) {
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil && text[len("2006-01-02T15")] == ':' && !strings.Contains(text, ",")
}

// slice returns the requested part of l.
func (r *request) slice(l list) projections.Slice { return r.sliceAfter(paramCursor, l) }

// sliceAfter is slice with the cursor in a parameter of that name.
func (r *request) sliceAfter(name string, l list) projections.Slice {
	s := projections.Slice{Limit: r.number(paramLimit, 1, limitMax, limitDefault)}
	cursor, given := r.query[name]
	if !given {
		return s
	}
	position, err := l.position(cursor)
	// If a filter is at fault, the cursor may belong to the list that was meant.
	if err != nil && (err != errCursorForeign || len(r.wrong) == 0) {
		before := len(r.wrong)
		r.failOnce(name, err.Error())
		r.badCursor = len(r.wrong) > before // not when it was given twice
	}
	s.After = position
	return s
}
