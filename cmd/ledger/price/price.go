// Package price holds AWS's list prices in US dollars, of us-east-1 and without free allowances, and reckons with them
// exactly. docs/cost.md and docs/capacity.md name where each was seen and when; tests compare them with both.
package price

import "math/big"

// What is paid by use. Some of these come in steps: the first, and dearest, stands here.
const (
	WriteUnits  = "0.625"        // a million write request units, on demand
	ReadUnits   = "0.125"        // a million read request units, on demand
	Gateway     = "1.00"         // a million requests to an HTTP API
	Invocations = "0.20"         // a million requests to Lambda
	GBSeconds   = "0.0000133334" // a GB-second of Lambda on arm64
	Logs        = "0.50"         // a GB of logs taken in
	Traces      = "5.00"         // a million traces recorded
	Sent        = "0.09"         // a GB sent to the internet
)

// What is paid for capacity that is kept, used or not, for an hour.
const (
	WriteCapacity = "0.00065" // a write capacity unit
	ReadCapacity  = "0.00013" // a read capacity unit
)

// What is paid for every month that it is there.
const (
	Stored       = "0.25" // a GB of table or index
	Recovery     = "0.20" // a GB of table in point-in-time recovery
	Metric       = "0.30" // a custom metric, in months in which it is written
	Alarm        = "0.10" // an alarm, for each metric that it looks at
	Dashboard    = "3.00" // a dashboard
	InsightsRule = "0.50" // a rule of Contributor Insights
	Key          = "1.00" // a customer managed KMS key
)

// Dollars returns what n cost at that price for every per of them, unrounded. The price must be one of this package's: a
// text that is no number panics.
func Dollars(price string, n, per int64) *big.Rat {
	p, ok := new(big.Rat).SetString(price)
	if !ok {
		panic("no price: " + price)
	}
	return p.Mul(p, big.NewRat(n, per))
}

// Cents rounds to whole cents, halves away from zero.
func Cents(dollars *big.Rat) *big.Rat {
	rounded, _ := new(big.Rat).SetString(dollars.FloatString(2))
	return rounded
}
