package price

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestDollars(t *testing.T) {
	for _, c := range []struct {
		price   Price
		n, want float64
	}{
		{WriteUnits, 10, 0.00000625},
		{WriteUnits, 1e15, 625_000_000},
		{GBSeconds, 3, 0.0000400002},
		{Stored, 1e9, 0.25},
		{Recovery, -5e9, -1},
		{Alarm, 33, 3.3},
		{WriteCapacity, 730, 0.4745},
	} {
		if got := c.price.Dollars(c.n); math.Abs(got/c.want-1) > 1e-12 {
			t.Errorf("%v of %s are %v, wanted %v", c.n, c.price.What, got, c.want)
		}
	}
}

// Every price has all fields, and its quantity agrees with its text.
func TestPrices(t *testing.T) {
	for i, p := range All() {
		if p.What == "" || p.Source == "" || p.Dollars(1) <= 0 {
			t.Errorf("%+v is no price", p)
		}
		if i == 0 && p.Source == "the same" {
			t.Errorf("%s: the same as what?", p.What)
		}
		want := float64(one)
		switch {
		case strings.Contains(p.Per, "million"):
			want = million
		case strings.HasPrefix(p.Per, "GB") && p.Per != "GB-second":
			want = bytesGB
		}
		if p.per != want {
			t.Errorf("%s: for %v, and the text says %q", p.What, p.per, p.Per)
		}
		if slices.ContainsFunc(All()[:i], func(q Price) bool { return q.What == p.What }) {
			t.Errorf("%s stands twice", p.What)
		}
	}
}
