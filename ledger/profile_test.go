package ledger

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Two numbers in profiles are equal if they have the same value, by math/big.
func TestNumbersOfProfilesCompareByValue(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) string {
		sign := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
		whole := rapid.StringMatching(`0|[1-9][0-9]{0,3}0{0,3}`).Draw(t, "whole")
		fraction := rapid.StringMatching(`(\.[0-9]{1,3}0{0,3})?`).Draw(t, "fraction")
		power := rapid.StringMatching(`([eE][+-]?0{0,2}[0-9])?`).Draw(t, "power")
		return sign + whole + fraction + power
	})
	// same is another way to write n: digits moved over the point, or zeros that mean nothing.
	same := func(t *rapid.T, n string) string {
		mantissa, power, _ := strings.Cut(strings.ToLower(n), "e")
		if power == "" {
			power = "0"
		}
		by := rapid.IntRange(0, 4).Draw(t, "by")
		exponent, _ := new(big.Int).SetString(power, 10)
		switch {
		case strings.Contains(mantissa, "."):
			mantissa += strings.Repeat("0", by)
		case strings.HasSuffix("-0", mantissa):
			mantissa += "." + strings.Repeat("0", by+1)
		default:
			mantissa += strings.Repeat("0", by)
			exponent.Sub(exponent, big.NewInt(int64(by)))
		}
		return mantissa + "E" + exponent.String()
	}
	value := func(n string) *big.Rat {
		r, ok := new(big.Rat).SetString(n)
		if !ok {
			panic(n)
		}
		return r
	}
	rapid.Check(t, func(t *rapid.T) {
		a := number.Draw(t, "a")
		b := same(t, a)
		if rapid.Bool().Draw(t, "any") {
			b = number.Draw(t, "b")
		}
		got := sameProfile(`{"n":[`+a+`]}`, `{"n":[`+b+`]}`)
		if want := value(a).Cmp(value(b)) == 0; got != want {
			t.Fatalf("%s and %s: same %t", a, b, got)
		}
	})
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
