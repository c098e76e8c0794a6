package events

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// The names of the stored fields, spelled only here.
const (
	fieldAccount     = "Account"
	fieldActor       = "Actor"
	fieldAsset       = "Asset"
	fieldAt          = "At"
	fieldCost        = "Cost"
	fieldCurrency    = "Currency"
	fieldDescription = "Description"
	fieldFingerprint = "Fingerprint"
	fieldID          = "ID"
	fieldKind        = "Kind"
	fieldLegs        = "Legs"
	fieldMetadata    = "Metadata"
	fieldName        = "Name"
	fieldNumber      = "Number"
	fieldOverdraft   = "Overdraft"
	fieldProfile     = "Profile"
	fieldQuantity    = "Quantity"
	fieldRole        = "Role"
	fieldScale       = "Scale"
	fieldTransaction = "Transaction"
	fieldUser        = "User"
)

// A reader takes the fields of one stored map, each once, and remembers the first fault. After it, values mean nothing.
type reader struct {
	stored Fields
	taken  [fieldsMax]string // the names of the fields that were there
	count  int               // how many of taken are set
	field  string            // the field at fault; "" while there is none
	rule   string            // how it breaks its rule
}

// fieldsMax is the most fields of one map: a posting's.
const fieldsMax = 8

const (
	ruleEmpty       = "is empty and should be absent"
	ruleFingerprint = "is not the number of a rule, a colon and a hash"
	ruleID          = "is not an id"
	ruleIncrease    = "is not greater than the one before"
	ruleInstant     = "is not of the instant of the first"
	ruleKSUID       = "is not a KSUID"
	ruleMissing     = "is missing"
	ruleNoSuchField = "is an unknown field"
	ruleNumber      = "is not a whole number in canonical form"
	ruleProfile     = "is not a JSON object in compact form"
	ruleRange       = "is out of range"
	ruleText        = "is not text of the allowed length"
	ruleTime        = "is not a time in UTC with six decimals"
	ruleType        = "has the wrong type"
	ruleUnknown     = "has an unknown value"
)

func (r *reader) fail(field, rule string) {
	if r.field == "" {
		r.field, r.rule = field, rule
	}
}

// finish looks for fields that nobody took and tells whether all was well.
func (r *reader) finish() bool {
	if r.field == "" && r.count != len(r.stored) {
		least := ""
		for field := range r.stored {
			if !slices.Contains(r.taken[:r.count], field) && (least == "" || field < least) {
				least = field
			}
		}
		r.field, r.rule = strconv.Quote(least), ruleNoSuchField
	}
	return r.field == ""
}

// finishEvent is finish for the outermost map of the named event, with the first fault as an ErrMalformedEvent.
func (r *reader) finishEvent(event string) error {
	if r.finish() {
		return nil
	}
	return fmt.Errorf("%w: %s: %s %s", ErrMalformedEvent, event, r.field, r.rule)
}

// take returns the value of a required field of type T, T's zero value after a fault.
func take[T any](r *reader, field string) (v T) {
	stored, ok := r.stored[field]
	if !ok {
		r.fail(field, ruleMissing)
		return v
	}
	r.taken[r.count] = field
	r.count++
	if v, ok = stored.(T); !ok {
		r.fail(field, ruleType)
	}
	return v
}

// text takes a required text of 1 to most characters.
func (r *reader) text(field string, most int) string {
	s := take[string](r, field)
	if !validText(s, 1, most) {
		r.fail(field, ruleText)
	}
	return s
}

// optionalText takes a text of at most most characters, "" when it is absent.
func (r *reader) optionalText(field string, most int) string {
	if _, ok := r.stored[field]; !ok {
		return ""
	}
	return r.text(field, most)
}

// id takes a required id.
func (r *reader) id(field string) string {
	s := take[string](r, field)
	if !ValidID(s) {
		r.fail(field, ruleID)
	}
	return s
}

// optionalID takes an id, "" when it is absent.
func (r *reader) optionalID(field string) string {
	if _, ok := r.stored[field]; !ok {
		return ""
	}
	return r.id(field)
}

// ksuid takes a required KSUID.
func (r *reader) ksuid(field string) KSUID {
	k, err := ParseKSUID(take[string](r, field))
	if err != nil {
		r.fail(field, ruleKSUID)
	}
	return k
}

// time takes a required time.
func (r *reader) time(field string) time.Time {
	t, err := ParseTime(take[string](r, field))
	if err != nil {
		r.fail(field, ruleTime)
	}
	return t
}

// amount takes a required amount of at most PostedDigits digits.
func (r *reader) amount(field string) Amount {
	a, err := ParseAmount(string(take[Number](r, field)), PostedDigits)
	switch err {
	case nil:
	case ErrOverflow:
		r.fail(field, ruleRange)
	default:
		r.fail(field, ruleNumber)
	}
	return a
}

// integer takes a required whole number of least to most.
func (r *reader) integer(field string, least, most int64) int64 {
	a := r.amount(field)
	if a.Cmp(NewAmount(least)) < 0 || a.Cmp(NewAmount(most)) > 0 {
		r.fail(field, ruleRange)
	}
	return int64(a.lo)
}
