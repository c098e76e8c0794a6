package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
)

// The rules of syntax, for callers. The rules of the domain are in package ledger.
const (
	ruleRequired = "is required"
	ruleID       = events.IDRule
	ruleText     = "must be a string"
	ruleObject   = "must be an object"
	ruleArray    = "must be an array"
	ruleInteger  = "must be a whole number"
	ruleBool     = "must be true or false"
	ruleAmount   = `must be a whole number in a string, such as "2500": at most 28 digits, no leading zeros, no plus`
	ruleFrom     = "must be an id, or a list of accounts"
	ruleOne      = "must not be given with a list as "
	ruleUpTo     = `must be "all", or a whole number above zero in a string, of at most 28 digits`
	ruleDraft    = `must be "unlimited" or an object of amounts by asset`
	ruleInstant  = "must be an RFC 3339 time with its offset, such as 2026-11-21T09:00:00Z"
	ruleKnown    = "is not a field of this request"
	ruleAgree    = "must be the same in id and Idempotency-Key"
	ruleOnce     = "must be given once"
)

// fieldsOf returns the fields that a body may have, of a wire type, which is a struct. A field in the path is in a body
// only if it is same. In a batch, it is there under the name of its tag batch. What a value must be follows from the
// field's type and its tags: see value.
func fieldsOf(t reflect.Type, isBatched bool) []client.Field {
	types := &wireTypes
	if isBatched {
		types = &batchedTypes
	}
	if known, ok := types.Load(t); ok {
		return known.([]client.Field)
	}
	var fields []client.Field
	for _, f := range client.FieldsOf(t) {
		if name := f.Tag.Get("batch"); name != "" && isBatched {
			f.JSON, f.Path = name, ""
		}
		if f.JSON != "" && (f.Path == "" || f.IsSame()) {
			fields = append(fields, f)
		}
	}
	types.Store(t, fields)
	return fields
}

var wireTypes, batchedTypes sync.Map // fields by type

// members reads an object into a struct.
func (r *reader) members(to reflect.Value) error {
	fields, given, isKnown := fieldsOf(to.Type(), r.isBatched), uint64(0), true
	err := r.object(func(name string) error {
		for i := range fields {
			if f := &fields[i]; f.JSON == name {
				given |= 1 << i
				r.place(name)
				if f.IsSame() {
					return r.sameAs(to.FieldByIndex(f.Index), f)
				}
				return r.value(to.FieldByIndex(f.Index), f.Is() == "ID")
			}
		}
		isKnown = false
		r.refuse(ruleKnown)
		return r.skip()
	})
	if err == nil {
		r.together(to, fields, given, isKnown)
	}
	return err
}

// together checks which members of an object, which was read into of, are given together. given has a bit for each
// field. isKnown says that the object has no other members.
func (r *reader) together(of reflect.Value, fields []client.Field, given uint64, isKnown bool) {
	has := func(name string) bool {
		i := slices.IndexFunc(fields, func(f client.Field) bool { return f.JSON == name })
		return i >= 0 && given&(1<<i) != 0
	}
	isList := func(name string) bool {
		i := slices.IndexFunc(fields, func(f client.Field) bool { return f.JSON == name })
		from, ok := of.FieldByIndex(fields[i].Index).Interface().(client.From)
		return ok && from.IsList()
	}
	for i := range fields {
		f, isGiven := &fields[i], given&(1<<i) != 0
		switch {
		case !isGiven && f.IsRequired() && !has(f.Without):
			r.failMember(f.JSON, ruleRequired, !isKnown)
		case isGiven && f.With != "" && !has(f.With):
			r.failMember(f.With, ruleRequired+" with "+f.JSON, false)
		case isGiven && f.Without != "" && has(f.Without):
			r.failMember(f.JSON, "must not be given with "+f.Without, false)
		}
		if f.One != "" && isGiven && isList(f.One) {
			r.failMember(f.JSON, ruleOne+f.One, false)
		}
	}
}

