// Package metrics turns attributes of log lines into CloudWatch metrics with the embedded metric format. In this
// format, a JSON line names its members that are metrics, and CloudWatch extracts their values from the log. No request
// is sent for a metric. CloudWatch may extract a line twice, so metrics are good for alarms, not for accounting.
//
// An attribute with the name of a metric is a value of this metric. Code that counts therefore needs only log/slog. A
// value is a whole number. A metric without a dimension also accepts a list of numbers ([]int64), for example one for
// each balance of a batch.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
)

// Metric is a CloudWatch metric. Its values are the log attributes of the same name.
type Metric struct {
	Name      string
	Unit      string // a unit of CloudWatch
	Dimension string `json:"-"` // the string attribute that is the metric's dimension; "" for none
}

// Metrics returns all metrics. AWS charges per month for each metric and each value of its dimension, so a dimension
// must have few values.
func Metrics() []Metric {
	const count = "Count"
	return []Metric{
		{Name: "TransactionsPosted", Unit: count},
		{Name: "TransactionsReplayed", Unit: count},
		{Name: "Refusals", Unit: count, Dimension: "Code"}, // writes answered 4xx, by the problem's code
		{Name: "Throttled", Unit: count},                   // requests answered 503
		{Name: "UnknownOutcomes", Unit: count},             // writes answered 504
		{Name: "InternalErrors", Unit: count},              // requests answered 500
		{Name: "ClockOff", Unit: count},                    // postings and pages refused because the clocks differ
		{Name: "BelowLimit", Unit: count},                  // reads and refusals that found an account below its limit
		{Name: "CreditsAfterClose", Unit: count},           // balances of closed accounts that rose above zero
		{Name: "RefoldDepth", Unit: count},                 // postings read by a refold
		{Name: "ProjectionLag", Unit: "Milliseconds"},      // from a refold's newest posting to its write
		{Name: "ProjectionConflicts", Unit: count},         // retries of a refold after a conflict
		{Name: "ListingLag", Unit: "Milliseconds"},         // from the oldest transaction of a batch to the journal
		{Name: "EventsDeleted", Unit: count},               // events that were deleted, not by the ledger
		{Name: "EventsAltered", Unit: count},               // events that were changed, not by the ledger
		{Name: "ItemsDeleted", Unit: count},                // projections and guards that were deleted likewise
		{Name: "HoldsExpired", Unit: count},                // holds that a sweep ended
		{Name: "ExpiryDelay", Unit: "Milliseconds"},        // age of the longest-due hold of a sweep
		{Name: "ForwardingLag", Unit: "Milliseconds"},      // age of the oldest event that is not forwarded
		{Name: "RecordsMalformed", Unit: count},            // records that were skipped because no retry can help
	}
}

// CheckNamespace returns an error if namespace is not a valid CloudWatch namespace.
func CheckNamespace(namespace string) error {
	const namespaceChars = 255 // the limit in the JSON schema of the embedded metric format
	const allowed = `^[A-Za-z0-9._\-/#: ]*[A-Za-z0-9._\-/#:][A-Za-z0-9._\-/#: ]*$`
	if len(namespace) > namespaceChars || !regexp.MustCompile(allowed).MatchString(namespace) {
		return fmt.Errorf("must be 1 to %d of A-Z a-z 0-9 . - _ / # : and space, not all spaces", namespaceChars)
	}
	if strings.HasPrefix(namespace, ":") || strings.HasPrefix(namespace, "AWS/") {
		return errors.New(`must not begin with ":" or "AWS/"`)
	}
	return nil
}

// valuesMax is the most values of one metric in one line (embedded metric format specification, "target members").
const valuesMax = 100

// directive is the "_aws" member of a line. It names the members that are metrics.
type directive struct {
	Timestamp         int64 // milliseconds since 1970
	CloudWatchMetrics []set // one for each metric
}

type set struct {
	Namespace  string
	Dimensions [1][]string
	Metrics    [1]Metric
}

// handler adds a directive to records with values of metrics.
type handler struct {
	slog.Handler // the next one
	namespace    string
	metrics      []Metric
}

// NewHandler returns a handler that passes every record to next. If a record has values of Metrics, the handler adds
// the directive that makes CloudWatch extract them into namespace. next must write JSON. If a list has more values than
// a line may have, further lines have the rest. The handler is safe for concurrent use if next is.
func NewHandler(next slog.Handler, namespace string) slog.Handler {
	return &handler{next, namespace, Metrics()}
}

// WithAttrs implements slog.Handler. These attributes are never values, because they are in every line.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.namespace, h.metrics}
}

// WithGroup implements slog.Handler. Members of a group are never values, because they are not at the root of the line.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.Handler.WithGroup(name)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	d := directive{Timestamp: r.Time.UnixMilli()}
	line := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	rest := line.Clone() // the values beyond valuesMax
	r.Attrs(func(a slog.Attr) bool {
		i := slices.IndexFunc(h.metrics, func(m Metric) bool { return m.Name == a.Key })
		if i >= 0 && h.metrics[i].isMeasuredBy(r, a.Value) {
			m, dimensions := h.metrics[i], []string{}
			if m.Dimension != "" {
				dimensions = append(dimensions, m.Dimension)
			}
			d.CloudWatchMetrics = append(d.CloudWatchMetrics, set{h.namespace, [1][]string{dimensions}, [1]Metric{m}})
			if list := listOf(a.Value); len(list) > valuesMax {
				rest.AddAttrs(slog.Any(a.Key, list[valuesMax:]))
				a = slog.Any(a.Key, list[:valuesMax])
			}
		}
		line.AddAttrs(a)
		return true
	})
	if d.CloudWatchMetrics == nil {
		return h.Handler.Handle(ctx, r)
	}
	line.AddAttrs(slog.Any("_aws", d))
	if err := h.Handler.Handle(ctx, line); err != nil || rest.NumAttrs() == 0 {
		return err
	}
	return h.Handle(ctx, rest)
}

// listOf returns a value that is a list of numbers, nil for any other value.
func listOf(v slog.Value) []int64 {
	list, _ := v.Any().([]int64)
	return list
}

// isMeasuredBy reports whether v, an attribute of r, is a value of m: one number or, if m has no dimension, a list of
// numbers. If m has a dimension, r must also have that attribute, a string that is not empty.
func (m Metric) isMeasuredBy(r slog.Record, v slog.Value) bool {
	if m.Dimension == "" {
		return v.Kind() == slog.KindInt64 || len(listOf(v)) > 0
	}
	split := false
	r.Attrs(func(a slog.Attr) bool {
		split = a.Key == m.Dimension && a.Value.Kind() == slog.KindString && a.Value.String() != ""
		return !split
	})
	return split && v.Kind() == slog.KindInt64
}
