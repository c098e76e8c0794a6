package events_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// The golden files define the stored format: old events must always decode. Add files for new kinds, versions and
// variants. From the first release on, NEVER edit or remove a file. If one of them fails, the code is wrong.

var goldenAt = time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)

const goldenDir = "testdata/golden"

// readGolden returns the stored form in a golden file, which is the caller's to change.
func readGolden(t testing.TB, file string) stored {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenDir, file))
	if err != nil {
		t.Fatal(err)
	}
	s, err := fromJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// goldenFiles returns the names of all golden files.
func goldenFiles(t testing.TB) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// golden returns the event of a golden file.
func golden(t testing.TB, file string) events.Event {
	t.Helper()
	s := readGolden(t, file)
	e, err := s.decode()
	if err != nil {
		t.Fatalf("%s: %v; the checksum of its fields is %s", file, err, events.ChecksumOf(s.Name, fieldsOf(s.Fields)))
	}
	return e
}

// Each file decodes to an event with its values, and is written again as it is. Every name has a file, and so has every
// field.
func TestGoldenFiles(t *testing.T) {
	types, fields := map[string]reflect.Type{}, map[reflect.Type]map[string]any{}
	for _, file := range goldenFiles(t) {
		s, e := readGolden(t, file), golden(t, file)
		if prefix := s.Name + ".v" + strconv.Itoa(s.Version) + "."; !strings.HasPrefix(file, prefix) {
			t.Errorf("%s holds %s", file, prefix)
		}
		ended, isEnd := e.(events.HoldEnded)
		if !shows(reflect.ValueOf(e), s.Fields) || isEnd && s.Name != outcomes[ended.Outcome] {
			t.Errorf("%s: %+v", file, e)
		}
		if text, err := os.ReadFile(filepath.Join(goldenDir, file)); err != nil || string(toJSON(e)) != string(text) {
			t.Errorf("%s: %v, the event is now written as\n%s", file, err, toJSON(e))
		}
		if types[s.Name] = reflect.TypeOf(e); fields[types[s.Name]] == nil {
			fields[types[s.Name]] = map[string]any{}
		}
		maps.Copy(fields[types[s.Name]], s.Fields)
	}
	for name, all := range events.StoredFields() {
		for _, field := range all {
			if fields[types[name]][field] == nil && !slices.Contains(neverStored[name], field) {
				file := filepath.Join(os.TempDir(), fmt.Sprintf("%s.v1.new-%d.json", name, os.Getpid()))
				has := func(e events.Event) bool { return e.EventName() == name && storedForm(e).Fields[field] != nil }
				e := readable(eventstest.Event().Filter(has).Example(1))
				if err := os.WriteFile(file, toJSON(e), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Errorf("no golden file of %s has the field %s; %s is a new one", name, field, file)
			}
		}
	}
}

// readable returns a drawn event with texts for people.
func readable(e events.Event) events.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	for _, f := range reflect.VisibleFields(v.Type()) {
		rule, _, _ := strings.Cut(f.Tag.Get("stored"), ",")
		if events.TextChars(rule) > 0 && v.FieldByIndex(f.Index).String() != "" {
			v.FieldByIndex(f.Index).SetString("The " + strings.ToLower(f.Name))
		}
	}
	return v.Interface().(events.Event)
}

// outcomes has the names of the ends of holds, whose outcome is not stored otherwise.
var outcomes = map[events.Outcome]string{
	events.OutcomeCaptured: "HoldCaptured", events.OutcomeReleased: "HoldReleased", events.OutcomeExpired: "HoldExpired",
}

// shows reports whether a value of an event has everything that is stored of it, under the names of its fields.
func shows(v reflect.Value, stored any) bool {
	switch x := v.Interface().(type) {
	case time.Time:
		return events.FormatTime(x) == stored
	case events.Overdraft:
		return x.Unlimited && stored == "unlimited" || !x.Unlimited && shows(reflect.ValueOf(x.Limits), stored)
	}
	switch stored := stored.(type) {
	case map[string]any:
		for name, part := range stored {
			of := reflect.Value{}
			if v.Kind() == reflect.Struct {
				of = v.FieldByName(name)
			} else if v.Kind() == reflect.Map {
				of = v.MapIndex(reflect.ValueOf(name))
			}
			if !of.IsValid() || !shows(of, part) {
				return false
			}
		}
		return v.Kind() == reflect.Struct || v.Len() == len(stored)
	case []any:
		for i, part := range stored {
			if i >= v.Len() || !shows(v.Index(i), part) {
				return false
			}
		}
		return v.Len() == len(stored)
	}
	return fmt.Sprint(v.Interface()) == fmt.Sprint(stored)
}
