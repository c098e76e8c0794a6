package ledger

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"ledger.example/events"
)

const actorChars = events.ActorChars

// faults collects the fields of a request that are out of range, in its order.
type faults []FieldError

const (
	ruleID       = "must be 1 to 64 of A-Z a-z 0-9 . _ : @ - and begin with a letter or a digit"
	ruleText     = "must be UTF-8 without NUL"
	ruleDigits   = "must have at most 28 digits"
	rulePositive = "must be above zero"
	ruleNegative = "must not be negative"
)

func (f *faults) add(field, rule string) { *f = append(*f, FieldError{Field: field, Rule: rule}) }

func (f *faults) id(field, id string) {
	if !events.ValidID(id) {
		f.add(field, ruleID)
	}
}

// text checks a free text of least to most characters (Unicode code points). NUL is refused: other stores, to which books
// are exported, cannot hold it, and an event can never be mended.
func (f *faults) text(field, text string, least, most int) {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		f.add(field, ruleText)
		return
	}
	if n := utf8.RuneCountInString(text); n < least || n > most {
		rule := "must have at most " + strconv.Itoa(most) + " characters"
		if least > 0 {
			rule = "must have " + strconv.Itoa(least) + " to " + strconv.Itoa(most) + " characters"
		}
		f.add(field, rule)
	}
}

// amount checks the number of digits, and reports whether they are few enough.
func (f *faults) amount(field string, a events.Amount) bool {
	if a.Abs().Cmp(mostPosted) > 0 {
		f.add(field, ruleDigits)
		return false
	}
	return true
}

// mostPosted is the largest amount that may be posted: 28 nines. It is never changed.
var mostPosted, _ = events.ParseAmount(strings.Repeat("9", events.PostedDigits), events.PostedDigits)
