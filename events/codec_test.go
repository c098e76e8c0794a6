package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/events"
)

// Property tests, also those of the audit, see every field of every event.
func TestEveryFieldIsDrawn(t *testing.T) {
	drawn := map[string]map[string]any{}
	for _, e := range drawnEvents() {
		s := storedForm(e)
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
	if e, err := events.DecodeListed("PostingRecorded", events.Form, nil); e != nil || !errors.Is(err, events.ErrUnknownEvent) {
		t.Errorf("a posting of a list: %v, %v", e, err)
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

// Each case of testdata/values.txt changes one value of a valid event. It breaks one rule, or is just within a limit.
func TestDecodeKeepsTheRules(t *testing.T) {
	text, err := os.ReadFile("testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"{YEAR LATER}", string(events.FirstKSUID(goldenAt.AddDate(1, 0, 0)))}
	for i, leg := range golden(t, "TransactionPosted.v1.json").(events.TransactionPosted).Legs {
		named = append(named, fmt.Sprintf("{LEG %d}", i), string(leg.ID))
	}
	for row := range strings.Lines(strings.NewReplacer(named...).Replace(string(text))) {
		values := strings.Split(strings.TrimSpace(row), " | ")
		of := strings.Fields(values[0])
		if row[0] == '#' || len(of) == 0 {
			continue
		}
		for _, value := range values[1:] {
			value, isValid := strings.CutPrefix(value, "ok ")
			s := readGolden(t, of[0])
			set(s.Fields, of[1], givenValue(t, value))
			s.Checksum = events.ChecksumOf(s.Name, fieldsOf(s.Fields))
			e, err := s.decode()
			if isValid {
				if err != nil || !reflect.DeepEqual(storedForm(e), s) {
					t.Errorf("%s, %s: %v, %v", values[0], value, e, err)
				}
				continue
			}
			fault := regexp.MustCompile(s.Name + `(: ` + regexp.QuoteMeta(of[1]) + ` | has the fields of Member)`)
			if e != nil || !errors.Is(err, events.ErrMalformedEvent) || !fault.MatchString(err.Error()) {
				t.Errorf("%s, %s: %v, %v", values[0], value, e, err)
			}
		}
	}
}

var repeated = regexp.MustCompile(`<([^<>]+)\*(\d+)>`)

// givenValue returns a value of testdata/values.txt; nil for none.
func givenValue(t *testing.T, text string) (value any) {
	for repeated.MatchString(text) {
		text = repeated.ReplaceAllStringFunc(text, func(all string) (s string) {
			m := repeated.FindStringSubmatch(all)
			n, _ := strconv.Atoi(m[2])
			for i := range n {
				s += strings.ReplaceAll(m[1], "@", string([]byte{'A' + byte(i/26), 'A' + byte(i%26)}))
			}
			return s
		})
	}
	if digits, ok := strings.CutPrefix(text, "#"); ok {
		return json.Number(digits)
	}
	in := json.NewDecoder(strings.NewReader(strings.Replace(text, "none", "null", 1)))
	in.UseNumber()
	if err := in.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if text, ok := value.(string); ok {
		return strings.ReplaceAll(text, "\ufffd", "\xff")
	}
	return value
}

// set sets the field at a path such as "Legs[1].ID", or removes it if the value is nil. A name may be in quotes.
func set(f map[string]any, path string, value any) {
	head, rest, nested := strings.Cut(path, "[")
	if !nested {
		head = strings.Trim(path, `"`)
		if f[head] = value; value == nil {
			delete(f, head)
		}
		return
	}
	list := f[head].([]any)
	if i := rest[0] - '0'; rest[1:] == "]" {
		list[i] = value
	} else {
		set(list[i].(map[string]any), rest[len("0]."):], value)
	}
}
