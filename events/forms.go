package events

import (
	"fmt"
	"reflect"
	"time"
)

// A form is how the values of one Go type are stored, and read.
type form struct {
	stored FieldType // the type of the stored value; 0 if there are several
	// encode returns the stored value of v, or a Field without a type if it is empty, and absent if that is allowed.
	encode func(c *Encoder, f *field, v reflect.Value) Field
	// decode sets v to a stored value. It returns the rule that the value breaks, or that its part at where breaks.
	decode func(f *field, s *Field, v reflect.Value) (where, rule string)
}

// formOf returns the form of a type, and the type of its elements if it has any.
func formOf(t reflect.Type) (f form, elements reflect.Type) {
	switch t {
	case reflect.TypeFor[Amount]():
		return scalar(NumberField, encodeAmount, decodeAmount), nil
	case reflect.TypeFor[time.Time]():
		return scalar(TextField, encodeTime, decodeTime), nil
	case reflect.TypeFor[Overdraft]():
		return form{0, encodeOverdraft, decodeOverdraft}, reflect.TypeFor[Amount]()
	}
	switch t.Kind() {
	case reflect.String:
		return scalar(TextField, encodeText, decodeText), nil
	case reflect.Int, reflect.Int64:
		return scalar(NumberField, encodeInteger, decodeInteger), nil
	case reflect.Bool:
		return scalar(FlagField, encodeFlag, decodeFlag), nil
	case reflect.Struct:
		return form{MapField, encodeStruct, decodeStruct}, nil
	case reflect.Slice:
		return form{ListField, encodeList, decodeList}, t.Elem()
	case reflect.Map:
		return form{MapField, encodeMap, decodeMap}, t.Elem()
	}
	panic(fmt.Sprintf("events: %s has no stored form", t))
}

// scalar is the form of a value without parts. An empty text is that of an empty value.
func scalar(stored FieldType, encode func(*Encoder, reflect.Value) string,
	decode func(f *field, text string, v reflect.Value) (rule string)) form {
	return form{stored,
		func(c *Encoder, f *field, v reflect.Value) Field {
			text := encode(c, v)
			if f.optional && (text == "" || text == f.absent) {
				return Field{}
			}
			return Field{Type: stored, Text: text}
		},
		func(f *field, s *Field, v reflect.Value) (string, string) { return "", decode(f, s.Text, v) },
	}
}

// as returns the address of v, whose type is T.
func as[T any](v reflect.Value) *T { return v.Addr().Interface().(*T) }

func encodeText(_ *Encoder, v reflect.Value) string { return v.String() }

func decodeText(f *field, text string, v reflect.Value) (rule string) {
	if !f.valid(text) {
		return f.broken
	}
	v.SetString(text)
	return ""
}

func encodeAmount(c *Encoder, v reflect.Value) string { return c.Of(*as[Amount](v)) }

func decodeAmount(_ *field, digits string, v reflect.Value) (rule string) {
	a, err := ParseAmount(digits, PostedDigits)
	switch err {
	case nil:
		*as[Amount](v) = a
		return ""
	case ErrOverflow:
		return ruleRange
	}
	return ruleNumber
}

func encodeInteger(c *Encoder, v reflect.Value) string { return c.Of(NewAmount(v.Int())) }

func decodeInteger(f *field, digits string, v reflect.Value) (rule string) {
	a, err := ParseAmount(digits, PostedDigits)
	switch {
	case err != nil && err != ErrOverflow:
		return ruleNumber
	case err != nil, a.Cmp(NewAmount(f.least)) < 0, a.Cmp(NewAmount(f.most)) > 0:
		return ruleRange
	}
	v.SetInt(int64(a.lo))
	return ""
}

func encodeTime(_ *Encoder, v reflect.Value) string {
	t := as[time.Time](v)
	if t.IsZero() {
		return ""
	}
	return FormatTime(*t)
}

func decodeTime(f *field, text string, v reflect.Value) (rule string) {
	t, err := ParseTime(text)
	if err != nil || t.IsZero() {
		return ruleTime
	}
	*as[time.Time](v) = t
	return ""
}

// storedTrue is the text of a flag. False is absent.
const storedTrue = "true"

func encodeFlag(_ *Encoder, v reflect.Value) string {
	if v.Bool() {
		return storedTrue
	}
	return ""
}

func decodeFlag(_ *field, text string, v reflect.Value) (rule string) {
	if text != storedTrue {
		return ruleFalse
	}
	v.SetBool(true)
	return ""
}

func encodeStruct(c *Encoder, f *field, v reflect.Value) Field {
	return Field{Type: MapField, Of: f.plan.encode(c, v)}
}

func decodeStruct(f *field, s *Field, v reflect.Value) (where, rule string) {
	if where, rule = f.plan.decode(s.Of, v, false); rule != "" {
		where = "." + where
	}
	return where, rule
}

func encodeList(c *Encoder, f *field, v reflect.Value) Field {
	if f.optional && v.Len() == 0 {
		return Field{}
	}
	all := c.fields(v.Len())
	for i := range v.Len() {
		all = append(all, f.element.encode(c, f.element, v.Index(i)))
	}
	return Field{Type: ListField, Of: all}
}

func decodeList(f *field, s *Field, v reflect.Value) (where, rule string) {
	if rule := f.size(s.Of); rule != "" {
		return "", rule
	}
	v.Set(reflect.MakeSlice(v.Type(), len(s.Of), len(s.Of)))
	for i := range s.Of {
		if where, rule := f.element.read(&s.Of[i], v.Index(i)); rule != "" {
			return fmt.Sprintf("[%d]%s", i, where), rule
		}
	}
	return "", ""
}

func encodeMap(c *Encoder, f *field, v reflect.Value) Field {
	if v.Len() == 0 {
		return Field{}
	}
	all, element := c.fields(v.Len()), reflect.New(v.Type().Elem()).Elem()
	for name, value := range v.Seq2() {
		element.Set(value)
		one := f.element.encode(c, f.element, element)
		one.Name = name.String()
		all = append(all, one)
	}
	all.sort()
	return Field{Type: MapField, Of: all}
}

func decodeMap(f *field, s *Field, v reflect.Value) (where, rule string) {
	if rule := f.size(s.Of); rule != "" {
		return "", rule
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(s.Of)))
	element := reflect.New(v.Type().Elem()).Elem()
	for i := range s.Of {
		one := &s.Of[i]
		if !f.validKey(one.Name) {
			return "", f.broken
		}
		if _, rule := f.element.read(one, element); rule != "" {
			return "", rule
		}
		v.SetMapIndex(reflect.ValueOf(one.Name), element)
	}
	return "", ""
}

// unlimitedOverdraft is the stored form of an unlimited policy. Another policy is stored as its limits.
const unlimitedOverdraft = "unlimited"

func encodeOverdraft(c *Encoder, f *field, v reflect.Value) Field {
	if o := as[Overdraft](v); !o.Unlimited {
		return encodeMap(c, f, reflect.ValueOf(&o.Limits).Elem())
	}
	return Field{Type: TextField, Text: unlimitedOverdraft}
}

func decodeOverdraft(f *field, s *Field, v reflect.Value) (where, rule string) {
	o := as[Overdraft](v)
	switch s.Type {
	case MapField:
		return decodeMap(f, s, reflect.ValueOf(&o.Limits).Elem())
	case TextField:
		if o.Unlimited = s.Text == unlimitedOverdraft; o.Unlimited {
			return "", ""
		}
		return "", ruleUnknown
	}
	return "", ruleType
}
