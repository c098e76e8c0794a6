package events_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ledger.example/events"
)

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
