package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// kinds has an event for each stored name.
var kinds = []events.Event{
	events.AssetRegistered{}, events.AccountOpened{}, events.AccountChanged{}, events.TransactionPosted{},
	events.TransactionPosted{ExpiresAt: epoch}, events.PostingRecorded{}, events.MemberGranted{Role: events.RoleOwner}, events.MemberGranted{},
	events.HoldEnded{Outcome: events.OutcomeCaptured}, events.HoldEnded{Outcome: events.OutcomeReleased},
	events.HoldEnded{Outcome: events.OutcomeExpired}, events.TransactionReversed{},
	events.GroupRegistered{}, events.AccountGrouped{}, events.MemberGranted{Group: "g", Role: events.RoleOwner}, events.MemberGranted{Group: "g"},
}

func TestEventsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := eventstest.Event().Draw(t, "event")
		back, err := events.Decode(e.EventName(), events.Form, events.Checksum(e), encode(e))
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%#v\ncame back as %#v, %v", e, back, err)
		}
	})
}

// A version above today's of a known name is newer; what nobody writes is unknown; no fields are malformed.
func TestDecodeUnknown(t *testing.T) {
	refused := func(name string, version int, f events.Fields, wanted error) {
		e, err := events.Decode(name, version, "", f)
		newer := errors.Is(err, events.ErrNewerEvent)
		if e != nil || !errors.Is(err, wanted) || newer != (wanted == events.ErrNewerEvent) {
			t.Errorf("%q version %d of %v: %v, %v; want %v", name, version, f, e, err, wanted)
		}
	}
	for _, kind := range kinds {
		name := kind.EventName()
		refused(name, -1, events.Fields{}, events.ErrUnknownEvent)
		refused(name, 0, events.Fields{}, events.ErrUnknownEvent)
		refused(name, events.Form+1, events.Fields{}, events.ErrNewerEvent)
		refused(name, events.Form, events.Fields{}, events.ErrMalformedEvent)
		refused(name, events.Form, nil, events.ErrMalformedEvent)
	}
	for _, name := range []string{"", "postingrecorded", "PostingRecorded ", "Nonsense"} {
		for _, version := range []int{1, 2, 1000} {
			refused(name, version, events.Fields{}, events.ErrUnknownEvent)
		}
	}
}

// TestEncodeMergesEmptyForms: empty and absent are one thing, with one stored form.
func TestEncodeMergesEmptyForms(t *testing.T) {
	empty := events.AccountOpened{ID: "fees", Overdraft: events.Overdraft{Limits: map[string]events.Amount{}}, Actor: "local", At: goldenAt}
	if got, want := toJSON(empty), toJSON(golden["AccountOpened.v1.least.json"]); string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
	header := golden["TransactionPosted.v1.trade.json"].(events.TransactionPosted)
	want := toJSON(header)
	header.Metadata = nil
	if got := toJSON(header); string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// storedForm is all that is stored of e.
func storedForm(e events.Event) (name string, version int, checksum string, f events.Fields) {
	return e.EventName(), events.Form, events.Checksum(e), encode(e)
}

func TestDecodePostingAllocatesOnlyTheEvent(t *testing.T) {
	name, version, sum, f := storedForm(golden["PostingRecorded.v1.json"])
	if n := testing.AllocsPerRun(100, func() {
		if _, err := events.Decode(name, version, sum, f); err != nil {
			t.Error(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations, want the event's own", n)
	}
}

func BenchmarkDecodePosting(b *testing.B) {
	name, version, sum, f := storedForm(golden["PostingRecorded.v1.json"])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.Decode(name, version, sum, f); err != nil {
			b.Fatal(err)
		}
	}
}

// encode returns the stored fields of e.
func encode(e events.Event) events.Fields {
	return encodeWith(e, func(n events.Amount) any { return events.Number(n.String()) })
}

// encodeWith returns the stored fields of e, with its numbers in a form of the caller's.
func encodeWith(e events.Event, number func(events.Amount) any) events.Fields {
	f := fieldsEncoder{number: number, open: []opened{{fields: events.Fields{}}}}
	events.Write(e, &f)
	return f.open[0].fields
}

// fieldsEncoder is an events.FieldEncoder that builds events.Fields.
type fieldsEncoder struct {
	number func(events.Amount) any
	open   []opened // the outermost map, and what was begun in it and has not ended
}

// opened is a map or, if fields is nil, a list.
type opened struct {
	name   string
	fields events.Fields
	list   events.List
}

func (f *fieldsEncoder) Text(name, text string) { f.put(name, text) }

func (f *fieldsEncoder) Number(name string, n events.Amount) { f.put(name, f.number(n)) }

func (f *fieldsEncoder) Flag(name string) { f.put(name, true) }

func (f *fieldsEncoder) BeginMap(name string, size int) {
	f.open = append(f.open, opened{name: name, fields: make(events.Fields, size)})
}

func (f *fieldsEncoder) BeginList(name string, size int) {
	f.open = append(f.open, opened{name: name, list: make(events.List, 0, size)})
}

func (f *fieldsEncoder) End() {
	last := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	if last.fields != nil {
		f.put(last.name, last.fields)
	} else {
		f.put(last.name, last.list)
	}
}

func (f *fieldsEncoder) put(name string, v any) {
	if in := &f.open[len(f.open)-1]; in.fields != nil {
		in.fields[name] = v
	} else {
		in.list = append(in.list, v)
	}
}

// stored is an event in its stored form as JSON: Numbers are JSON numbers, Fields are objects, names in order.
type stored struct {
	Name     string `json:"name"`
	Version  int    `json:"version"`
	Checksum string `json:"checksum"`
	Fields   any    `json:"fields"`
}

// toJSON writes e in its stored form, always the same for the same form.
func toJSON(e events.Event) []byte {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	fields := encodeWith(e, func(n events.Amount) any { return json.Number(n.String()) })
	if err := out.Encode(stored{e.EventName(), events.Form, events.Checksum(e), fields}); err != nil {
		panic(err)
	}
	return b.Bytes()
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
