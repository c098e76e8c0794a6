package audit

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// rule says which values an attribute may have. parse returns the value that a text or a number stands for.
type rule[T any] struct {
	typ    string // aString, aNumber or aFlag
	wanted string // describes a right value
	parse  func(string) (value T, ok bool)
}

const aString, aNumber, aFlag = "a string", "a number", "a boolean"

// scalar returns the text of a value of the type that typ names.
func scalar(v types.AttributeValue, typ string) (text string, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value, typ == aString
	case *types.AttributeValueMemberN:
		return v.Value, typ == aNumber
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value), typ == aFlag
	}
	return "", false
}

// valid is a rule for strings that pass.
func valid(wanted string, passes func(string) bool) *rule[string] {
	return &rule[string]{typ: aString, wanted: wanted, parse: func(s string) (string, bool) { return s, passes(s) }}
}

// Rules without parameters.
var (
	anyText = valid("a string", func(string) bool { return true })
	anID    = valid("an id", isID)
	aKSUID  = valid("a KSUID of the ledger", func(s string) bool { // one that the ledger can have minted
		_, ok := instantOf(s)
		return ok
	})
	anExpiry  = valid(instants, isInstant)
	anInstant = &rule[time.Time]{typ: aString, wanted: instants, parse: func(s string) (time.Time, bool) {
		at, _ := time.Parse(instantForm, s)
		return at, isInstant(s)
	}}
	anEventKey = &rule[store.Key]{typ: aString, wanted: "the key of an event of the journal",
		parse: store.ParseJournaled}
	// aTrueFlag is for optional booleans: false must not be stored.
	aTrueFlag = &rule[bool]{typ: aFlag, wanted: "true, or no such attribute",
		parse: func(s string) (bool, bool) { return s == "true", s == "true" }}
)

// Rules with parameters that several tables have.
var (
	aName      = ofLength(1, 256)
	anAmount   = whole(postedDigits)
	aSum       = natural(foldedDigits)
	aSignedSum = whole(foldedDigits)
	aCount     = integer(0, math.MaxInt64)
	aForm      = integer(form, form)
	aGrant     = integer(1, grantsMax)
	aRole      = oneOf("viewer", "operator", "owner")
	aKind      = oneOf(transaction, transfer, trade, reversal)
)

// Rows that tables of several events have. Nothing is computed from the actor.
var anActor = must("Actor", ofLength(1, 2048), nil)

func aDescription(to *string) row { return may("Description", aName, to) }

const instants = "a time in UTC with six decimals"

// ofLength is a string of least to most characters.
func ofLength(least, most int) *rule[string] {
	return valid(fmt.Sprintf("text of %d to %d characters", least, most),
		func(s string) bool { return isText(s, least, most) })
}

// oneOf is one of some texts.
func oneOf(texts ...string) *rule[string] {
	return valid(strings.Join(texts, ", "), func(s string) bool { return slices.Contains(texts, s) })
}

// keyed is a row for a string that is also a part of the key.
func keyed(name, part string) row {
	return row{name, false, aString, func(r *reader, v types.AttributeValue) bool {
		s, ok := scalar(v, aString)
		if ok && s != part {
			r.fault(WrongKey, name, strconv.Quote(part))
		}
		return ok
	}}
}

// whole is a whole number of at most digits digits.
func whole(digits int) *rule[*big.Int] {
	return &rule[*big.Int]{typ: aNumber, wanted: fmt.Sprintf("a whole number of at most %d digits", digits),
		parse: func(s string) (*big.Int, bool) { return wholeNumber(s, digits) }}
}

// natural is whole for a number that is not negative.
func natural(digits int) *rule[*big.Int] {
	n := whole(digits)
	n.wanted += ", not negative"
	n.parse = func(s string) (*big.Int, bool) {
		n, ok := wholeNumber(s, digits)
		return n, ok && n.Sign() >= 0
	}
	return n
}

// integer is a whole number from least to most.
func integer(least, most int64) *rule[int64] {
	return &rule[int64]{typ: aNumber, wanted: fmt.Sprintf("a whole number from %d to %d", least, most),
		parse: func(s string) (int64, bool) {
			n, _ := strconv.ParseInt(s, 10, 64)
			return n, strconv.FormatInt(n, 10) == s && least <= n && n <= most
		}}
}
