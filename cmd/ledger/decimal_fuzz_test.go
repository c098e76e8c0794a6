package main

import (
	"math/big"
	"regexp"
	"testing"

	"ledger.example/events"
)

// FuzzParseDecimal: accepted is exactly a decimal of few enough places and digits, as the number that it is.
func FuzzParseDecimal(f *testing.F) {
	decimal := regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, s string, scale uint8) {
		places := int(scale) % (events.ScaleMax + 1)
		a, err := parseDecimal(s, places)
		if !decimal.MatchString(s) {
			if err == nil {
				t.Fatalf("%q is %s", s, a)
			}
			return
		}
		number, _ := new(big.Rat).SetString(s)
		minor := new(big.Rat).Mul(number, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)))
		// Zeros past the last place are places, too.
		fits := len(regexp.MustCompile(`\.[0-9]*`).FindString(s)) <= places+1 && len(new(big.Int).Abs(minor.Num()).String()) <= events.PostedDigits
		if fits != (err == nil) || fits && a.String() != minor.Num().String() {
			t.Fatalf("parseDecimal(%q, %d) = %s, %v; it is %s", s, places, a, err, minor.RatString())
		}
	})
}
