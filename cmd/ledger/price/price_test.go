package price

import (
	"math/big"
	"testing"
)

func TestDollars(t *testing.T) {
	for _, c := range []struct {
		price  string
		n, per int64
		want   string // unrounded
		cents  string
	}{
		{WriteUnits, 10, 1_000_000, "1/160000", "0.00"},
		{WriteUnits, 1_000_000_000_000_000, 1_000_000, "625000000", "625000000.00"},
		{GBSeconds, 3, 1, "200001/5000000000", "0.00"},
		{Stored, 1, 3, "1/12", "0.08"},
		{"0.5", 1, 100, "1/200", "0.01"},
		{"0.5", -1, 100, "-1/200", "-0.01"},
		{Alarm, 33, 1, "33/10", "3.30"},
	} {
		want, _ := new(big.Rat).SetString(c.want)
		got := Dollars(c.price, c.n, c.per)
		if got.Cmp(want) != 0 || Cents(got).FloatString(2) != c.cents {
			t.Errorf("%d at %s for %d are %s, %s; wanted %s, %s", c.n, c.price, c.per, got, Cents(got).FloatString(2), c.want, c.cents)
		}
	}
	for _, all := range []string{WriteUnits, ReadUnits, Gateway, Invocations, GBSeconds, Logs, Traces, Sent, WriteCapacity, ReadCapacity, Stored, Recovery, Metric,
		Alarm, Dashboard, InsightsRule, Key} {
		if Dollars(all, 1, 1).Sign() <= 0 {
			t.Errorf("%s is no price", all)
		}
	}
}
