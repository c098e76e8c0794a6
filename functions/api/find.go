package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ledger.example/events"
	"ledger.example/projections"
)

// The rules of the parameters that find transactions, for callers.
const (
	ruleOrder        = "must be asc or desc"
	ruleMetadataOnce = "must be the only metadata parameter"
)

// ruleMetadataValue is the rule of a metadata value.
var ruleMetadataValue = fmt.Sprintf("must have 1 to %d characters", events.MetadataValueChars)

// listTransactions lists transactions by time, either all or those with a value of an indexed metadata key.
func (a *api) listTransactions(r *request) (reply, error) {
	from, _ := a.pastTime(r, paramFrom)
	to, _ := r.instant(paramTo)
	by := projections.Search{Span: projections.Span{From: wholeMicros(from), To: wholeMicros(to)}}
	if !by.To.IsZero() && by.From.After(by.To) {
		r.failOnce(paramFrom, ruleSpan)
	}
	order, given := r.query[paramOrder]
	if by.OldestFirst = order == orderAscending; given && !by.OldestFirst && order != orderDescending {
		r.failOnce(paramOrder, ruleOrder)
	}
	by.Key, by.Value = a.metadata(r)
	if !by.OldestFirst {
		order = "" // desc is the default, so cursors are the same as without order
	}
	l := r.list(paramFrom, filterTime(by.From), paramTo, filterTime(by.To), paramOrder, order,
		metadataPrefix+by.Key, by.Value, "ledger", a.config.Ledger).by(isListed)
	return answerPage(r, l, showHold,
		func(ctx context.Context, s projections.Slice) (projections.Page[projections.Transaction], error) {
			listed, err := a.config.Lists.Transactions(ctx, by, s)
			return cutPage(listed, func(t projections.Transaction) (string, int) {
				return string(t.Header.Legs[0].ID) + "#" + t.Header.ID, maxBytes(t)
			}), err
		})
}

// metadata returns the indexed metadata key and the value to filter by. The key is "" if there is no such filter.
func (a *api) metadata(r *request) (key, value string) {
	for _, name := range slices.Sorted(maps.Keys(r.query)) {
		one, ok := strings.CutPrefix(name, metadataPrefix)
		if !ok {
			continue
		}
		text := r.query[name]
		switch n := utf8.RuneCountInString(text); {
		case !slices.Contains(a.config.IndexedMetadata, one):
			r.failOnce(name, a.ruleIndexed())
		case key != "":
			r.failOnce(name, ruleMetadataOnce)
		case n == 0, n > events.MetadataValueChars, !utf8.ValidString(text):
			r.failOnce(name, ruleMetadataValue)
		}
		key, value = one, text
	}
	return key, value
}

// ruleIndexed returns the rule of a metadata key.
func (a *api) ruleIndexed() string {
	if len(a.config.IndexedMetadata) == 0 {
		return "is not indexed: this ledger indexes no metadata"
	}
	return "is not indexed; the indexed keys are " + strings.Join(a.config.IndexedMetadata, ", ")
}

// filterTime returns a time as a filter of a list, "" for the zero time.
func filterTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return events.FormatTime(t)
}

// isListed reports whether text can be a position in a list of transactions.
func isListed(text string) bool {
	ksuid, id, _ := strings.Cut(text, "#")
	return isKSUID(ksuid) && events.ValidID(id)
}
