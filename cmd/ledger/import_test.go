package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/importer"
	"ledger.example/tests/harness/system"
)

func TestImport(t *testing.T) {
	answers := register()
	answers["PUT /v1/assets/USD"] = `{"id":"USD"}`
	answers["PUT /v1/accounts/jane"] = "409 account_exists"
	s := newStub(t, answers)
	file := filepath.Join(t.TempDir(), "books.jsonl")
	text := `{"asset":{"id":"USD","scale":2}}` + "\n\n" + `{"account":{"id":"jane"}}` + "\n" + "nonsense\n" +
		`{"transfer":{"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"1"}}` + "\n" +
		strings.Repeat(`{"change":{"id":"jane","state":"frozen"}}`+"\n", 2)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"import", file, "--json"}, {"import", "-", "--json"}} {
		code, out, problems := ledgerIn(t.Context(), map[string]string{urlVariable: s.URL}, strings.NewReader(text), args...)
		if code != exitFailed || strings.TrimSpace(out) != `{"cut_off":0,"failed":2,"new":1,"not_tried":2,"replayed":1}` {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
		if strings.Contains(problems, "--format") {
			t.Errorf("a file with lines may be a book: %s", problems)
		}
		says(t, problems, "line 3: account \"jane\": account_exists: In words.\n  quantity: is too much\n", "line 4: not a JSON object", "line 6: change \"jane\": not tried: 2 lines before failed\n", "2 of 6 lines failed, and 2 changes of accounts were not tried: correct the lines")
	}
}

// A book without an extension that is known is refused with a way.
func TestImportOfABookByAnotherName(t *testing.T) {
	book := "2024-01-01 lunch\n    a  1 EUR\n    b\n"
	code, _, problems := ledgerIn(t.Context(), map[string]string{urlVariable: newStub(t, register()).URL}, strings.NewReader(book), "import", "-")
	if way := "book of hledger, ledger and beancount, say which one by --format"; code != exitFailed || strings.Count(problems, way) != 1 {
		t.Errorf("exit %d, %s", code, problems)
	}
}

