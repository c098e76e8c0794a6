// Package metrics makes metrics of log lines, by CloudWatch's embedded metric format: a JSON line that names some of its
// own members as values of metrics is taken apart by CloudWatch when it is logged. No request is sent for it, and what was
// counted stands beside what happened. A line is taken at least once: metrics are for people and alarms, not for books.
//
// A line has a value of a metric when one of its attributes is named like it: log/slog is all that the code that measures
// knows. A value is a whole number or, of a metric that isn't split, a list of them ([]int64), such as one for each balance
// of a batch.
package metrics

import (
	"fmt"
	"regexp"
	"strings"
)

// Metric is one metric, as an attribute of a log line names it.
type Metric struct {
	Name      string
	Unit      Unit
	Dimension string // the attribute, a text, by which the metric is split; "" for one that is not
}

// Unit is a unit as CloudWatch spells it.
type Unit string

// The units of our metrics.
const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
)

// Metrics returns every metric that there is. Each is paid for by the month, and one that is split, for each value of its
// dimension: that must come from a small, closed set.
func Metrics() []Metric {
	return []Metric{
		{Name: "TransactionsPosted", Unit: Count},
		{Name: "TransactionsReplayed", Unit: Count},
		{Name: "Refusals", Unit: Count, Dimension: "Code"}, // writes answered 4xx, by the problem's code
		{Name: "Throttled", Unit: Count},                   // requests answered 503
		{Name: "UnknownOutcomes", Unit: Count},             // writes answered 504
		{Name: "InternalErrors", Unit: Count},              // requests answered 500
		{Name: "ClockOff", Unit: Count},                    // postings declined because the clock is off the store's
		{Name: "BelowLimit", Unit: Count},                  // limited accounts that a read or a refusal showed below their limit
		{Name: "RefoldDepth", Unit: Count},                 // postings read by a refold
		{Name: "ProjectionLag", Unit: Milliseconds},        // from a refold's newest posting to its write
		{Name: "ProjectionConflicts", Unit: Count},         // times that a refold had to start again, when it had to
		{Name: "EventsDeleted", Unit: Count},               // records of events that somebody deleted
	}
}

// namespaceChars is the most characters of a namespace in the embedded format (its JSON schema).
const namespaceChars = 255

// CheckNamespace returns an error that says what is wrong with a namespace, nil when CloudWatch takes it.
func CheckNamespace(namespace string) error {
	if len(namespace) > namespaceChars || !regexp.MustCompile(`^[A-Za-z0-9._\-/#: ]*[A-Za-z0-9._\-/#:][A-Za-z0-9._\-/#: ]*$`).MatchString(namespace) {
		return fmt.Errorf("must be 1 to %d of A-Z a-z 0-9 . - _ / # : and space, not all spaces", namespaceChars)
	}
	if strings.HasPrefix(namespace, ":") || strings.HasPrefix(namespace, "AWS/") {
		return fmt.Errorf(`must not begin with ":" or "AWS/"`)
	}
	return nil
}
