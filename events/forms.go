package events

import (
	"fmt"
	"reflect"
	"time"
)

const (
	// storedTrue is the text of a flag. False is absent.
	storedTrue = "true"
	// unlimitedOverdraft is the stored form of an unlimited policy. Another policy is stored as its limits.
	unlimitedOverdraft = "unlimited"
)

// as returns the address of v, whose type is T.
func as[T any](v reflect.Value) *T { return v.Addr().Interface().(*T) }

// encode returns the stored value of v, or a Field without a type if it is empty, and absent if that is allowed.
func (f *field) encode(c *Encoder, v reflect.Value) Field {
	s := Field{Type: f.stored}
	switch f.form {
	case textForm:
		s.Text = v.String()
	case integerForm:
		if n := v.Int(); n != 0 || !f.optional {
			s.Text = c.Of(NewAmount(n))
		}
	case flagForm:
		if v.Bool() {
			s.Text = storedTrue
		}
	case amountForm:
		s.Text = c.Of(*as[Amount](v))
	case timeForm:
		if t := as[time.Time](v); !t.IsZero() {
			s.Text = FormatTime(*t)
		}
	case structForm:
		s.Of = f.plan.encode(c, v)
	case listForm:
		s.Of = c.fields(v.Len())
		for i := range v.Len() {
			s.Of = append(s.Of, f.element.encode(c, v.Index(i)))
		}
	case mapForm:
		s.Of = f.encodeMap(c, v)
	case policyForm:
		o := as[Overdraft](v)
		if o.Unlimited {
			return Field{Type: TextField, Text: unlimitedOverdraft}
		}
		s.Of = f.encodeMap(c, reflect.ValueOf(&o.Limits).Elem())
	}
	if f.optional && len(s.Of) == 0 && (s.Text == "" || s.Text == f.absent) {
		return Field{}
	}
	return s
}

func (f *field) encodeMap(c *Encoder, v reflect.Value) Fields {
	if v.Len() == 0 {
		return nil
	}
	all, element := c.fields(v.Len()), reflect.New(v.Type().Elem()).Elem()
	for name, value := range v.Seq2() {
		element.Set(value)
		one := f.element.encode(c, element)
		one.Name = name.String()
		all = append(all, one)
	}
	all.sort()
	return all
}

// decode sets v to a stored value. It returns the rule that the value breaks, or that its part at where breaks.
func (f *field) decode(s *Field, v reflect.Value) (where, rule string) {
	isPolicyText := f.form == policyForm && s.Type == TextField
	n := int64(len(s.Of))
	switch {
	case isPolicyText:
	case s.Type != f.stored:
		return "", ruleType
	case f.element != nil && n == 0 && f.optional:
		return "", "is empty and should be absent"
	case f.element != nil && (n < f.least || n > f.most):
		return "", ruleRange
	}
	switch f.form {
	case textForm:
		if !f.valid(s.Text) {
			return "", f.broken
		}
		v.SetString(s.Text)
	case flagForm:
		if s.Text != storedTrue {
			return "", "is not true and should be absent"
		}
		v.SetBool(true)
	case integerForm, amountForm:
		return "", f.decodeNumber(s.Text, v)
	case timeForm:
		t, err := ParseTime(s.Text)
		if err != nil || t.IsZero() {
			return "", "is not a time in UTC with six decimals"
		}
		*as[time.Time](v) = t
	case structForm:
		if where, rule = f.plan.decode(s.Of, v, false); rule != "" {
			return "." + where, rule
		}
	case listForm:
		v.Set(reflect.MakeSlice(v.Type(), len(s.Of), len(s.Of)))
		for i := range s.Of {
			if where, rule := f.element.decode(&s.Of[i], v.Index(i)); rule != "" {
				return fmt.Sprintf("[%d]%s", i, where), rule
			}
		}
	case mapForm:
		return "", f.decodeMap(s.Of, v)
	case policyForm:
		o := as[Overdraft](v)
		if o.Unlimited = isPolicyText; !isPolicyText {
			return "", f.decodeMap(s.Of, reflect.ValueOf(&o.Limits).Elem())
		}
		if s.Text != unlimitedOverdraft {
			return "", ruleUnknown
		}
	}
	return "", ""
}

// decodeNumber sets an Amount or an integer.
func (f *field) decodeNumber(digits string, v reflect.Value) (rule string) {
	a, err := ParseAmount(digits, PostedDigits)
	switch {
	case err == ErrAmount:
		return ruleNumber
	case err != nil:
		return ruleRange
	case f.form == amountForm:
		*as[Amount](v) = a
	case a.Cmp(NewAmount(f.least)) < 0, a.Cmp(NewAmount(f.most)) > 0:
		return ruleRange
	default:
		v.SetInt(int64(a.lo))
	}
	return ""
}

func (f *field) decodeMap(all Fields, v reflect.Value) (rule string) {
	v.Set(reflect.MakeMapWithSize(v.Type(), len(all)))
	element := reflect.New(v.Type().Elem()).Elem()
	for i := range all {
		if !f.validKey(all[i].Name) {
			return f.broken
		}
		if _, rule := f.element.decode(&all[i], element); rule != "" {
			return rule
		}
		v.SetMapIndex(reflect.ValueOf(all[i].Name), element)
	}
	return ""
}
