package units

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

// Decimal divides by the power of ten without rounding, and Parse is its inverse.
func TestDecimalsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(0, events.ScaleMax).Draw(t, "scale")
		text := rapid.StringMatching(`0|-?[1-9][0-9]{0,27}`).Draw(t, "amount")
		a, err := events.ParseAmount(text, events.PostedDigits)
		if err != nil {
			t.Fatal(err)
		}
		shown := a.Decimal(scale)
		minor, _ := new(big.Int).SetString(text, 10)
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		if want := new(big.Rat).SetFrac(minor, power).FloatString(scale); shown != want {
			t.Fatalf("%s at scale %d is shown as %s, want %s", text, scale, shown, want)
		}
		back, err := Parse(shown, scale)
		if err != nil || back != a {
			t.Fatalf("%s was shown as %s and read back as %s, %v", text, shown, back, err)
		}
	})
}

// FuzzParseDecimal checks that Parse accepts all decimal numbers within the limits of places and digits, and no others,
// and that their value is exact.
func FuzzParseDecimal(f *testing.F) {
	for _, text := range []string{"1500.00", "1500", "0.5", "-0.05", "-0", "007", "1.005", "1.000", "", "-", ".", ".5", "5.", "+1", "--1", "1e3",
		"1,000.00", " 1", "1.2.3", "٣", "0x10", strings.Repeat("9", 26) + ".00", strings.Repeat("9", 27) + ".00"} {
		f.Add(text, uint8(2))
	}
	f.Add("0.000000000000000001", uint8(18))
	decimal := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, s string, scale uint8) {
		places := int(scale) % (events.ScaleMax + 1)
		a, err := Parse(s, places)
		if !decimal.MatchString(s) {
			if err == nil {
				t.Fatalf("%q is %s", s, a)
			}
			return
		}
		number, _ := new(big.Rat).SetString(s)
		minor := new(big.Rat).Mul(number, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)))
		// Trailing zeros count as places.
		fits := len(regexp.MustCompile(`\.[0-9]*`).FindString(s)) <= places+1 && len(new(big.Int).Abs(minor.Num()).String()) <= events.PostedDigits
		if fits != (err == nil) || fits && a.String() != minor.Num().String() {
			t.Fatalf("Parse(%q, %d) = %s, %v; it is %s", s, places, a, err, minor.RatString())
		}
	})
}
