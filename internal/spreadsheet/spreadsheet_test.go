package spreadsheet

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "ledger.example/tests/harness/full" // fixes the seed
)

// read returns the fields of CSV with one row, by RFC 4180. Package encoding/csv drops carriage returns.
func read(t *rapid.T, text string) (fields []string) {
	text, ok := strings.CutSuffix(text, "\n")
	if !ok {
		t.Fatalf("no row: %q", text)
	}
	for {
		field := ""
		if quoted, ok := strings.CutPrefix(text, `"`); ok {
			for text = quoted; ; {
				part, rest, ok := strings.Cut(text, `"`)
				if !ok {
					t.Fatalf("no end of a quote: %q", text)
				}
				if field, text = field+part, rest; !strings.HasPrefix(text, `"`) {
					break
				}
				field, text = field+`"`, text[1:]
			}
		} else {
			end := strings.IndexByte(text+",", ',')
			field, text = text[:end], text[end:]
			if strings.ContainsAny(field, "\"\r\n") {
				t.Fatalf("%q is not quoted", field)
			}
		}
		fields = append(fields, field)
		if text == "" {
			return fields
		}
		text = text[1:] // the comma
	}
}

// No text that is written begins like a formula, and taking off one apostrophe where one was put gives the text back.
// Amounts and raw texts are written as they are.
func TestTextsAreReadBack(t *testing.T) {
	const starts = "=+-@\t\r"
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`'{0,3}[=+@\t\r-]?[a-z,"'\n\r =]{0,6}`), rapid.String()).Draw(t, "text")
		amount := rapid.StringMatching(`0|-?[1-9][0-9]{0,5}(\.[0-9]{2})?`).Draw(t, "amount")
		var safe, raw strings.Builder
		rows := [][]Cell{{Text(text), Amount(amount)}}
		if err := Write(&safe, rows, Safe); err != nil {
			t.Fatal(err)
		}
		if err := Write(&raw, rows, Raw); err != nil {
			t.Fatal(err)
		}
		got := read(t, safe.String())
		if len(got) != 2 || got[1] != amount || strings.ContainsAny(got[0][:min(1, len(got[0]))], starts) {
			t.Fatalf("%q and %s are written as %q", text, amount, got)
		}
		back := got[0]
		if begin := strings.TrimLeft(back, "'"); begin != back && begin != "" && strings.ContainsAny(begin[:1], starts) {
			back = back[1:]
		}
		if back != text {
			t.Fatalf("%q is written as %q, and read back as %q", text, got[0], back)
		}
		if got := read(t, raw.String()); len(got) != 2 || got[0] != text || got[1] != amount {
			t.Fatalf("%q and %s are written raw as %q", text, amount, got)
		}
	})
	for text, want := range map[string]string{"=1+1": "'=1+1", "'=1": "''=1", "''@x": "'''@x", "'tis": "'tis", "'": "'",
		"": "", "a=1": "a=1", " =1": " =1", "\t1": "'\t1", "\r1": "'\r1", "-5": "'-5", "+5": "'+5", "\n=1": "\n=1"} {
		if got := escaped(text); got != want {
			t.Errorf("%q is escaped as %q, want %q", text, got, want)
		}
	}
}
