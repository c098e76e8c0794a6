package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ledger.example/client"
	"ledger.example/events"
)

// A read error ends the import. The line that it cuts off is not sent.
func TestReadErrorEndsTheImport(t *testing.T) {
	broken := errors.New("broken")
	var texts []string
	var failed error
	for l, err := range lines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken))) {
		if failed = err; err == nil {
			texts = append(texts, string(l.text))
		}
	}
	if !slices.Equal(texts, []string{"a"}) || !errors.Is(failed, broken) {
		t.Errorf("%q, %v", texts, failed)
	}
}

// FuzzLines: the lines of any file are those between its line ends, without blank ones, and every byte is counted.
func FuzzLines(f *testing.F) {
	for _, file := range []string{"", "\n \t\r\n\n", "a\r\nb", "\na\n\n\nb\n", "\xef\xbb\xbfa\n", "a\n\xef\xbb\xbf\n",
		strings.Repeat("x", maxLineBytes-1) + "\n" + strings.Repeat("x", maxLineBytes) + "\n" + strings.Repeat("x", 3*maxLineBytes) + "\nb",
		strings.Repeat("x", maxLineBytes+1),
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var want []line
		passed := int64(0)
		for i, text := range bytes.SplitAfter(file, []byte("\n")) {
			passed += int64(len(text))
			isLong := len(text) > maxLineBytes || len(text) == maxLineBytes && text[len(text)-1] != '\n'
			if text = bytes.TrimSuffix(text, []byte("\n")); i == 0 {
				text = bytes.TrimPrefix(text, byteOrderMark)
			}
			if isLong {
				text = nil
			}
			if isLong || len(bytes.TrimSpace(text)) > 0 {
				want = append(want, line{number: i + 1, text: text, bytes: passed})
				passed = 0
			}
		}
		n := 0
		for got, err := range lines(iotest.HalfReader(bytes.NewReader(file))) {
			if err != nil || n == len(want) || got.number != want[n].number || got.bytes != want[n].bytes || !bytes.Equal(got.text, want[n].text) || (got.text == nil) != (want[n].text == nil) {
				t.Fatalf("%.99q: line %d of %d is %d, %v", file, n, len(want), got.number, err)
			}
			n++
		}
		if n != len(want) {
			t.Fatalf("%.99q: %d lines of %d", file, n, len(want))
		}
	})
}

// Lines are parsed as testdata/lines.txt says. The server validates bodies, so they reach it unchanged.
func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	given := ""
	for row := range strings.Lines(string(text)) {
		row = strings.TrimRight(row, "\n")
		want, isWanted := strings.CutPrefix(row, "\t")
		if !isWanted {
			given = strings.ReplaceAll(row, `\x00`, "\x00")
			continue
		}
		c, err := parse([]byte(given))
		got := fmt.Sprintf("%s %s of %q: %s %q %q %t", c.Kind, c.ID, c.Of, c.Body, c.assets, c.accounts, c.unlimited)
		if err != nil {
			got = "error: " + err.Error()
		}
		if message, isError := strings.CutPrefix(want, "error: "); got != want && !(isError && err != nil && strings.Contains(got, message)) {
			t.Errorf("%s\n got %s\nwant %s", given, got, want)
		}
	}
}

// FuzzParse: an accepted line has one command with an id, and the server gets its body unchanged, except for an id that
// becomes a part of the path. A rejected line has an error text.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse(text)
		if err != nil {
			if err.Error() == "" || c.Body != nil {
				t.Fatalf("%s: %+v, %v", text, c, err)
			}
			return
		}
		var whole map[string]json.RawMessage
		if json.Unmarshal(text, &whole) != nil || len(whole) != 1 {
			t.Fatalf("%s was taken", text)
		}
		given, sent := whole[string(c.Kind)], c.Body
		if c.Kind == client.KindAsset || c.Kind == client.KindAccount {
			if !events.ValidID(c.ID) {
				t.Fatalf("%s: the id %q cannot stand in a path", text, c.ID)
			}
			id, _ := json.Marshal(c.ID)
			sent = append([]byte(`{"id":`+string(id)), '}')
			if len(c.Body) > len("{}") {
				sent = append(append(sent[:len(sent)-1], ','), c.Body[1:]...)
			}
			given, sent = members(t, given), members(t, sent)
		}
		if c.ID == "" || !bytes.Equal(given, sent) {
			t.Fatalf("%s asks for %s, and %s is sent", text, given, sent)
		}
		for _, id := range append(c.assets, c.accounts...) {
			if id == "" && c.Kind != client.KindAccount {
				t.Fatalf("%s needs a thing without an id", text)
			}
		}
	})
}

// members returns the members of an object as raw text, sorted by name, including duplicates.
func members(t *testing.T, text []byte) []byte {
	all, err := object(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	for _, m := range all {
		b.WriteString(m.name + ":")
		if m.name == "id" { // also if it was escaped
			var id string
			_ = json.Unmarshal(m.value, &id)
			b.WriteString(id + ",")
			continue
		}
		b.Write(append(m.value, ','))
	}
	return b.Bytes()
}