// failMember records a fault of a member of the current object, which was read. isMissing says that the object has
// unknown members, and lacks this one.
func (r *reader) failMember(name, rule string, isMissing bool) {
	outer := len(r.path)
	r.path = append(append(r.path, '.'), name...)
	if r.fail(r.at(), rule); isMissing && len(r.missing) < errorsMax {
		r.missing = append(r.missing, fieldError{Field: r.field(), Rule: rule})
	}
	r.path = r.path[:outer]
}

// place records where a member is, unless it is in a list.
func (r *reader) place(name string) {
	switch {
	case r.lists > 0:
		return
	case r.depth > 1:
		name = r.field()
	}
	r.places = append(r.places, place{name, r.at()})
}

// sameAs reads a field that the ledger sets. If it is in the path, it must be equal to is. Otherwise its text is
// recorded, for checkSame.
func (r *reader) sameAs(is reflect.Value, f *client.Field) error {
	at := r.at()
	kind, text, err := r.scalar()
	switch isText := is.Kind() == reflect.String; {
	case f.Path != "" && (kind != '"' || text != is.String()):
		r.fail(at, rulePath)
	case isText && kind != '"':
		r.fail(at, ruleText)
	case !isText && (kind != '0' || !isNumber(text)):
		r.fail(at, ruleVersion)
	case f.Path == "":
		r.same = append(r.same, sameField{f.JSON, text})
	}
	return err
}

// A leaf reads a value of its own syntax, which is at a position.
type leaf interface{ read(r *reader, at int) error }

// value reads a value of a wire type. If it is invalid, it records a fault. A null is a value, and never a valid one.
func (r *reader) value(to reflect.Value, isID bool) (err error) {
	at := r.at()
	switch to := to.Addr().Interface().(type) {
	case leaf:
		return to.read(r, at)
	case *json.RawMessage:
		return r.profile(at, to)
	case *map[string]string:
		*to, err = entries[string](r, at, events.MetadataPairs, ledger.RuleMetadata)
		return err
	case *client.Overdraft:
		if r.json.PeekKind() == '{' {
			to.Limits, err = entries[events.Amount](r, at, events.OverdraftAssets, ledger.RuleOverdraft)
			return err
		}
		return r.scalarInto(at, to, isID)
	case *client.From:
		switch r.json.PeekKind() {
		case '[':
			if err = r.value(reflect.ValueOf(&to.Sources).Elem(), false); len(to.Sources) == 0 {
				r.fail(at, ruleFrom)
			}
			return err
		case '"':
			return r.scalarInto(at, &to.Account, true)
		}
		r.fail(at, ruleFrom)
		return r.skip()
	case *string, *bool, *int, *events.Amount, *time.Time, *client.Share, *client.Weight, *client.UpTo,
		*client.Zone:
		return r.scalarInto(at, to, isID)
	}
	switch to.Kind() {
	case reflect.Pointer: // it stays nil if the value is at fault
		is, before := reflect.New(to.Type().Elem()), len(r.faults)
		if err = r.value(is.Elem(), isID); len(r.faults) == before || r.faults[before].at != at {
			to.Set(is)
		}
		return err
	case reflect.Struct:
		if r.is('{', at, ruleObject) {
			return r.members(to)
		}
	case reflect.Slice:
		if r.is('[', at, ruleArray) {
			return r.items(to)
		}
	default:
		panic(fmt.Sprintf("%s is not a wire type", to.Type()))
	}
	return r.skip()
}

// is reports whether the next value is an object or a list. If it is not, it records a fault.
func (r *reader) is(kind jsontext.Kind, at int, rule string) bool {
	if r.json.PeekKind() == kind {
		return true
	}
	r.fail(at, rule)
	return false
}

// scalarInto reads a scalar.
func (r *reader) scalarInto(at int, to any, isID bool) error {
	kind, text, err := r.scalar()
	if rule := parse(to, kind, text, isID); rule != "" {
		r.fail(at, rule)
	}
	return err
}

