package main

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
)

func TestDecimalsByScale(t *testing.T) {
	for _, c := range []struct {
		text  string
		scale int
		minor string
		back  string
	}{
		{"1500.00", 2, "150000", "1500.00"},
		{"1500", 2, "150000", "1500.00"},
		{"0.5", 2, "50", "0.50"},
		{"0.05", 2, "5", "0.05"},
		{"-0.05", 2, "-5", "-0.05"},
		{"-0", 2, "0", "0.00"},
		{"007", 0, "7", "7"},
		{"0", 0, "0", "0"},
		{"0.000000000000000001", 18, "1", "0.000000000000000001"},
		{"9999999999.999999999999999999", 18, strings.Repeat("9", 28), "9999999999.999999999999999999"},
	} {
		a, err := parseDecimal(c.text, c.scale)
		if err != nil || a.String() != c.minor {
			t.Errorf("parseDecimal(%q, %d) = %s, %v; want %s", c.text, c.scale, a, err, c.minor)
		}
		if got := formatDecimal(a, c.scale); got != c.back {
			t.Errorf("formatDecimal(%s, %d) = %q, want %q", a, c.scale, got, c.back)
		}
	}
}

func TestWhatIsNoDecimal(t *testing.T) {
	for _, c := range []struct {
		text  string
		scale int
		says  string
	}{
		{"1.005", 2, "3 decimal places, and there are at most 2"},
		{"1.000", 2, "3 decimal places, and there are at most 2"},
		{"1.0", 0, "at most 0"},
		{"", 2, "not a decimal"}, {"-", 2, "not a decimal"}, {".", 2, "not a decimal"},
		{".5", 2, "not a decimal"}, {"5.", 2, "not a decimal"}, {"+1", 2, "not a decimal"}, {"--1", 2, "not a decimal"},
		{"1e3", 2, "not a decimal"}, {"1,000.00", 2, "not a decimal"}, {" 1", 2, "not a decimal"}, {"1.2.3", 3, "not a decimal"},
		{"٣", 0, "not a decimal"}, {"0x10", 0, "not a decimal"},
		{strings.Repeat("9", 27) + ".00", 2, "more than 28 digits"},
	} {
		if a, err := parseDecimal(c.text, c.scale); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("parseDecimal(%q, %d) = %s, %v; want an error with %q", c.text, c.scale, a, err, c.says)
		}
	}
	if a, err := parseMinor("1.5"); err == nil {
		t.Errorf("parseMinor took 1.5 as %s", a)
	}
}

// What is shown is the exact quotient by the power of ten, and what is entered as shown is the amount again.
func TestDecimalsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.IntRange(0, events.ScaleMax).Draw(t, "scale")
		text := rapid.StringMatching(`0|-?[1-9][0-9]{0,27}`).Draw(t, "amount")
		a, err := events.ParseAmount(text, events.PostedDigits)
		if err != nil {
			t.Fatal(err)
		}
		shown := formatDecimal(a, scale)
		minor, _ := new(big.Int).SetString(text, 10)
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		if want := new(big.Rat).SetFrac(minor, power).FloatString(scale); shown != want {
			t.Fatalf("%s at scale %d is shown as %s, want %s", text, scale, shown, want)
		}
		back, err := parseDecimal(shown, scale)
		if err != nil || back != a {
			t.Fatalf("%s was shown as %s and read back as %s, %v", text, shown, back, err)
		}
	})
}