// The progress has the number of lines of a file, not of a pipe.
func TestLinesOfImport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "books.jsonl")
	if err := os.WriteFile(file, []byte("{}\n\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &environment{in: strings.NewReader("{}\n")}
	for name, want := range map[string]struct {
		lines int64
		text  string
	}{file: {2, "{}\n\n{}\n"}, "-": {-1, "{}\n"}} {
		in, err := env.openLines(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(in); in.lines != want.lines || string(text) != want.text || err != nil {
			t.Errorf("%s: %d lines, %q, %v", name, in.lines, text, err)
		}
		in.Close()
	}
	counts := importer.Counts{New: 1, Replayed: 2, Failed: 3}
	for lines, want := range map[int64]string{10: "6 of 10 lines (3/s), 3 failed", -1: "6 lines (3/s), 3 failed"} {
		if got := importStatus(counts, lines, 2*time.Second); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A book is read by the given program, which is never this one.
func TestProgramOfImport(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	book := filepath.Join("..", "..", "internal", "desk", "books", "testdata", "sample.ledger")
	for args, want := range map[string]string{
		"import - --program hledger": "are for books", "import bank.csv": "rules for it into FILE.rules, and add --format hledger. docs/books.md#bank-files has", "import bank.OFX": "hledger-autosync",
		"import camt.xml": "ofxstatement-iso20022", "import - --virtual skip": "are for books",
		"import BOOK.BEAN": "no such file", "import " + book + " --virtual keep": "--virtual keep: must be skip", "import " + book + " --program " + self: "is this program",
	} {
		if code, _, problems := ledgerIn(t.Context(), nil, strings.NewReader(""), strings.Fields(args)...); code == 0 || !strings.Contains(problems, want) {
			t.Errorf("%s: exit %d, %s", args, code, problems)
		}
	}
}

// An import reports each bad line, and stops after --max-errors.
func TestImportStopsAfterBadLines(t *testing.T) {
	answers := register()
	answers["POST /v1/transfers"] = "400 malformed_body"
	s := newStub(t, answers)
	bad := strings.Repeat(`{"transfer":{"id":"t","form":"jane"}}`+"\n", 100)
	for args, c := range map[string]struct {
		failed int
		says   string
	}{
		"import - --json --clients 1":                {20, "stopped after 20 bad lines"},
		"import - --json --clients 1 --max-errors 3": {3, "stopped after 3 bad lines: correct them and run the command again, or use --max-errors 0"},
		"import - --json --clients 1 --max-errors 0": {100, "100 of 100 lines failed"},
	} {
		code, out, problems := ledgerIn(t.Context(), map[string]string{urlVariable: s.URL}, strings.NewReader(bad), strings.Fields(args)...)
		if want := fmt.Sprintf(`{"cut_off":0,"failed":%d,"new":0,"not_tried":0,"replayed":0}`, c.failed); code != exitFailed || strings.TrimSpace(out) != want {
			t.Errorf("%s: exit %d, %s, want %s", args, code, out, want)
		}
		reported := strings.Count(problems, `transfer "t": malformed_body`)
		if reported != c.failed || strings.Count(problems, "the fields of transfer: id, description, ") != reported || !strings.Contains(problems, c.says) {
			t.Errorf("%s: reported %d times: %s", args, reported, problems)
		}
	}
}

// An interrupted import ends although standard input is open and silent. It counts the lines that got no answer.
func TestInterruptedImport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			cancel()
			_, _ = io.Copy(io.Discard, r.Body) // so that the server notices a closed connection
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	input, feed := io.Pipe()
	defer feed.Close()
	go func() { _, _ = io.WriteString(feed, `{"asset":{"id":"USD"}}`+"\n") }()
	code, out, problems := ledgerIn(ctx, nil, input, "import", "-", "--json", "--url", s.URL)
	want := `{"code":"interrupted","continue":"ledger import - --json --url ` + s.URL + `","detail":"interrupted: 1 line cut off without an answer"}` + "\n"
	if code != exitInterrupted || problems != want || out != `{"cut_off":1,"failed":0,"new":0,"not_tried":0,"replayed":0}`+"\n" {
		t.Errorf("exit %d, %s, %s", code, out, problems)
	}
}

// Lines are sent in batches, those that end and reverse transactions with the others, in the order of the file. A second
// import replays them. A bad line is reported with its number.
func TestImportIntoALedger(t *testing.T) {
	var requests atomic.Int64
	api := system.New(t).Service.API()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	url := s.URL
	file := `{"asset":{"id":"USD","name":"US dollar","scale":2}}` + "\n" + `{"account":{"id":"a","overdraft":"unlimited"}}` + "\n" +
		`{"account":{"id":"b"}}` + "\n" + `{"account":{"id":"c","overdraft":"unlimited"}}` + "\n"
	const times = 20
	for n := range times {
		file += fmt.Sprintf(`{"transfer":{"id":"t-%[1]d","from":"a","to":"b","asset":"USD","quantity":"5"}}
{"transfer":{"id":"h-%[1]d","from":"b","to":"a","asset":"USD","quantity":"5","hold":{}}}
{"capture":{"transaction":"h-%[1]d","quantity":"2"}}
{"reversal":{"transaction":"t-%[1]d","id":"r-%[1]d","quantity":"3"}}
`, n)
	}
	for n := range 100 {
		file += fmt.Sprintf(`{"transfer":{"id":"u-%d","from":"a","to":"c","asset":"USD","quantity":"1"}}`+"\n", n)
	}
	file += `{"release":{"transaction":"h-0"}}` + "\n" + `{"capture":{"transaction":"h-1","x":1}}` + "\n"
	for _, want := range []string{
		`{"cut_off":0,"failed":2,"new":184,"not_tried":0,"replayed":0}`, `{"cut_off":0,"failed":2,"new":0,"not_tried":0,"replayed":184}`,
	} {
		requests.Store(0)
		code, out, problems := ledgerIn(t.Context(), nil, strings.NewReader(file), "import", "-", "--json", "--clients", "1", "--url", url)
		if code != exitFailed || strings.TrimSpace(out) != want || requests.Load() > 4*times+50 {
			t.Errorf("exit %d, %s, %s; %d requests", code, out, problems, requests.Load())
		}
		says(t, problems, `line 185: release "h-0": hold_ended`, "the fields of capture: transaction, quantity")
	}
}

// A person sees what is done while the other program reads a book, and while it is compared.
func TestBookStatus(t *testing.T) {
	for entries, want := range map[int64]string{
		0: "hledger reads a.journal (7 s)", 1: "1 entry read, and compared with the ledger (7 s)",
	} {
		if got := bookStatus("hledger", "a.journal", entries, 7*time.Second); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A refusal that is not about the line itself says what a person can do.
func TestWaysOutOfRefusals(t *testing.T) {
	for code, want := range map[string]string{
		"period_closed": "ledger close-books --before", "account_frozen": "ledger account unfreeze", "x": "",
	} {
		got := describe("a.journal:7", importer.Failure{ID: "t", Err: &client.Error{Status: 422, Code: code}})
		if !strings.Contains(got, want) || !strings.HasPrefix(got, "a.journal:7: ") ||
			strings.Contains(got, "import the file again") != (want != "") {
			t.Errorf("%s: %s", code, got)
		}
	}
}
