package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/events"
)

// export writes to standard output or to a file, and prints counts and notes. It continues after a cursor. Package
// internal/export tests the formats.
func TestExport(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.list(events.AssetRegistered{ID: "USD", Name: "US dollar", Scale: 2, Actor: "test", At: o.now}, o.opened("jane", o.now), o.opened("shop", o.now))
	o.transfers(3)
	file := filepath.Join(t.TempDir(), "books.csv")
	code, out, problems := ledger(t, o.URL, "export", "--format", "csv", "-o", file, "--json")
	text, err := os.ReadFile(file)
	if err != nil || code != exitDone || !strings.Contains(out, `"transactions":3`) || strings.Count(string(text), "\n") != 1+2*3 {
		t.Errorf("exit %d, %s%s, %v\n%s", code, out, problems, err, text)
	}
	var counts struct{ Cursor string }
	if err := json.Unmarshal([]byte(out), &counts); err != nil {
		t.Fatal(err)
	}
	o.transfers(1)
	code, out, problems = ledger(t, o.URL, "export", "--format", "csv", "--from", counts.Cursor)
	if says(t, problems, "1 transaction, 2 postings", "ledger export --format csv --from "); code != exitDone || strings.Count(out, "t-6") != 2 {
		t.Errorf("continued: exit %d, %s%s", code, out, problems)
	}
	if code, out, problems = ledger(t, o.URL, "export"); code != exitDone || !strings.Contains(out, `{"transfer":{"id":"t-4","from":"jane"`) ||
		strings.Contains(problems, "To continue") {
		t.Errorf("exit %d, %s%s", code, out, problems)
	}
	for _, wrong := range []string{"--from c", "--json"} {
		if code, out, _ := ledger(t, o.URL, strings.Fields("export "+wrong)...); code != exitUsage || out != "" {
			t.Errorf("export %s: exit %d, %s", wrong, code, out)
		}
	}
}
