package api

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ledger.example/client"
	"ledger.example/events"
)

// The query parameters that are not fields of the types in package client, and the prefix of those that filter by
// metadata.
const (
	paramLimit     = "limit"
	paramCursor    = "cursor"
	paramDryRun    = "dry_run"
	paramPrefix    = "prefix"
	paramAsset     = "asset"
	paramAfter     = "after"
	metadataPrefix = "metadata."
)

// The rules of query parameters, for callers.
const (
	ruleParameter    = "is not a parameter of this request"
	ruleEncoding     = "is not valid percent-encoding"
	rulePrefix       = "must be the beginning of an id"
	ruleTime         = "must be an RFC 3339 time, such as 2026-11-21T09:00:00Z; a plus sign is sent as %2B"
	ruleFuture       = "must not be in the future"
	ruleMetadataOnce = "must be the only metadata parameter"
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
	text, given := r.query[paramDryRun]
	if r.dry = text == "true"; given && !r.dry && text != "false" {
		r.failOnce(paramDryRun, ruleBool)
	}
}

// failOnce records a fault unless the field already has one, or errorsMax faults are recorded. The name of a parameter
// may be any bytes.
func (r *request) failOnce(field, rule string) {
	if rule == "" || len(r.faults) >= errorsMax {
		return
	}
	field = strings.ToValidUTF8(field, "\uFFFD") // as JSON shows it
	if !slices.ContainsFunc(r.faults, func(f fieldError) bool { return f.Field == field }) {
		r.fail(field, rule)
	}
}

// readParameters reads parameters of the path and of the query into the fields of a struct, whose tags are their rules:
// see client.Operation.
func (r *request) readParameters(in reflect.Value) {
	fields := client.FieldsOf(in.Type())
	for _, f := range fields {
		into := in.FieldByIndex(f.Index)
		text, given := r.query[f.Query]
		if !given {
			text, given = f.Tag.Lookup("default")
		}
		switch {
		case f.Path != "":
			into.SetString(r.ids[f.Path])
		case f.Query == "":
		case f.Type.Kind() == reflect.Map:
			r.readMetadata(into.Addr().Interface().(*map[string]string))
		case given:
			r.failOnce(f.Query, r.parameter(f, text, into))
		case f.IsRequired():
			r.failOnce(f.Query, ruleRequired)
		}
	}
	for _, f := range fields {
		if _, given := r.query[f.Query]; given {
			r.compare(f, fields, in)
		}
	}
}

// parameter reads the text of a parameter. It returns the rule that the text breaks, "" if none.
func (r *request) parameter(f client.Field, text string, into reflect.Value) (rule string) {
	if choices := f.Choices(); choices != nil && !slices.Contains(choices, text) {
		last := len(choices) - 1
		return "must be " + strings.Join(choices[:last], ", ") + " or " + choices[last]
	}
	switch to := into.Addr().Interface().(type) {
	case *string:
		*to = text
		switch is := f.Is(); {
		case is == "ID" && !events.ValidID(text):
			return ruleID
		case is == "Prefix" && !events.ValidID(text):
			return rulePrefix
		}
	case *bool:
		*to = text == f.Choices()[0]
	case **int:
		*to = new(int)
		**to, rule = number(text, f.Tag.Get("least"), f.Tag.Get("most"))
	case *time.Time:
		*to, rule = r.time(text, f.Tag.Get("time"))
	default:
		panic(fmt.Sprintf("%s is not the type of a parameter", f.Type))
	}
	return rule
}

// number returns a whole number, and the rule that it breaks.
func number(text, least, most string) (n int, rule string) {
	from, _ := strconv.Atoi(least)
	to, _ := strconv.Atoi(most)
	n, err := strconv.Atoi(text)
	if err != nil || n < from || n > to || strconv.Itoa(n) != text {
		rule = fmt.Sprintf("must be a whole number from %s to %s", least, most)
	}
	return n, rule
}

// clockTolerance is how far a caller's clock may be ahead of this process's clock.
const clockTolerance = 5 * time.Second

// time returns a time of a kind, and the rule that it breaks: see client.Operation. Unless it is "at", it is rounded up
// to whole microseconds: postings have such times, so the same postings are before the given and before the rounded
// time. A time before all postings becomes the last one before them if it is "at", and otherwise the first one that a
// posting may have. So it is never the zero time, which would mean no bound.
func (r *request) time(text, kind string) (t time.Time, rule string) {
	t, ok := events.ReadTime(text)
	switch {
	case !ok:
		return t, ruleTime
	case t.Before(events.Epoch()) && kind == "at":
		return client.LastBefore(events.Epoch()), ""
	case t.Before(events.Epoch()):
		return events.Epoch(), ""
	case kind == "past" && t.After(r.config.Now().Add(clockTolerance)):
		return t, ruleFuture
	case kind == "at":
		return t.UTC(), ""
	}
	return t.UTC().Add(time.Microsecond - 1).Truncate(time.Microsecond), ""
}

// compare checks the rules of a parameter that is given about the other ones.
func (r *request) compare(f client.Field, others []client.Field, in reflect.Value) {
	for _, other := range others {
		_, given := r.query[other.Query]
		switch name := other.Query; {
		case name == "":
		case name == f.With && !given:
			r.failOnce(f.Query, "is supported only together with "+name)
		case name == f.Without && given:
			r.failOnce(f.Query, "must not be given together with "+name)
		case name == f.Tag.Get("before"):
			from, _ := in.FieldByIndex(f.Index).Interface().(time.Time)
			to, _ := in.FieldByIndex(other.Index).Interface().(time.Time)
			if !to.IsZero() && from.After(to) {
				r.failOnce(f.Query, "must not be after "+name)
			}
		}
	}
}

// readMetadata reads the indexed metadata key and the value to filter by. The map stays nil if there is no such filter.
func (r *request) readMetadata(into *map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		key, ok := strings.CutPrefix(name, metadataPrefix)
		if !ok {
			continue
		}
		text := r.query[name]
		switch n := utf8.RuneCountInString(text); {
		case !slices.Contains(r.config.IndexedMetadata, key):
			r.failOnce(name, r.config.ruleIndexed())
		case *into != nil:
			r.failOnce(name, ruleMetadataOnce)
		case n == 0, n > events.MetadataValueChars, !utf8.ValidString(text):
			r.failOnce(name, fmt.Sprintf("must have 1 to %d characters", events.MetadataValueChars))
		}
		*into = map[string]string{key: text}
	}
}

// ruleIndexed returns the rule of a metadata key.
func (c *Config) ruleIndexed() string {
	if len(c.IndexedMetadata) == 0 {
		return "is not indexed: this ledger indexes no metadata"
	}
	return "is not indexed; the indexed keys are " + strings.Join(c.IndexedMetadata, ", ")
}
