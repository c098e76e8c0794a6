package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/harness/system"
)

// rows calls do for the lines of a file that are not empty and not comments.
func rows(t *testing.T, file string, do func(row string)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		if row = strings.TrimRight(row, "\n"); row != "" && row[0] != '#' {
			do(row)
		}
	}
}

// TestScripts runs the command lines of testdata/scripts on a ledger, one after the other. "$" is before those that
// succeed, and "$1" or "$2" before those that end with this exit code. Words are separated by single spaces. Below a
// command line are texts that it prints: to standard output, or to standard error if it fails. The projection has all
// postings of earlier commands.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal(err, scripts)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			s := newLedger(t)
			var line, said string
			rows(t, script, func(row string) {
				if command, isCommand := strings.CutPrefix(row, "$"); isCommand {
					code := ""
					code, line, _ = strings.Cut(strings.ReplaceAll(command, `\x1b`, "\x1b"), " ")
					want, _ := strconv.Atoi(code)
					s.Project()
					got, out, problems := ledger(t, s.URL, strings.Split(line, " ")...)
					if said = out; want != exitDone {
						said = problems
					}
					if got != want || want != exitDone && out != "" {
						t.Errorf("ledger %s: exit %d, want %d\n%s%s", line, got, want, out, problems)
					}
				} else if !strings.Contains(strings.Join(strings.Fields(said), " "), row) { // tables pad cells with spaces
					t.Errorf("ledger %s: %q is missing in\n%s", line, row, said)
				}
			})
		})
	}
}

// Command lines have the exit codes and print what testdata/lines.txt says. A usage error writes nothing to the ledger.
func TestExitCodesAndStreams(t *testing.T) {
	s := newStub(t, withHolds())
	rows(t, "testdata/lines.txt", func(row string) {
		number, line, _ := strings.Cut(row, " ")
		line, want, _ := strings.Cut(line, " | ")
		s.sent = nil
		code, out, problems := ledger(t, s.URL, strings.Fields(line)...)
		said, silent := out, problems
		if code != exitDone {
			said, silent = problems, out
		}
		if number != strconv.Itoa(code) || silent != "" || said == "" || !strings.Contains(said, want) ||
			code == exitUsage && len(s.sent) > 0 {
			t.Errorf("ledger %s: exit %d, want %s and %q:\n%s\n%s\nsent %q", line, code, number, want, out, problems, s.sent)
		}
	})
}

// Commands send the requests of testdata/requests.txt. A dry run says that nothing was written.
func TestRequestsOfCommands(t *testing.T) {
	s := newStub(t, withHolds())
	var line, problems string
	rows(t, "testdata/requests.txt", func(row string) {
		want, isRequest := strings.CutPrefix(row, "\t")
		if isRequest {
			if !slices.Equal(s.sent, []string{want}) {
				t.Errorf("%s: %s\n got %q\nwant %q", line, problems, s.sent, want)
			}
			return
		}
		var code int
		var out string
		line, s.sent = row, nil
		if code, out, problems = ledger(t, s.URL, strings.Fields(line)...); code != exitDone || out == "" ||
			strings.Contains(problems, "nothing was written") != strings.Contains(line, "--dry-run") {
			t.Errorf("%s: exit %d, %s", line, code, problems)
		}
	})
}

// newLedger returns a complete ledger for a parallel test, in which jane has 3,500.00 USD and 10 AAPL.
func newLedger(t *testing.T) *system.System {
	t.Helper()
	t.Parallel()
	s := system.New(t, system.Pumped, system.Indexed("order"))
	s.OpenBooks()
	return s
}

// A statement of any number of pages has one heading, one opening and one closing balance. It says why postings may be
// missing.
func TestStatementPages(t *testing.T) {
	s := newLedger(t)
	var file strings.Builder
	const many = 101 // more than a page has
	for n := range many {
		fmt.Fprintf(&file, `{"transfer":{"id":"m-%d","from":"bank","to":"jane","asset":"USD","quantity":"1","effective_at":"2020-05-01T00:00:00Z"}}`+"\n", n)
	}
	if code, _, problems := ledgerIn(t.Context(), nil, strings.NewReader(file.String()), "import", "-", "--url", s.URL); code != exitDone {
		t.Fatal(problems)
	}
	s.Project()
	for flag, want := range map[string]int{"--csv": 1 + 1 + many + 1, "--json": 2, "--minor": 1 + 1 + many + 2} {
		_, out, problems := ledger(t, s.URL, "statement", "jane", "USD", "--month", "2020-05", flag)
		if lines := strings.Count(out, "\n"); lines != want || strings.Contains(problems, "missing") {
			t.Errorf("%s: %d lines, want %d: %s\n%s", flag, lines, want, problems, out)
		}
	}
	if code, _, problems := ledger(t, s.URL, "close-books", "--through", "2020-05-31", "--reason", "Audited"); code != exitDone {
		t.Fatal(problems)
	}
	_, _, problems := ledger(t, s.URL, "statement", "jane", "USD", "--month", "2020-05")
	says(t, problems, "the books were closed less than 5 minutes ago")
}
