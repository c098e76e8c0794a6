package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// Bodies that encoding/json accepts and the API refuses, and the limit of depth. The acceptance suite has more
// malformed bodies.
func TestMalformedBodies(t *testing.T) {
	f := newFixture(t)
	deep := func(n int) string {
		return `{"profile":` + strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) + `}`
	}
	for body, want := range map[string]string{
		"":                                   "is not one JSON object",
		"[]":                                 "is not one JSON object",
		`{"name":"x",}`:                      "invalid character '}' looking for beginning of object key string, at byte 13",
		"{\"name\":\"\xff\"}":                "is not UTF-8",
		"{\"name\":\"\xed\xa0\x80\"}":        "is not UTF-8",
		`{"name":"\ud800"}`:                  "half of a surrogate pair",
		`{"name":"\udc00\ud800"}`:            "half of a surrogate pair",
		`{"name":"\ud83d\u0041"}`:            "half of a surrogate pair",
		`{"profile":{"\uDBFF":1}}`:           "half of a surrogate pair",
		`{"name":"\\\ufffd \\ufffd \ud800"}`: "half of a surrogate pair",
		deep(DepthMax):                       "nested more than 32 deep",
	} {
		w := f.do(t, "PUT", "/v1/accounts/new", body)
		refused(t, w, 400, codeMalformedBody)
		if detail := answer[problem](t, w).Detail; !strings.Contains(detail, want) {
			t.Errorf("%.40q: detail %q does not say %q", body, detail, want)
		}
	}
	for i, body := range []string{deep(DepthMax - 1), `{"name":"\ud83d\ude00 \\ud800 😀 \ufffd"}`} {
		if w := f.do(t, "PUT", fmt.Sprint("/v1/accounts/new", i), body); w.Code != 201 {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
}

// A problem lists the first faults in the order of the body, not in the order in which the decoder reads the fields.
func TestProblemListsFirstFaults(t *testing.T) {
	f := newFixture(t)
	w := f.do(t, "POST", "/v1/transactions",
		`{"description":1,"postings":[`+strings.Repeat(`{"quantity":0,"asset":0},`, 200)+`0],"id":5}`)
	fields := strings.Fields(refused(t, w, 400, ledger.CodeInvalidRequest))
	if len(fields) != errorsMax || fields[0] != "description" || fields[1] != "postings[0].quantity" ||
		fields[2] != "postings[0].asset" || fields[3] != "postings[0].account" ||
		fields[errorsMax-1] != "postings[84].account" {
		t.Errorf("%d fields: %q", len(fields), fields)
	}
	// An unknown field takes precedence over invalid values, even at the end of the body.
	w = f.do(t, "POST", "/v1/transactions", `{"postings":[`+strings.Repeat(`0,`, 2*errorsMax)+`{"x":1}]}`)
	if fields := refused(t, w, 400, codeMalformedBody); fields != "postings[512].x postings[512].account postings[512].asset postings[512].quantity" {
		t.Errorf("fields %q", fields)
	}
	w = f.do(t, "POST", "/v1/transactions", `{"z":1,"id":"a","id":5,"y":[{"b":{},"b":1}],"postings":[{"x":1}],"z":1}`)
	if fields := refused(t, w, 400, codeMalformedBody); fields != "z id y y[0].b postings[0].x z postings[0].account postings[0].asset postings[0].quantity" {
		t.Errorf("fields %q", fields)
	}
}

// A problem lists all faults of a request, each field once, in the order of the request.
func TestProblemListsEveryFault(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("x", 257)
	replace := strings.NewReplacer("{long}", long, "{cut}", long[:fieldChars-len("metadata.")],
		"{60 legs}", strings.Repeat(`{"account":"a","asset":"x","quantity":"1"},`, 60))
	for _, c := range blocks(t, "faults.txt", 3) {
		method, path, _ := strings.Cut(c[0], " ")
		w := f.do(t, method, path, replace.Replace(c[1]))
		if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != replace.Replace(c[2]) {
			t.Errorf("%s\n%s\nfields %q\nwant   %q", c[0], c[1], fields, c[2])
		}
	}
	if n := f.asked.Load(); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
}

// blocks returns the blocks of n lines in a file of testdata. Empty lines separate them.
func blocks(t *testing.T, name string, n int) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for block := range slices.Chunk(strings.Split(string(text), "\n"), n+1) {
		all = append(all, block[:n])
	}
	return all
}

