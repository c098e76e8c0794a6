package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// Property tests, also those of the audit, see every field of every event.
func TestEveryFieldIsDrawn(t *testing.T) {
	drawn := map[string]map[string]any{}
	for seed := range drawnEvents {
		s := storedForm(eventstest.Event().Example(seed))
		if drawn[s.Name] == nil {
			drawn[s.Name] = map[string]any{}
		}
		maps.Copy(drawn[s.Name], s.Fields)
	}
	for name, fields := range events.StoredFields() {
		for _, field := range fields {
			if drawn[name][field] == nil && !slices.Contains(neverStored[name], field) {
				t.Errorf("eventstest does not draw the field %s of %s", field, name)
			}
		}
	}
}

// neverStored has the fields that follow from the names of these events.
var neverStored = map[string][]string{
	"MemberRevoked": {"Role"}, "TransactionPosted": {"ExpiresAt"}, "TransactionHeld": {"RecordedAt", "Period"},
}

// A version above today's of a known name is newer; what nobody writes is unknown; no fields are malformed.
func TestDecodeUnknown(t *testing.T) {
	refused := func(name string, version int, wanted error) {
		e, err := events.Decode(name, version, "", nil)
		newer := errors.Is(err, events.ErrNewerEvent)
		if e != nil || !errors.Is(err, wanted) || newer != (wanted == events.ErrNewerEvent) {
			t.Errorf("%q version %d: %v, %v; want %v", name, version, e, err, wanted)
		}
	}
	for name := range events.StoredFields() {
		refused(name, -1, events.ErrUnknownEvent)
		refused(name, 0, events.ErrUnknownEvent)
		refused(name, events.Form+1, events.ErrNewerEvent)
		refused(name, events.Form, events.ErrMalformedEvent)
	}
	for _, name := range []string{"", "postingrecorded", "PostingRecorded ", "Nonsense"} {
		for _, version := range []int{1, 2, 1000} {
			refused(name, version, events.ErrUnknownEvent)
		}
	}
}

// TestEncodeMergesEmptyForms: empty and absent are one thing, with one stored form.
func TestEncodeMergesEmptyForms(t *testing.T) {
	empty := events.AccountOpened{Overdraft: events.Overdraft{Limits: map[string]events.Amount{}}, Actor: "local"}
	least := events.AccountOpened{Profile: "{}", Actor: "local"}
	if got, want := toJSON(empty), toJSON(least); string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
	header := events.TransactionPosted{ID: "t"}
	want := toJSON(header)
	header.Metadata, header.ExpiresAt = map[string]string{}, header.ExpiresAt.UTC()
	if got := toJSON(header); string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecodePostingAllocatesOnlyTheEvent(t *testing.T) {
	s := readGolden(t, "PostingRecorded.v1.json")
	f := fieldsOf(s.Fields)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := events.Decode(s.Name, s.Version, s.Checksum, f); err != nil {
			t.Error(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations, want the event's own", n)
	}
}

// stored is an event in its stored form as JSON: numbers are JSON numbers, maps are objects, names are in order.
type stored struct {
	Name     string         `json:"name"`
	Version  int            `json:"version"`
	Checksum string         `json:"checksum"`
	Fields   map[string]any `json:"fields"`
}

// storedForm returns the stored form of an event.
func storedForm(e events.Event) stored {
	f, checksum := new(events.Encoder).Encode(e)
	return stored{e.EventName(), events.Form, checksum, objectOf(f)}
}

func (s stored) decode() (events.Event, error) {
	return events.Decode(s.Name, s.Version, s.Checksum, fieldsOf(s.Fields))
}

// toJSON writes e in its stored form, always the same for the same form.
func toJSON(e events.Event) []byte {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(storedForm(e)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// fromJSON reads what toJSON writes.
func fromJSON(text []byte) (s stored, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	err = in.Decode(&s)
	return s, err
}

func objectOf(f events.Fields) map[string]any {
	object := map[string]any{}
	for _, one := range f {
		object[one.Name] = valueOf(one)
	}
	return object
}

func valueOf(f events.Field) any {
	switch f.Type {
	case events.NumberField:
		return json.Number(f.Text)
	case events.FlagField:
		return f.Text == "true"
	case events.MapField:
		return objectOf(f.Of)
	case events.ListField:
		list := []any{}
		for _, one := range f.Of {
			list = append(list, valueOf(one))
		}
		return list
	}
	return f.Text
}

func fieldsOf(object map[string]any) events.Fields {
	f := events.Fields{}
	for name, v := range object {
		f = append(f, fieldOf(name, v))
	}
	return f
}

// fieldOf has no type for a null.
func fieldOf(name string, v any) events.Field {
	f := events.Field{Name: name}
	switch v := v.(type) {
	case string:
		f.Type, f.Text = events.TextField, v
	case json.Number:
		f.Type, f.Text = events.NumberField, v.String()
	case bool:
		f.Type, f.Text = events.FlagField, strconv.FormatBool(v)
	case map[string]any:
		f.Type, f.Of = events.MapField, fieldsOf(v)
	case []any:
		f.Type = events.ListField
		for _, element := range v {
			f.Of = append(f.Of, fieldOf("", element))
		}
	}
	return f
}
