package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/events"
)

func contentOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// export writes to standard output or to a file, and prints counts and notes. A file is continued, and is then what a
// whole export writes. Package internal/desk/export tests the formats.
func TestExport(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.list(events.AssetRegistered{ID: "USD", Name: "US dollar", Scale: 2, Actor: "test", At: o.now}, o.opened("jane", o.now), o.opened("shop", o.now))
	o.transfers(3)
	dir := t.TempDir()
	file := filepath.Join(dir, "books of 2026")
	code, out, problems := ledger(t, o.URL, "export", "--format", "csv", "-o", file, "--json")
	if code != exitDone || out != `{"added":3,"postings":6,"transactions":3}`+"\n" || strings.Count(contentOf(t, file), "\n") != 1+2*3 {
		t.Errorf("exit %d, %s%s\n%s", code, out, problems, contentOf(t, file))
	}
	says(t, problems, "last 20 seconds is missing", "ledger export --format csv -o '"+file+"' --json --continue\n")
	o.transfers(1)
	for _, want := range []string{"4 transactions, 8 postings; 1 added", "4 transactions, 8 postings; 0 added"} {
		code, out, problems = ledger(t, o.URL, "export", "-o", file, "--continue")
		if says(t, problems, want, "ledger export -o '"+file+"' --continue\n"); code != exitDone || out != "" {
			t.Errorf("continued: exit %d, %s", code, out)
		}
		_, whole, _ := ledger(t, o.URL, "export", "--format", "csv")
		if got := contentOf(t, file); got != whole || strings.Count(got, "t-6") != 2 {
			t.Errorf("continued:\n%s\nwhole:\n%s", got, whole)
		}
	}
	if code, out, problems = ledger(t, o.URL, "export"); code != exitDone || !strings.Contains(out, `{"transfer":{"id":"t-4","from":"jane"`) ||
		strings.Contains(problems, "--continue") || !strings.Contains(problems, "last 20 seconds is missing") {
		t.Errorf("exit %d, %s%s", code, out, problems)
	}
	if code, _, problems := ledger(t, o.URL, "export", "--format", "csv", "-o", os.DevNull); code != exitDone || strings.Contains(problems, "--continue") {
		t.Errorf("a device: exit %d, %s", code, problems)
	}
	lines := filepath.Join(dir, "books.jsonl")
	if code, _, problems := ledger(t, o.URL, "export", "-o", lines); code != exitDone || strings.Contains(problems, "--continue") {
		t.Errorf("exit %d, %s", code, problems)
	}
	_, plain, _ := ledger(t, o.URL, "export")
	if code, out, problems := ledger(t, o.URL, "export", "-o", "-"); code != exitDone || out == "" || out != plain {
		t.Errorf("exit %d, %s%s", code, out, problems)
	}
	for wrong, want := range map[string]string{
		"--from c": "unknown flag", "--json": "--output", "--continue --format csv": "--output", "-o - --json": "--json needs --output", "--output=": "must not be empty", "-o " + lines + " --continue": "always exported whole",
		"-o " + file + " --format csv --continue x": "", "--format jsonl --continue -o " + dir + "/new": "always exported whole",
	} {
		code, out, problems := ledger(t, o.URL, strings.Fields("export "+wrong)...)
		if says(t, problems, want); code != exitUsage || out != "" {
			t.Errorf("export %s: exit %d, %s", wrong, code, out)
		}
	}
	altered := contentOf(t, file) + "row"
	if err := os.WriteFile(file, []byte(strings.Replace(altered, "t-4", "t-5", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	altered = contentOf(t, file)
	code, _, problems = ledger(t, o.URL, "export", "-o", file, "--continue")
	if says(t, problems, "cut or altered"); code != exitFailed || contentOf(t, file) != altered {
		t.Errorf("an altered file: exit %d", code)
	}
}

// An interrupted export leaves the file as it was, and says how to go on.
func TestInterruptedExport(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		interrupt()
		<-r.Context().Done()
	}))
	defer s.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "book.csv")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, problems := ledgerIn(ctx, nil, nil, "export", "--format=csv", "-o", file, "--url", s.URL, "--token", "secret")
	if code != exitInterrupted || out != "" || problems != "interrupted\nTo go on, run:\n  ledger export --format=csv -o "+file+" --url "+s.URL+" --token TOKEN\n" {
		t.Errorf("exit %d, %s%s", code, out, problems)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 || contentOf(t, file) != "old" {
		t.Errorf("%q", names)
	}
}