// The size of a profile is that of its compact JSON in UTF-8. Escapes in the request do not count.
func TestSizeOfProfile(t *testing.T) {
	f := newFixture(t)
	for i, c := range []struct{ char, sent string }{
		{"\u2028", `\u2028`}, {"\u2028", "\u2028"}, {"\u2029", `\u2029`}, {"é", `\u00e9`}, {"<", `\u003c`},
		{"/", `\/`}, {"\x7f", "\x7f"}, {"😀", `\ud83d\ude00`}, {`\"`, `\u0022`}, {`\\`, `\\`}, {`\n`, `\u000a`},
		{`\b`, `\u0008`}, {`\u0001`, `\u0001`}, {`\u001f`, `\u001F`},
	} {
		path, fits := fmt.Sprint("/v1/accounts/x", i), (events.ProfileBytes-len(`{"a":""}`))/len(c.char)
		w := f.do(t, "PUT", path, `{"profile":{"a":"`+strings.Repeat(c.sent, fits)+`"}}`)
		want := `"profile":{"a":"` + strings.Repeat(c.char, fits) + `"}`
		if w.Code != 201 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q %d times answered %.200s", c.sent, fits, w.Body)
		}
		w = f.do(t, "PUT", path, `{"profile":{"a":"`+strings.Repeat(c.sent, fits+1)+`"}}`)
		if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != "profile" {
			t.Errorf("%q %d times: fields %s", c.sent, fits+1, fields)
		}
	}
}

// Repeated fields are reported with their paths, at any depth.
func TestRepeatedFieldsAreNamedByTheirPaths(t *testing.T) {
	for text, want := range map[string]string{
		`{"":{"a":1,"a":2}}`:               `[".a"]`,
		`{"":1,"":2}`:                      `[""]`,
		`{"a":{"":{"":1,"":2}}}`:           `["a.."]`,
		`{"":[[{}],[{"b":0,"b":[]}]]}`:     `["[1][0].b"]`,
		`{"a":{"b":1,"b":1},"a":{"c":{}}}`: `["a.b" "a"]`,
	} {
		found, err := readJSON([]byte(text), new(struct{}), false)
		fields := []string{}
		for _, f := range found.malformed {
			if f.Rule == ruleOnce {
				fields = append(fields, f.Field)
			}
		}
		if got := fmt.Sprintf("%q", fields); err != nil || got != want {
			t.Errorf("%s: %s, want %s: %v", text, got, want, err)
		}
	}
}

// anything is a value of any kind, as encoding/json unmarshals it into an any.
type anything struct{ is any }

func (v *anything) read(r *reader, _ int) (err error) {
	switch r.json.PeekKind() {
	case '{':
		members := map[string]any{}
		err = r.object(func(name string) error {
			var member anything
			err := member.read(r, 0)
			members[name] = member.is
			return err
		})
		v.is = members
	case '[':
		items := []any{}
		err = r.list(func(int) error {
			var item anything
			err := item.read(r, 0)
			items = append(items, item.is)
			return err
		})
		v.is = items
	default:
		kind, text, failed := r.scalar()
		if v.is, err = text, failed; kind != '"' && err == nil {
			_ = json.Unmarshal([]byte(text), &v.is)
		}
	}
	return err
}

// FuzzRead compares the reader with encoding/json. An accepted text is valid JSON without repeated keys, and has the
// same values in both.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-2.5e3,"x\ud83d\ude00",null,true,{"b":{}}]}`, `{"a":1,"a":2}`,
		`{"a":"\ud800"}`, `{"a":1} x`, `[`, `{"\u0000":"\\u"}`, "{\"a\":\"\xff\"}", `{"a":01}`, ` {"":[[[]]]}`,
		" { \"a\" :\t[ 1 ,\r\n-0e1 , [ ] ] , \"b\\\\\" : { } , \"c\\\"\" : \"]}\" } "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got anything
		found, err := readJSON(slices.Clone(text), &got, false)
		switch {
		case err != nil && err.Error() == "":
			t.Fatalf("no words for %q", text)
		case err != nil || len(found.malformed) > 0:
			return
		case !json.Valid(text):
			t.Fatalf("accepted %q", text)
		}
		var want any
		if json.Unmarshal(text, &want) == nil && !reflect.DeepEqual(got.is, want) { // else a number overflows float64
			t.Fatalf("%q is read as %v", text, got.is)
		}
	})
}
