package units

import (
	"fmt"
	"regexp"
	"strings"

	"ledger.example/events"
)

// AmountError says why a string is not an amount.
type AmountError string

// Error implements error.
func (e AmountError) Error() string { return string(e) }

func amountError(format string, args ...any) error { return AmountError(fmt.Sprintf(format, args...)) }

// decimal matches a decimal number.
var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// Parse converts a decimal number, such as "1500.00" or "-3", to minor units of the given scale. It never rounds: more
// decimal places than the scale are an error. Error: AmountError.
func Parse(s string, scale int) (events.Amount, error) {
	if !decimal.MatchString(s) {
		return events.Amount{}, amountError("%q is not a decimal number such as 1500 or 12.50", s)
	}
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(fraction) > scale {
		places := "places"
		if len(fraction) == 1 {
			places = "place"
		}
		return events.Amount{}, amountError("%q has %d decimal %s, and there are at most %d", s, len(fraction), places,
			scale)
	}
	canonical := strings.TrimLeft(whole+fraction+strings.Repeat("0", scale-len(fraction)), "0")
	if canonical == "" {
		return events.Amount{}, nil
	}
	if negative {
		canonical = "-" + canonical
	}
	a, err := events.ParseAmount(canonical, events.PostedDigits)
	if err != nil { // there are only digits, so there are too many
		return events.Amount{}, amountError("%q has more than %d digits in minor units", s, events.PostedDigits)
	}
	return a, nil
}
