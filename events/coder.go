package events

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A coder encodes or decodes the fields of one stored map, in the byte order of their names. It writes them to out or,
// if out is nil, takes each once from stored. It keeps the first error. After an error, the values are undefined.
//
// So the method fields of an event defines its stored form for both Write and Decode.
type coder struct {
	out    FieldEncoder
	stored Fields
	taken  [fieldsMax]string // the names of the decoded fields
	count  int               // the length of taken
	field  string            // the first invalid field; "" if there is none
	rule   string            // the rule that it breaks
}

// fieldsMax is the maximum number of fields in one map: those of a posting, and of a header.
const fieldsMax = 10

const (
	ruleAgree       = "does not match the added or removed group"
	ruleBoth        = "must not be present together with its alternative"
	ruleEmpty       = "is empty and should be absent"
	ruleFalse       = "is not true and should be absent"
	ruleID          = "is not an id"
	ruleIncrease    = "is not greater than the previous one"
	ruleInstant     = "does not have the instant of the first one"
	ruleMissing     = "is missing"
	ruleNoSuchField = "is an unknown field"
	ruleNumber      = "is not a whole number in canonical form"
	ruleRecorded    = "is not after the time of the legs, or that of a hold"
	ruleRange       = "is out of range"
	ruleSign        = "does not fit the phase, the quantity and the date"
	ruleState       = "does not fit the state"
	ruleText        = "is not text of the allowed length"
	ruleTime        = "is not a time in UTC with six decimals"
	ruleType        = "has the wrong type"
	ruleUnknown     = "has an unknown value"
)

// textRule is the rule of a field that is stored as a text.
type textRule struct {
	valid    func(string) bool
	broken   string
	optional bool   // it may be absent
	absent   string // the value of an absent field, which is never stored
}

var (
	requiredID  = textRule{valid: ValidID, broken: ruleID}
	optionalID  = textRule{valid: ValidID, broken: ruleID, optional: true}
	actor       = requiredText(ActorChars)
	description = optionalText(DescriptionChars)
	ksuidText   = textRule{broken: "is not a KSUID", valid: func(s string) bool {
		_, err := ParseKSUID(s)
		return err == nil
	}}
)

// requiredText is the rule of a text of 1 to most characters.
func requiredText(most int) textRule {
	return textRule{broken: ruleText, valid: func(s string) bool { return validText(s, 1, most) }}
}

// optionalText is the rule of a text of at most most characters, absent when it is empty.
func optionalText(most int) textRule {
	r := requiredText(most)
	r.optional = true
	return r
}

// oneOf is the rule of a text that is one of the given.
func oneOf[S ~string](known ...S) textRule {
	return textRule{broken: ruleUnknown, valid: func(s string) bool { return slices.Contains(known, S(s)) }}
}

// text codes a field that is stored as a text.
func text[S ~string](c *coder, field string, v *S, r textRule) {
	switch {
	case c.out != nil && r.optional && (*v == "" || string(*v) == r.absent):
	case c.out != nil:
		c.out.Text(field, string(*v))
	case r.optional && !c.has(field):
		*v = S(r.absent)
	default:
		*v = S(take[string](c, field))
		if !r.valid(string(*v)) {
			c.fail(field, r.broken)
		}
	}
}

// time codes a required time.
func (c *coder) time(field string, v *time.Time) {
	if c.out != nil {
		c.out.Text(field, FormatTime(*v))
		return
	}
	var err error
	if *v, err = ParseTime(take[string](c, field)); err != nil {
		c.fail(field, ruleTime)
	}
}

// amount codes a required amount of at most PostedDigits digits.
func (c *coder) amount(field string, v *Amount) {
	if c.out != nil {
		c.out.Number(field, *v)
		return
	}
	var err error
	switch *v, err = ParseAmount(string(take[Number](c, field)), PostedDigits); err {
	case nil:
	case ErrOverflow:
		c.fail(field, ruleRange)
	default:
		c.fail(field, ruleNumber)
	}
}

// flag codes a boolean, which is absent when it is false.
func (c *coder) flag(field string, v *bool) {
	switch {
	case c.out != nil && *v:
		c.out.Flag(field)
	case c.out == nil && c.has(field):
		if *v = take[bool](c, field); !*v {
			c.fail(field, ruleFalse)
		}
	}
}

// integer codes a required whole number of least to most.
func integer[I int | int64](c *coder, field string, v *I, least, most int64) {
	a := NewAmount(int64(*v))
	c.amount(field, &a)
	if c.out == nil && (a.Cmp(NewAmount(least)) < 0 || a.Cmp(NewAmount(most)) > 0) {
		c.fail(field, ruleRange)
	}
	*v = I(a.lo)
}

func (c *coder) has(field string) bool { _, ok := c.stored[field]; return ok }

// take returns the value of a required field of type T, or T's zero value after an error.
func take[T any](c *coder, field string) (v T) {
	stored, ok := c.stored[field]
	if !ok {
		c.fail(field, ruleMissing)
		return v
	}
	c.taken[c.count] = field
	c.count++
	if v, ok = stored.(T); !ok {
		c.fail(field, ruleType)
	}
	return v
}

// takeMap takes a map of 1 to most entries. It returns nil after an error.
func (c *coder) takeMap(field string, most int) Fields {
	stored := take[Fields](c, field)
	switch {
	case len(stored) == 0:
		c.fail(field, ruleEmpty)
	case len(stored) > most:
		c.fail(field, ruleRange)
		return nil
	}
	return stored
}

func (c *coder) fail(field, rule string) {
	if c.field == "" {
		c.field, c.rule = field, rule
	}
}

// finish rejects fields that were not taken, and reports whether there was no error.
func (c *coder) finish() bool {
	if c.field == "" && c.count != len(c.stored) {
		least := ""
		for field := range c.stored {
			if !slices.Contains(c.taken[:c.count], field) && (least == "" || field < least) {
				least = field
			}
		}
		c.field, c.rule = strconv.Quote(least), ruleNoSuchField
	}
	return c.field == ""
}

// err is finish for the outermost map of the named event. It returns the first error as an ErrMalformedEvent.
func (c *coder) err(event string) error {
	if c.finish() {
		return nil
	}
	return fmt.Errorf("%w: %s: %s %s", ErrMalformedEvent, event, c.field, c.rule)
}
