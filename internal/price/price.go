// Package price holds AWS's list prices in US dollars, of us-east-1 and without free allowances. docs/cost.md shows
// them all.
package price

import "strconv"

// Price is what AWS asks for something.
type Price struct {
	What   string // is paid for
	Per    string // how much of it costs USD, in words
	USD    string
	Source string  // where it was seen, and of which date that is
	per    float64 // Per as a number
}

// How much of something has a price. A GB is 10⁹ bytes, the more expensive reading.
const (
	one     = 1
	million = 1_000_000
	bytesGB = 1_000_000_000
)

// What is paid by use. Some of these come in steps: the first, and dearest, stands here.
var (
	WriteUnits = Price{"DynamoDB write request units", "a million", "0.625",
		"airbyte.com/data-engineering-resources/dynamodb-pricing, July 2025: since AWS halved it in November " +
			"2024", million}
	ReadUnits = Price{"DynamoDB read request units", "a million", "0.125", "the same", million}
	Gateway   = Price{"HTTP API", "a million requests", "1.00",
		"awsforengineers.com/blog/aws-api-gateway-pricing-explained, May 2025", million}
	Invocations = Price{"Lambda requests", "a million", "0.20",
		`AWS whitepaper "How AWS Pricing Works", no date`, million}
	GBSeconds = Price{"Lambda on arm64", "GB-second", "0.0000133334",
		"cloudchipr.com/blog/aws-lambda-pricing, 2024", one}
	Logs = Price{"CloudWatch Logs", "GB taken in", "0.50",
		`factualminds.com, "Amazon CloudWatch Pricing", June 2026`, bytesGB}
	Traces = Price{"X-Ray", "a million traces", "5.00", "aws.amazon.com/xray/pricing", million}
	Sent   = Price{"Sent to the internet", "GB", "0.09", "awsforengineers.com, as above", bytesGB}
)

// What is paid for capacity that is kept, used or not.
var (
	WriteCapacity = Price{"Provisioned write capacity", "a unit, an hour", "0.00065",
		"costpatrol.io/blog/dynamodb-on-demand-vs-provisioned-pricing, no date, and cloud-horizons.com/blog, May " +
			"2026; both give the two above, too", one}
	ReadCapacity = Price{"Provisioned read capacity", "a unit, an hour", "0.00013", "the same", one}
)

// What is paid for every month that it is there.
var (
	Stored   = Price{"DynamoDB storage", "GB and month", "0.25", "aws.amazon.com/dynamodb/pricing", bytesGB}
	Recovery = Price{"Point-in-time recovery", "GB and month", "0.20",
		"finops.com.py/services/dynamodb/backups, no date", bytesGB}
	Metric = Price{"Custom metric", "month", "0.30",
		"signoz.io/guides/cloudwatch-pricing, February 2026", one}
	Alarm = Price{"Alarm", "metric and month", "0.10",
		"c3x.dev/resources/aws/aws_cloudwatch_metric_alarm, no date", one}
	// The alarms that it looks at are paid for themselves.
	CompositeAlarm = Price{"Composite alarm", "month", "0.50", "the same", one}
	Dashboard      = Price{"Dashboard", "month", "3.00", "factualminds.com, as above", one}
	InsightsRule   = Price{"Contributor Insights rule", "month", "0.50",
		"usage.ai/blog/aws-reserved-instances-dynamodb-contributor-insights, no date", one}
	Key = Price{"KMS key", "month", "1.00", "aws.amazon.com/kms/pricing", one}
)

// All returns every price. One whose source is "the same" follows the one that it shares the source with.
func All() []Price {
	return []Price{WriteUnits, ReadUnits, WriteCapacity, ReadCapacity, Stored, Recovery, Gateway, Invocations,
		GBSeconds, Logs, Traces, Sent, Metric, Alarm, CompositeAlarm, Dashboard, InsightsRule, Key}
}

// Dollars returns what n cost, unrounded. It panics if USD is not a number, which none of this package's prices is.
func (p Price) Dollars(n float64) float64 {
	usd, err := strconv.ParseFloat(p.USD, 64)
	if err != nil {
		panic(err)
	}
	return usd * n / p.per
}
