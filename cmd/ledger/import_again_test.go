package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
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
	reverse := regexp.MustCompile(`ledger (reverse \S+ --effective-at \S+ --url \S+)`)
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
			args := strings.Fields(m[1])
			if code, _, problems := ledgerIn(t.Context(), nil, nil, args...); code != exitDone {
				t.Errorf("%v: exit %d, %s", args, code, problems)
			}
		}
	}
}

// An entry of too many postings is posted in parts. Few parts are one atomic batch. The parts of an edited entry that are
// not the same are posted, and the old ones are named.
func TestImportOfAnEntryInParts(t *testing.T) {
	s := system.New(t, system.Pumped)
	var bodies atomic.Value
	api := s.Service.API()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/batches" {
			body, _ := io.ReadAll(r.Body)
			bodies.Store(fmt.Sprint(bodies.Load(), string(body)))
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "opening.journal")
	book := func(accounts int, first string) string {
		text := "2024-01-01 opening\n    a:first  " + first + " EUR\n"
		for i := range accounts - 1 {
			text += fmt.Sprintf("    a:%d  %d.00 EUR\n", i, i+1)
		}
		return text + "    equity\n"
	}
	const three = 110
	for _, c := range []struct {
		what, book       string
		fresh, had, gone int
		says             string
	}{
		{"49 accounts", book(49, "1.00"), 1 + 51 + 2, 0, 0, "opening.journal:1: the entry \"opening\" has 50 postings"},
		{"the same", book(49, "1.00"), 0, 2, 0, "as one atomic batch"},
		{"edited", book(49, "1.50"), 2, 0, 2, `"2024-01-01.`},
		{"too many for one batch", book(three, "2.00"), three - 49 + 3, 0, 4, "which is not zero until all are posted"},
		{"the same again", book(three, "2.00"), 0, 3, 4, "in 3 parts"},
	} {
		bodies.Store("")
		code, got, problems := importBook(t, server.URL, file, c.book)
		isAtomic := strings.Contains(bodies.Load().(string), `"atomic":true`)
		if (code == exitDone) != (got["gone"] == 0) || got["new"] != c.fresh || got["replayed"] != c.had ||
			got["failed"] != 0 || !strings.Contains(problems, c.says) || isAtomic != (c.fresh > 0 && !strings.Contains(c.what, "too many")) {
			t.Errorf("%s: exit %d, %v, atomic: %t, %s", c.what, code, got, isAtomic, problems)
		}
	}
}

// Opening entries are posted once, with the day of the first import.
func TestImportWithOpeningEntries(t *testing.T) {
	server := httptest.NewServer(system.New(t, system.Pumped).Service.API())
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "old.journal")
	book := func(old string) string {
		return "2010-01-01 start\n    a:bank  " + old + " EUR\n    equity\n\n2015-01-01 shop\n    x:food  1.00 EUR\n    a:bank\n"
	}
	for _, c := range []struct {
		old, day   string
		end, fresh int
		says       string
	}{
		{"5.00", "", exitFailed, 0, "--opening DATE"},
		{"5.00", "2014-05-13", exitUsage, 0, "must be a day from 2014-05-14"},
		{"5.00", "2015-01-01", exitDone, 1 + 3 + 2, ""},
		{"5.00", "2015-01-01", exitDone, 0, ""},
		{"5.00", "2016-01-01", exitFailed, 0, "import the book with --opening 2015-01-01"},
		{"6.00", "2015-01-01", exitFailed, 0, `have 5.00 EUR on the account "a:bank"`},
	} {
		var flags []string
		if c.day != "" {
			flags = []string{"--opening", c.day}
		}
		code, got, problems := importBook(t, server.URL, file, book(c.old), flags...)
		if code != c.end || got["new"] != c.fresh || !strings.Contains(problems, c.says) {
			t.Errorf("%s, %s: exit %d, %v, %s", c.old, c.day, code, got, problems)
		}
	}
}
