package ledger

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// Two numbers in profiles are equal if and only if they have the same value, by math/big.
func TestNumbersOfProfilesCompareByValue(t *testing.T) {
	values, decimals := map[decimal]string{}, map[string]decimal{}
	for _, sign := range []string{"", "-"} {
		for _, whole := range []string{"0", "1", "10", "100", "12", "120"} {
			for _, fraction := range []string{"", ".0", ".1", ".10", ".01", ".012"} {
				for _, power := range []string{"", "e0", "E1", "e+01", "e-1", "e-2", "e9", "e10", "e-10"} {
					n := sign + whole + fraction + power
					rational, _ := new(big.Rat).SetString(n)
					got, value := decimalOf(json.Number(n)), rational.RatString()
					if values[got] != "" && values[got] != value || decimals[value] != (decimal{}) && decimals[value] != got {
						t.Fatalf("%s is %+v: that is %s, and %s is %+v", n, got, values[got], value, decimals[value])
					}
					values[got], decimals[value] = value, got
				}
			}
		}
	}
	huge := strings.Repeat("9", 4000)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"1.0", "1", true}, {"1e2", "100", true}, {"-0", "0", true}, {"0e" + huge, "0", true}, {"1e" + huge, "10e" + huge[:3999] + "8", true},
		{"1e" + huge, "1e" + huge + "9", false}, {"9007199254740993", "9007199254740992", false}, {"0.1", "0.1000000000000000000001", false},
		{"1e-" + huge, "1e" + huge, false}, {"1", `"1"`, false}, {"1", "-1", false}, {"0", "null", false},
	} {
		if got := sameProfile(fmt.Sprintf(`{"n":%s}`, c.a), fmt.Sprintf(`{"n":%s}`, c.b)); got != c.same {
			t.Errorf("%.20s and %.20s: same %t", c.a, c.b, got)
		}
	}
}
