package books

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"ledger.example/events"
)

// placesMax bounds the decimal places of a number in a book. It is far above the scale of any asset.
const placesMax = 100

var numeral = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// Number is an exact decimal number, with the number of decimal places with which it is written. The zero value is 0.
type Number struct {
	exact  *big.Rat // nil is 0
	places int
}

// ParseNumber parses a number such as "-12.50".
func ParseNumber(s string) (Number, error) {
	_, fraction, _ := strings.Cut(s, ".")
	if !numeral.MatchString(s) || len(fraction) > placesMax {
		return Number{}, fmt.Errorf("%q is not a number that can be imported", s)
	}
	exact, _ := new(big.Rat).SetString(s) // numeral matches only valid numbers
	return Number{exact, len(fraction)}, nil
}

// numberOf returns units times 10^-places.
func numberOf(units *big.Int, places int) Number {
	return Number{new(big.Rat).SetFrac(units, power(places)), places}
}

func (n Number) value() *big.Rat {
	if n.exact == nil {
		return new(big.Rat)
	}
	return n.exact
}

// trimmed returns n without trailing zeros, so that equal numbers are written in the same way.
func (n Number) trimmed() Number {
	places, _ := n.value().FloatPrec()
	return Number{n.exact, places}
}

// withPlaces returns n with at least the given number of decimal places.
func (n Number) withPlaces(places int) Number { return Number{n.exact, max(n.places, places)} }

func (n Number) sign() int { return n.value().Sign() }

func (n Number) isZero() bool { return n.sign() == 0 }

func (n Number) negated() Number { return Number{new(big.Rat).Neg(n.value()), n.places} }

func (n Number) times(m Number) Number {
	return Number{exact: new(big.Rat).Mul(n.value(), m.value())}.trimmed()
}

// decimals returns the number of decimal places. If it exceeds events.ScaleMax, trailing zeros are not counted.
func (n Number) decimals() int {
	if n.places > events.ScaleMax {
		return n.trimmed().places
	}
	return n.places
}

func (n Number) String() string { return n.value().FloatString(n.places) }

func power(places int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
}

// minor returns n in units of 10^-scale, rounded half to even. It is an error if the amount has too many digits.
func (n Number) minor(scale int) (a events.Amount, isRounded bool, err error) {
	exact := new(big.Rat).Mul(n.value(), new(big.Rat).SetInt(power(scale)))
	units, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
	twice := rest.Lsh(rest.Abs(rest), 1)
	if half := twice.Cmp(exact.Denom()); half > 0 || half == 0 && units.Bit(0) == 1 {
		units.Add(units, big.NewInt(int64(exact.Sign())))
	}
	a, err = events.ParseAmount(units.String(), events.PostedDigits)
	if err != nil {
		err = fmt.Errorf("has more than %d digits in minor units", events.PostedDigits)
	}
	return a, !exact.IsInt(), err
}
