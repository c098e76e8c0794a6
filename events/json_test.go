package events_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	"ledger.example/events"
)

// stored is an event in its stored form as JSON: Numbers are JSON numbers, Fields are objects, names in order.
type stored struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Fields  any    `json:"fields"`
}

// toJSON writes e in its stored form, always the same for the same form.
func toJSON(e events.Event) []byte {
	name, version := e.EventName()
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(stored{name, version, toTree(events.Encode(e))}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// toTree turns a stored value into what encoding/json writes. It knows the types that Fields promises and no others.
func toTree(v any) any {
	switch v := v.(type) {
	case events.Fields:
		tree := map[string]any{}
		for field, value := range v {
			tree[field] = toTree(value)
		}
		return tree
	case events.List:
		tree := []any{}
		for _, value := range v {
			tree = append(tree, toTree(value))
		}
		return tree
	case events.Number:
		return json.Number(v)
	case string, bool:
		return v
	}
	panic(fmt.Sprintf("%T in a stored form", v))
}

// fromJSON reads what toJSON writes. Fields may be any JSON value.
func fromJSON(text []byte) (stored, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var s stored
	err := in.Decode(&s)
	s.Fields = fromTree(s.Fields)
	return s, err
}

func fromTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		fields := events.Fields{}
		for field, value := range v {
			fields[field] = fromTree(value)
		}
		return fields
	case []any:
		list := events.List{}
		for _, value := range v {
			list = append(list, fromTree(value))
		}
		return list
	case json.Number:
		return events.Number(v)
	}
	return v
}
