// Package metrics turns attributes of log lines into CloudWatch metrics with the embedded metric format. In this
// format, a JSON line names its members that are metrics, and CloudWatch extracts their values from the log. No request
// is sent for a metric. CloudWatch may extract a line twice, so metrics are good for alarms, not for accounting.
//
// An attribute with the name of a metric is a value of this metric. Code that counts therefore needs only log/slog. A
// value is a whole number. A metric without a dimension also accepts a list of numbers ([]int64), for example one for
// each balance of a batch.
package metrics

import (
	"errors"
	"fmt"
	"regexp"
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
