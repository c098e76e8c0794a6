package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/system"
)

// importBook imports a book of hledger, and returns the exit code, the figures and the messages.
func importBook(t *testing.T, url, file, text string, flags ...string) (code int, figures map[string]int, problems string) {
	t.Helper()
	if _, err := exec.LookPath("hledger"); err != nil {
		full.Without(t, "hledger is not installed")
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, problems := ledgerIn(t.Context(), nil, nil, append([]string{"import", file, "--json", "--url", url}, flags...)...)
	if out != "" {
		if err := json.Unmarshal([]byte(out), &figures); err != nil {
			t.Fatal(out, problems, err)
		}
	}
	return code, figures, problems
}

// A book is edited between imports. What is new is posted, a changed text stays as it was, and the entry whose amount
// was changed is named until it is reversed.
func TestImportOfAnEditedBook(t *testing.T) {
	server := httptest.NewServer(system.New(t, system.Pumped).Service.API())
	t.Cleanup(server.Close)
	url, file := server.URL, filepath.Join(t.TempDir(), "home.journal")
	entries := func(all ...string) string { return strings.Join(all, "\n") }
	entry := func(text, quantity string) string {
		return "2024-01-05 " + text + "\n    a:cash  -" + quantity + " EUR\n    x:food  " + quantity + " EUR\n"
	}
	reverse := regexp.MustCompile(`ledger (reverse \S+ --effective-at \S+)`)
	for _, c := range []struct {
		what, book           string
		replayed, fresh      int
		otherText, gone, end int
		says                 string
	}{
		{"the first import", entries(entry("noon", "1.00"), entry("night", "2.00"), entry("night", "2.00")), 0, 6, 0, 0, exitDone, ""},
		{"a forgotten entry, and a tag of an account", "account a:cash  ; type:A\n\n" +
			entries(entry("morning", "9.00"), entry("noon", "1.00"), entry("night", "2.00"), entry("night", "2.00")), 3, 1, 0, 0, exitDone, ""},
		{"another text", entries(entry("morning", "9.00"), entry("noon  ; kind:lunch", "1.00"), entry("night", "2.00"), entry("night", "2.00")),
			3, 0, 1, 0, exitDone, "home.journal:5: transaction \"2024-01-05."},
		{"another amount", entries(entry("morning", "9.00"), entry("noon", "1.50"), entry("night", "2.00"), entry("night", "2.00")),
			3, 1, 0, 1, exitFailed, "(noon) is in the ledger, but not in the book"},
		{"the same book", entries(entry("morning", "9.00"), entry("noon", "1.50"), entry("night", "2.00"), entry("night", "2.00")),
			4, 0, 0, 0, exitDone, ""},
	} {
		code, got, problems := importBook(t, url, file, c.book)
		if code != c.end || got["replayed"] != c.replayed || got["new"] != c.fresh || got["other_text"] != c.otherText ||
			got["gone"] != c.gone || got["failed"] != 0 || !strings.Contains(problems, c.says) {
			t.Errorf("%s: exit %d, %v, %s", c.what, code, got, problems)
		}
		if m := reverse.FindStringSubmatch(problems); m != nil { // as it says
			args := append(strings.Fields(m[1]), "--url", url)
			if code, _, problems := ledgerIn(t.Context(), nil, nil, args...); code != exitDone {
				t.Errorf("%v: exit %d, %s", args, code, problems)
			}
		}
	}
}
