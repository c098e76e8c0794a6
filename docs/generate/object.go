package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log"
	"slices"
)

// object is a JSON object that keeps the order of its members.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

// newObject returns an object of alternating names and values.
func newObject(namesAndValues ...any) *object {
	o := &object{}
	for i := 0; i < len(namesAndValues); i += 2 {
		o.set(namesAndValues[i].(string), namesAndValues[i+1])
	}
	return o
}

// readObject parses an object. Its values are texts.
func readObject(text []byte) *object {
	o, d := &object{}, json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token()
	check(err)
	for d.More() {
		name, err := d.Token()
		check(err)
		var value json.RawMessage
		check(d.Decode(&value))
		o.set(name.(string), value)
	}
	return o
}

func (o *object) index(name string) int {
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
}

func (o *object) get(name string) (value any, ok bool) {
	if i := o.index(name); i >= 0 {
		return o.members[i].value, true
	}
	return nil, false
}

// must is get for a member that has to be there.
func (o *object) must(name string) any {
	value, ok := o.get(name)
	if !ok {
		log.Fatalf("openapi.json has no %s", name)
	}
	return value
}

// set adds or replaces a member.
func (o *object) set(name string, value any) {
	if i := o.index(name); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = append(o.members, member{name, value})
}

// object returns a member that is an object. It adds an empty one if there is none.
func (o *object) object(name string) *object {
	value, _ := o.get(name)
	within, ok := value.(*object)
	if !ok {
		within = &object{}
		if text, isText := value.(json.RawMessage); isText {
			within = readObject(text)
		}
		o.set(name, within)
	}
	return within
}

// add adds what is written by hand. It must not say again what is there, except for examples, which it replaces.
func (o *object) add(byHand *object, where string) {
	for _, m := range byHand.members {
		is, isThere := o.get(m.name)
		within, isObject := is.(*object)
		switch {
		case !isThere || m.name == "examples":
			o.set(m.name, m.value)
		case isObject:
			within.add(byHand.object(m.name), where+" "+m.name)
		default:
			log.Fatalf("the hand-written document says again %s %s", where, m.name)
		}
	}
}

// override adds what is written by hand, or replaces what is derived with it.
func (o *object) override(byHand *object, where string) {
	for _, m := range byHand.members {
		is, isThere := o.get(m.name)
		within, isObject := is.(*object)
		switch {
		case isThere && isObject:
			within.override(byHand.object(m.name), where+" "+m.name)
		case isThere && bytes.Equal(textOf(is), textOf(m.value)):
			log.Fatalf("the hand-written document says again %s %s", where, m.name)
		default:
			o.set(m.name, m.value)
		}
	}
}

// delete removes a member, if it is there.
func (o *object) delete(name string) {
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return m.name == name })
}

// isWhole reports whether a schema says by itself which values there are.
func (o *object) isWhole() bool {
	return slices.ContainsFunc(o.members, func(m member) bool {
		return m.name == "type" || m.name == "anyOf" || m.name == "oneOf" || m.name == "allOf"
	})
}

// keys are what a schema says, in the order in which openapi.json says it.
var keys = []string{
	"$ref", "anyOf", "oneOf", "allOf", "type", "format", "enum", "additionalProperties", "pattern", "minLength",
	"maxLength", "minimum", "maximum", "minProperties", "maxProperties", "propertyNames", "items", "minItems",
	"maxItems", "description", "readOnly", "required", "properties", "dependentRequired", "if", "then", "else",
	"examples",
}

// sort sorts schemas by name, and what each says by keys.
func (o *object) sort() {
	slices.SortFunc(o.members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	for _, m := range o.members {
		o.object(m.name).sortKeys()
	}
}

// sortKeys sorts what a schema says.
func (o *object) sortKeys() {
	slices.SortStableFunc(o.members, func(a, b member) int {
		return cmp.Compare(slices.Index(keys, a.name), slices.Index(keys, b.name))
	})
	for i, m := range o.members {
		switch m.name {
		case "properties":
			properties := o.object(m.name)
			for _, p := range properties.members {
				properties.object(p.name).sortKeys()
			}
		case "items":
			o.object(m.name).sortKeys()
		case "anyOf", "oneOf", "allOf":
			var all []json.RawMessage
			check(json.Unmarshal(textOf(m.value), &all))
			sorted := make([]*object, len(all))
			for n, text := range all {
				sorted[n] = readObject(text)
				sorted[n].sortKeys()
			}
			o.members[i].value = sorted
		}
	}
}

// MarshalJSON implements json.Marshaler.
func (o *object) MarshalJSON() ([]byte, error) {
	var members [][]byte
	for _, m := range o.members {
		members = append(members, slices.Concat(textOf(m.name), []byte(":"), textOf(m.value)))
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}

// textOf returns a value as JSON, without HTML escaping.
func textOf(value any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	check(e.Encode(value))
	return bytes.TrimSpace(b.Bytes())
}
