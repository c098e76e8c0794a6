// Package metrics turns attributes of log lines into CloudWatch metrics, with the embedded metric format: a JSON line
// names those of its members that are metrics, and CloudWatch extracts them when the line is logged. No request is
// sent for a metric. CloudWatch may extract a line twice, so metrics are good for alarms, not for accounting.
//
// A line has a value for a metric if one of its attributes has the metric's name. Code that counts therefore needs
// only log/slog. A value is a whole number. A metric without a dimension also accepts a list of numbers ([]int64), for
// example one for each balance of a batch.
package metrics

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Metric is one metric. Its name is that of an attribute of log lines.
type Metric struct {
	Name      string
	Unit      string // as CloudWatch spells it
	Dimension string `json:"-"` // the attribute, a text, that is the metric's dimension; "" for none
}

// Metrics returns every metric that there is. AWS charges for each metric by the month, and for each value of a
// dimension: there must be few values.
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
		{Name: "BelowLimit", Unit: count},                  // reads and refusals that saw an account below its limit
		{Name: "CreditsAfterClose", Unit: count},           // balances of closed accounts that were zero, and are more
		{Name: "RefoldDepth", Unit: count},                 // postings read by a refold
		{Name: "ProjectionLag", Unit: "Milliseconds"},      // from a refold's newest posting to its write
		{Name: "ProjectionConflicts", Unit: count},         // retries of a refold after a conflict
		{Name: "ListingLag", Unit: "Milliseconds"},         // from the oldest transaction of a batch to the journal
		{Name: "EventsDeleted", Unit: count},               // events that somebody deleted
		{Name: "EventsAltered", Unit: count},               // changes that somebody made to events
		{Name: "ItemsDeleted", Unit: count},                // projections and guards that somebody deleted
		{Name: "HoldsExpired", Unit: count},                // holds that a sweep ended
		{Name: "ExpiryDelay", Unit: "Milliseconds"},        // the longest that a sweep found a hold due; 0 for none
		{Name: "RecordsMalformed", Unit: count},            // records that no retry can project or list, skipped
	}
}

// CheckNamespace returns nil if CloudWatch takes a namespace, else what is wrong with it.
func CheckNamespace(namespace string) error {
	const namespaceChars = 255 // the most of the embedded format (its JSON schema)
	const allowed = `^[A-Za-z0-9._\-/#: ]*[A-Za-z0-9._\-/#:][A-Za-z0-9._\-/#: ]*$`
	if len(namespace) > namespaceChars || !regexp.MustCompile(allowed).MatchString(namespace) {
		return fmt.Errorf("must be 1 to %d of A-Z a-z 0-9 . - _ / # : and space, not all spaces", namespaceChars)
	}
	if strings.HasPrefix(namespace, ":") || strings.HasPrefix(namespace, "AWS/") {
		return errors.New(`must not begin with ":" or "AWS/"`)
	}
	return nil
}
