package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"ledger.example/cmd/ledger/client"
	"ledger.example/events"
)

// FuzzLines: the lines of any file are those between its line ends, less the blank ones, and every byte is counted.
func FuzzLines(f *testing.F) {
	f.Fuzz(func(t *testing.T, file []byte) {
		var want []line
		passed := int64(0)
		for i, text := range bytes.SplitAfter(file, []byte("\n")) {
			passed += int64(len(text))
			if text = bytes.TrimSuffix(text, []byte("\n")); i == 0 {
				text = bytes.TrimPrefix(text, byteOrderMark)
			}
			if len(bytes.TrimSpace(text)) > 0 {
				want = append(want, line{number: i + 1, text: text, bytes: passed})
				passed = 0
			}
		}
		l := newLines(bytes.NewReader(file))
		for _, w := range want {
			got, err := l.next()
			if err != nil || got.err != nil || got.number != w.number || got.bytes != w.bytes || !bytes.Equal(got.text, w.text) {
				t.Fatalf("%q: line %d is %+v, %v", file, w.number, got, err)
			}
		}
		if got, err := l.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("%q: after its last line come %+v, %v", file, got, err)
		}
	})
}

// FuzzParse: a line that is taken holds one command with its id, and the server is sent what the line says, byte for byte
// but for an id that goes into the path; what is refused says why.
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

// members returns the members of an object in the order of their names, each as it stands, doubled ones too.
func members(t *testing.T, text []byte) []byte {
	all, err := object(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	for _, m := range all {
		b.WriteString(m.name + ":")
		if m.name == "id" { // however it was escaped
			var id string
			_ = json.Unmarshal(m.value, &id)
			b.WriteString(id + ",")
			continue
		}
		b.Write(append(m.value, ','))
	}
	return b.Bytes()
}
