// Package price holds AWS's list prices for us-east-1 in US dollars, without free allowances. docs/cost.md lists them.
package price

import "strconv"

// Price is the price of a quantity of something.
type Price struct {
	What   string  // what AWS charges for
	Per    string  // the quantity that costs USD, in words
	USD    string  // a decimal number
	Source string  // where the price was published, with its date
	per    float64 // Per as a number
}

// Quantities. A GB is 10⁹ bytes, which is the more expensive interpretation.
const (
	one     = 1
	million = 1_000_000
	bytesGB = 1_000_000_000
)

// Prices for use. Some prices fall with the quantity; these are the highest.
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

// Prices for provisioned capacity, whether it is used or not.
var (
	WriteCapacity = Price{"Provisioned write capacity", "a unit, an hour", "0.00065",
		"costpatrol.io/blog/dynamodb-on-demand-vs-provisioned-pricing, no date, and cloud-horizons.com/blog, May " +
			"2026; both give the two above, too", one}
	ReadCapacity = Price{"Provisioned read capacity", "a unit, an hour", "0.00013", "the same", one}
)

// Prices per month.
var (
	Stored   = Price{"DynamoDB storage", "GB and month", "0.25", "aws.amazon.com/dynamodb/pricing", bytesGB}
	Recovery = Price{"Point-in-time recovery", "GB and month", "0.20",
		"finops.com.py/services/dynamodb/backups, no date", bytesGB}
	Metric = Price{"Custom metric", "month", "0.30",
		"signoz.io/guides/cloudwatch-pricing, February 2026", one}
	Alarm = Price{"Alarm", "metric and month", "0.10",
		"c3x.dev/resources/aws/aws_cloudwatch_metric_alarm, no date", one}
	// The alarms that it combines are charged separately.
	CompositeAlarm = Price{"Composite alarm", "month", "0.50", "the same", one}
	Dashboard      = Price{"Dashboard", "month", "3.00", "factualminds.com, as above", one}
	InsightsRule   = Price{"Contributor Insights rule", "month", "0.50",
		"usage.ai/blog/aws-reserved-instances-dynamodb-contributor-insights, no date", one}
	Key = Price{"KMS key", "month", "1.00", "aws.amazon.com/kms/pricing", one}
)

// All returns every price. A price whose source is "the same" comes right after the price with that source.
func All() []Price {
	return []Price{WriteUnits, ReadUnits, WriteCapacity, ReadCapacity, Stored, Recovery, Gateway, Invocations,
		GBSeconds, Logs, Traces, Sent, Metric, Alarm, CompositeAlarm, Dashboard, InsightsRule, Key}
}

// Dollars returns the price of n, unrounded. It panics if USD is not a number.
func (p Price) Dollars(n float64) float64 {
	usd, err := strconv.ParseFloat(p.USD, 64)
	if err != nil {
		panic(err)
	}
	return usd * n / p.per
}