// parse parses the text of a scalar. It returns the rule that the text breaks, "" if none.
func parse(to any, kind jsontext.Kind, text string, isID bool) (rule string) {
	var ok bool
	var err error
	isText := kind == '"'
	switch to := to.(type) {
	case *string:
		if isID {
			rule, ok = ruleID, isText && events.ValidID(text)
		} else {
			rule, ok = ruleText, isText
		}
		*to = text
	case *bool:
		rule, ok, *to = ruleBool, kind == 't' || kind == 'f', kind == 't'
	case *int:
		*to, err = strconv.Atoi(text)
		rule, ok = ruleInteger, kind == '0' && err == nil && int64(int32(*to)) == int64(*to) && text != "-0"
	case *client.Share:
		_, ok = ledger.ParseShare(text)
		*to, rule, ok = client.Share(text), ledger.RuleShare, ok && isText
	case *client.Zone:
		*to, rule, ok = client.Zone(text), ledger.RuleZone, isText && ledger.IsZone(text)
	case *client.UpTo:
		most, err := events.ParseAmount(text, events.PostedDigits)
		ok = isText && (text == string(client.All) || err == nil && most.Sign() > 0)
		*to, rule = client.UpTo(text), ruleUpTo
	case *client.Weight:
		n, isNumber := strconv.Atoi(text)
		ok = kind == '0' && isNumber == nil && n >= 1 && n <= ledger.WeightMax
		*to, rule = client.Weight(n), ledger.RuleWeight
	case *events.Amount:
		*to, err = events.ParseAmount(text, events.PostedDigits)
		rule, ok = ruleAmount, isText && err == nil
	case *time.Time:
		*to, ok = events.ReadTime(text)
		rule, ok = ruleInstant, isText && ok
	case *client.Overdraft:
		to.Unlimited = isText && text == "unlimited"
		rule, ok = ruleDraft, to.Unlimited
	}
	if ok {
		return ""
	}
	return rule
}

// items reads a list into a slice. After the first fault it keeps only as many items as a valid list has: the ledger
// looks for more faults in them, and the rest is not used.
func (r *reader) items(to reflect.Value) error {
	const few = 4 // most lists have less
	to.Set(reflect.MakeSlice(to.Type(), 0, few))
	return r.list(func(int) error {
		n := to.Len()
		to.Grow(1)
		to.SetLen(n + 1)
		to.Index(n).SetZero()
		err := r.value(to.Index(n), false)
		if len(r.faults) > 0 && n >= events.PostingsMax {
			to.SetLen(n)
		}
		return err
	})
}

// entries reads an object of any names. It has at most a number of members: more break a rule.
func entries[T any](r *reader, at, most int, rule string) (all map[string]T, err error) {
	if !r.is('{', at, ruleObject) {
		return nil, r.skip()
	}
	n, faults, places := 0, len(r.faults), len(r.places)
	err = r.object(func(name string) error {
		if n++; n > most {
			return r.skip()
		}
		if all == nil {
			all = map[string]T{}
		}
		r.place(name)
		var v T
		err := r.scalarInto(r.at(), &v, false)
		all[name] = v
		return err
	})
	if n > most {
		r.faults, r.places = r.faults[:faults], r.places[:places]
		r.fail(at, rule)
	}
	return all, err
}

// profile reads an object with any members as compact JSON. If it is too large, to stays empty.
func (r *reader) profile(at int, to *json.RawMessage) error {
	if !r.is('{', at, ruleObject) {
		return r.skip()
	}
	wrong := false // the addresses are
	err := r.object(func(name string) error {
		if name != "addresses" || r.json.PeekKind() != '[' {
			wrong = wrong || name == "addresses"
			return r.skip()
		}
		return r.list(func(i int) error {
			wrong = wrong || i >= events.AddressesMax || r.json.PeekKind() != '{'
			return r.skip()
		})
	})
	if err != nil {
		return err
	}
	compact, err := jsontext.AppendFormat(nil, []byte(r.since(at)), jsontext.AllowDuplicateNames(true))
	if err != nil || len(compact) <= events.ProfileBytes {
		*to = compact
		return err
	}
	r.fail(at, ledger.RuleProfile)
	if wrong {
		r.faults = append(r.faults, fault{at, fieldError{Field: r.field() + ".addresses", Rule: ledger.RuleAddresses}})
	}
	return nil
}
