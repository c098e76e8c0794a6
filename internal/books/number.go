package books

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"ledger.example/events"
)

// placesMax bounds the decimal places of a number in a book: far beyond those of an asset.
const placesMax = 100

var numeral = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// Number is an exact decimal number: units / 10^places.
type Number struct {
	units  *big.Int // nil is 0
	places int
}

// ParseNumber reads a number such as "-12.50".
func ParseNumber(s string) (Number, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	if !numeral.MatchString(s) || len(fraction) > placesMax {
		return Number{}, fmt.Errorf("%q is not a number that can be imported", s)
	}
	units, _ := new(big.Int).SetString(whole+fraction, 10)
	return Number{units, len(fraction)}, nil
}

func (n Number) value() *big.Int {
	if n.units == nil {
		return new(big.Int)
	}
	return n.units
}

// trimmed is n without zeros at its end, so that equal numbers are the same.
func (n Number) trimmed() Number {
	units, ten, rest := new(big.Int).Set(n.value()), big.NewInt(10), new(big.Int)
	for ; n.places > 0; n.places-- {
		shorter, rest := new(big.Int).QuoRem(units, ten, rest)
		if rest.Sign() != 0 {
			break
		}
		units = shorter
	}
	return Number{units, n.places}
}

// withPlaces is n written with at least so many decimal places.
func (n Number) withPlaces(places int) Number {
	if places <= n.places {
		return n
	}
	return Number{new(big.Int).Mul(n.value(), power(places-n.places)), places}
}

func (n Number) isZero() bool { return n.value().Sign() == 0 }

func (n Number) times(m Number) Number {
	return Number{new(big.Int).Mul(n.value(), m.value()), n.places + m.places}.trimmed()
}

// decimals is how many decimal places n is written with; no zeros at its end count beyond those that an asset may have.
func (n Number) decimals() int {
	if n.places > events.ScaleMax {
		return n.trimmed().places
	}
	return n.places
}

// String is n as people write it.
func (n Number) String() string {
	digits := new(big.Int).Abs(n.value()).String()
	digits = strings.Repeat("0", max(n.places+1-len(digits), 0)) + digits
	if n.places > 0 {
		digits = digits[:len(digits)-n.places] + "." + digits[len(digits)-n.places:]
	}
	if n.value().Sign() < 0 {
		return "-" + digits
	}
	return digits
}

func power(places int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
}

// minor is n in units of 10^-scale, rounded half to even. Error: it has too many digits.
func (n Number) minor(scale int) (a events.Amount, isRounded bool, err error) {
	units := new(big.Int).Set(n.value())
	if n.places <= scale {
		units.Mul(units, power(scale-n.places))
	} else {
		divisor := power(n.places - scale)
		rest := new(big.Int)
		units.QuoRem(units, divisor, rest)
		isRounded = rest.Sign() != 0
		twice := new(big.Int).Lsh(new(big.Int).Abs(rest), 1)
		if half := twice.Cmp(divisor); half > 0 || half == 0 && units.Bit(0) == 1 {
			units.Add(units, big.NewInt(int64(n.value().Sign())))
		}
	}
	a, err = events.ParseAmount(units.String(), events.PostedDigits)
	if err != nil {
		err = fmt.Errorf("has more than %d digits in minor units", events.PostedDigits)
	}
	return a, isRounded, err
}
