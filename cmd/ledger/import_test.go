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

	"ledger.example/internal/importer"
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
		says(t, problems, "line 3: account \"jane\": account_exists: In words.\n  quantity: is too much\n", "line 4: not a JSON object", "line 6: change \"jane\": not tried: 2 lines before failed\n", "2 of 6 lines failed, and 2 changes of accounts were not tried: correct the lines")
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
	book := filepath.Join("..", "..", "internal", "books", "testdata", "sample.ledger")
	for args, want := range map[string]string{"import - --program hledger": "are for books", "import " + book + " --program " + self: "is this program"} {
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
		failed, reported int
		says             string
	}{
		"import - --json --clients 1":                  {20, 20, "stopped after 20 bad lines"},
		"import - --json --clients 1 --max-errors 3":   {3, 3, "stopped after 3 bad lines: correct them and run the command again, or use --max-errors 0"},
		"import - --json --clients 1 --max-errors 0":   {100, 100, "100 of 100 lines failed"},
		"import - --json --clients 1 --max-errors 100": {100, 100, "stopped after 100 bad lines"},
	} {
		code, out, problems := ledgerIn(t.Context(), map[string]string{urlVariable: s.URL}, strings.NewReader(bad), strings.Fields(args)...)
		if want := fmt.Sprintf(`{"cut_off":0,"failed":%d,"new":0,"not_tried":0,"replayed":0}`, c.failed); code != exitFailed || strings.TrimSpace(out) != want {
			t.Errorf("%s: exit %d, %s, want %s", args, code, out, want)
		}
		reported := strings.Count(problems, `transfer "t": malformed_body`)
		if reported != c.reported || strings.Count(problems, "the fields of transfer: id, description, ") != reported || !strings.Contains(problems, c.says) {
			t.Errorf("%s: reported %d times: %s", args, reported, problems)
		}
	}
}

// A cancelled import ends while standard input is open and silent.
func TestCancelledImportOfStandardInput(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"id":"USD"}`)
		if r.Method == http.MethodPut {
			cancel()
		}
	}))
	defer s.Close()
	input, feed := io.Pipe()
	defer feed.Close()
	go func() { _, _ = io.WriteString(feed, `{"asset":{"id":"USD"}}`+"\n") }()
	code, out, problems := ledgerIn(ctx, nil, input, "import", "-", "--url", s.URL)
	if code != exitFailed || !strings.Contains(problems, "run the command again to continue") || !strings.Contains(out, "replayed") {
		t.Errorf("exit %d, %s, %s", code, out, problems)
	}
}

// An interrupted import counts the lines that were sent and got no answer.
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
	code, out, problems := ledgerIn(ctx, nil, strings.NewReader(`{"asset":{"id":"USD"}}`), "import", "-", "--json", "--url", s.URL)
	const want = `{"code":"failed","detail":"interrupted: 1 line cut off without an answer; run the command again to continue"}` + "\n"
	if code != exitFailed || problems != want || out != `{"cut_off":1,"failed":0,"new":0,"not_tried":0,"replayed":0}`+"\n" {
		t.Errorf("exit %d, %s, %s", code, out, problems)
	}
}

// Independent lines are sent in batches, and a bad one is reported with its line number.
func TestImportSendsBatches(t *testing.T) {
	const lines = 300
	var requests atomic.Int64
	url := benched(t, func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			ledger.ServeHTTP(w, r)
		})
	})
	file := `{"asset":{"id":"USD","name":"US dollar","scale":2}}` + "\n"
	for _, account := range []string{"a", "b"} {
		file += `{"account":{"id":"` + account + `","overdraft":"unlimited"}}` + "\n"
	}
	for n := range lines {
		to := "b"
		if n == 7 {
			to = "nobody"
		}
		file += fmt.Sprintf(`{"transfer":{"id":"t-%d","from":"a","to":"%s","asset":"USD","quantity":"1"}}`+"\n", n, to)
	}
	code, out, problems := ledgerIn(t.Context(), nil, strings.NewReader(file), "import", "-", "--json", "--clients", "1", "--url", url)
	const want = `{"cut_off":0,"failed":1,"new":302,"not_tried":0,"replayed":0}` + "\n"
	if code != exitFailed || out != want || !strings.Contains(problems, `line 11: transfer "t-7": account_not_found`) {
		t.Errorf("exit %d, %s, %s", code, out, problems)
	}
	if requests.Load() > lines/2 {
		t.Errorf("%d requests", requests.Load())
	}
}

// Lines that end and reverse transactions are sent with the others, in the order of the file.
func TestImportEndsAndReverses(t *testing.T) {
	url := benched(t, func(ledger http.Handler) http.Handler { return ledger })
	file := `{"asset":{"id":"USD","name":"US dollar","scale":2}}` + "\n" + `{"account":{"id":"a","overdraft":"unlimited"}}` + "\n" +
		`{"account":{"id":"b"}}` + "\n"
	for n := range 20 {
		file += fmt.Sprintf(`{"transfer":{"id":"t-%[1]d","from":"a","to":"b","asset":"USD","quantity":"5"}}
{"transfer":{"id":"h-%[1]d","from":"b","to":"a","asset":"USD","quantity":"5","hold":{}}}
{"capture":{"transaction":"h-%[1]d","quantity":"2"}}
{"reversal":{"transaction":"t-%[1]d","id":"r-%[1]d","quantity":"3"}}
`, n)
	}
	file += `{"release":{"transaction":"h-0"}}` + "\n" + `{"capture":{"transaction":"h-1","x":1}}` + "\n"
	for _, want := range []string{
		`{"cut_off":0,"failed":2,"new":83,"not_tried":0,"replayed":0}` + "\n", `{"cut_off":0,"failed":2,"new":0,"not_tried":0,"replayed":83}` + "\n",
	} {
		code, out, problems := ledgerIn(t.Context(), nil, strings.NewReader(file), "import", "-", "--json", "--url", url)
		if code != exitFailed || out != want || !strings.Contains(problems, `line 84: release "h-0": hold_ended`) ||
			!strings.Contains(problems, "the fields of capture: transaction, quantity") {
			t.Errorf("exit %d, %s, %s", code, out, problems)
		}
	}
}
