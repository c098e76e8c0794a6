package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// Limits of lists (API, conventions and resources).
const (
	limitMax      = 100
	limitDefault  = 20
	newestMax     = 100
	newestDefault = 10
	pageBalances  = 100 // of an account's page
)

const (
	ruleParameter   = "is not a parameter of this request"
	ruleEncoding    = "is not percent-encoded as it should be"
	ruleConsistency = "must be strong or eventual"
	rulePrefix      = "must be the beginning of an id"
	ruleTime        = "must be an RFC 3339 time, such as 2026-11-21T09:00:00Z; a plus sign is sent as %2B"
	ruleOfAsset     = "is offered only with asset: the index over all assets cannot be read strongly"
)

const (
	strong   = "strong"
	eventual = "eventual"
)

// readQuery reads the query's parameters, each of which the route must know and the caller may give once.
func (r *request) readQuery() {
	if r.URL.RawQuery == "" {
		return
	}
	r.query = make(map[string]string)
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
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
		case !slices.Contains(r.route.query, name):
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

// failOnce is fail for a parameter, which may turn up again, and whose name may be any bytes.
func (r *request) failOnce(field, rule string) {
	field = strings.ToValidUTF8(field, "\uFFFD") // as the reply shows it
	for _, f := range r.wrong {
		if f.Field == field {
			return
		}
	}
	r.fail(field, rule)
}

// number returns a whole number of least to most, in plain digits.
func (r *request) number(name string, least, most, unlessTold int) int {
	text, given := r.query[name]
	if !given {
		return unlessTold
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most || strconv.Itoa(n) != text {
		r.failOnce(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n
}

// consistency tells whether the read is to be a strong one.
func (r *request) consistency() (strongly bool) {
	text, given := r.query[paramConsistency]
	if given && text != strong && text != eventual {
		r.failOnce(paramConsistency, ruleConsistency)
	}
	return text == strong
}

// prefix returns the beginning of the ids to list, "" for all.
func (r *request) prefix() string {
	text := r.query[paramPrefix]
	if text != "" && !events.ValidID(text) {
		r.failOnce(paramPrefix, rulePrefix)
	}
	return text
}

// assetFilter returns the asset that a history is of, "" for all.
func (r *request) assetFilter() string {
	text, given := r.query[paramAsset]
	if given && !events.ValidID(text) {
		r.failOnce(paramAsset, ruleID)
	}
	return text
}

// span returns the stretch of time that a history is of.
func (r *request) span() projections.Span {
	return projections.Span{From: r.time(paramFrom), To: r.time(paramTo)}
}

// time returns a time in whole microseconds, the zero time when it isn't given. A fraction of a microsecond is rounded
// up: it divides the times of postings, which have none, as the time given does.
func (r *request) time(name string) time.Time {
	text, given := r.query[name]
	if !given {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	// The parser lets hours of one digit pass, and a comma before the fraction.
	if err != nil || text[len("2006-01-02T15")] != ':' || strings.Contains(text, ",") {
		r.failOnce(name, ruleTime)
		return time.Time{}
	}
	if t = t.UTC().Add(time.Microsecond - 1).Truncate(time.Microsecond); t.Unix() < 0 {
		t = time.Unix(0, 0).UTC() // before any posting, and not the zero time, which leaves a side open
	}
	return t
}

// slice returns the part of l that is asked for; valid tells whether a text may be a position in it.
func (r *request) slice(l list, valid func(position string) bool) projections.Slice {
	s := projections.Slice{Limit: r.number(paramLimit, 1, limitMax, limitDefault)}
	cursor, given := r.query[paramCursor]
	if !given {
		return s
	}
	position, err := l.position(cursor)
	if err == nil && position != "" && !valid(position) {
		err = errCursorAltered
	}
	// With a wrong filter, it may well belong to the list that was meant.
	if err != nil && (err != errCursorForeign || len(r.wrong) == 0) {
		before := len(r.wrong)
		r.failOnce(paramCursor, err.Error())
		r.badCursor = len(r.wrong) > before // not when it was given twice
	}
	s.After = position
	return s
}

// isKSUID tells whether text is a position in a history. In other lists positions are ids.
func isKSUID(text string) bool {
	_, err := events.ParseKSUID(text)
	return err == nil
}

// page is one page of a list as callers see it.
type page[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next_cursor"`
}

// pageOf shows a page of l, each item by show.
func pageOf[S, T any](l list, listed projections.Listed[S], show func(S) T) page[T] {
	p := page[T]{Data: make([]T, len(listed.Items))}
	for i, item := range listed.Items {
		p.Data[i] = show(item)
	}
	if listed.Next != "" {
		next := l.cursor(listed.Next)
		p.Next = &next
	}
	return p
}
