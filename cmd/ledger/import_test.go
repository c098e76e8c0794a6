package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestImport(t *testing.T) {
	answers := register()
	answers["PUT /v1/assets/USD"] = `{"id":"USD"}`
	answers["PUT /v1/accounts/jane"] = "409 account_exists"
	s := newStub(t, answers)
	file := filepath.Join(t.TempDir(), "books.jsonl")
	text := `{"asset":{"id":"USD","scale":2}}` + "\n\n" + `{"account":{"id":"jane"}}` + "\n" + "nonsense\n" +
		`{"transfer":{"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"1"}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"import", file, "--json"}, {"import", "-", "--json"}} {
		code, out, problems := ledgerIn(t.Context(), map[string]string{urlVariable: s.URL}, strings.NewReader(text), args...)
		if code != exitFailed || strings.TrimSpace(out) != `{"cut_off":0,"failed":2,"new":1,"replayed":1}` {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
		says(t, problems, "line 3: account \"jane\": account_exists: In words.\n  quantity: is too much\n", "line 4: not a JSON object", "2 of 4 lines failed")
	}
}

// An import names each bad line, and stops after so many.
func TestAnImportOfBadLinesStops(t *testing.T) {
	answers := register()
	answers["POST /v1/transfers"] = "400 malformed_body"
	s := newStub(t, answers)
	bad := strings.Repeat(`{"transfer":{"id":"t","form":"jane"}}`+"\n", 100)
	for args, c := range map[string]struct {
		failed, told int
		says         string
	}{
		"import - --json --clients 1":                  {20, 20, "stopped after 20 bad lines"},
		"import - --json --clients 1 --max-errors 3":   {3, 3, "stopped after 3 bad lines: correct them and run it again, or let it go on with --max-errors 0"},
		"import - --json --clients 1 --max-errors 0":   {100, 100, "100 of 100 lines failed"},
		"import - --json --clients 1 --max-errors 100": {100, 100, "stopped after 100 bad lines"},
	} {
		code, out, problems := ledgerIn(t.Context(), map[string]string{urlVariable: s.URL}, strings.NewReader(bad), strings.Fields(args)...)
		if want := fmt.Sprintf(`{"cut_off":0,"failed":%d,"new":0,"replayed":0}`, c.failed); code != exitFailed || strings.TrimSpace(out) != want {
			t.Errorf("%s: exit %d, %s, want %s", args, code, out, want)
		}
		told := strings.Count(problems, `transfer "t": malformed_body`)
		if told != c.told || strings.Count(problems, "the fields of transfer: id, description, ") != told || !strings.Contains(problems, c.says) {
			t.Errorf("%s: told %d times: %s", args, told, problems)
		}
	}
}

// An import from standard input ends when it is told to, though nothing more comes from there.
func TestAnImportOfASilentInputEnds(t *testing.T) {
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
	if code != exitFailed || !strings.Contains(problems, "run it again to continue") || !strings.Contains(out, "replayed") {
		t.Errorf("exit %d, %s, %s", code, out, problems)
	}
}

// An import that is interrupted says how many lines were sent and got no answer.
func TestAnInterruptedImportSaysWhatWasCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			cancel()
			_, _ = io.Copy(io.Discard, r.Body) // so that the server sees its caller leave
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	code, out, problems := ledgerIn(ctx, nil, strings.NewReader(`{"asset":{"id":"USD"}}`), "import", "-", "--json", "--url", s.URL)
	const want = "interrupted: 1 line cut off: run it again to continue\n"
	if code != exitFailed || problems != want || out != `{"cut_off":1,"failed":0,"new":0,"replayed":0}`+"\n" {
		t.Errorf("exit %d, %s, %s", code, out, problems)
	}
}

// Lines that wait for nothing are sent together, and a bad one of them is named by its number.
func TestAnImportSendsBatches(t *testing.T) {
	const lines = 300
	var file strings.Builder
	for n := range lines {
		fmt.Fprintf(&file, `{"transfer":{"id":"t-%d","from":"a-%d","to":"b-%d","asset":"USD","quantity":"1"}}`+"\n", n, n, n)
	}
	var mu sync.Mutex
	var requests, together int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		type transfer struct{ ID string }
		var one transfer
		var batch struct {
			Atomic   bool
			Requests []struct{ Transfer transfer }
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &one)
		_ = json.Unmarshal(body, &batch)
		answer := func(id string) (int, string) {
			if id == "t-7" {
				return 422, `{"code":"insufficient_funds","detail":"Not enough."}`
			}
			return 201, `{"id":"` + id + `"}`
		}
		requests++
		switch r.URL.Path {
		case "/v1/batches":
			var results []string
			for _, of := range batch.Requests {
				status, body := answer(of.Transfer.ID)
				results = append(results, fmt.Sprintf(`{"status":%d,"body":%s}`, status, body))
			}
			together = max(together, len(results))
			fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
		case "/v1/transfers":
			status, body := answer(one.ID)
			if status >= 400 {
				w.Header().Set("Content-Type", "application/problem+json")
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	defer s.Close()
	code, out, problems := ledgerIn(t.Context(), nil, strings.NewReader(file.String()), "import", "-", "--json", "--clients", "1", "--url", s.URL)
	const want = `{"cut_off":0,"failed":1,"new":299,"replayed":0}` + "\n"
	if code != exitFailed || out != want || !strings.Contains(problems, `line 8: transfer "t-7": insufficient_funds`) {
		t.Errorf("exit %d, %s, %s", code, out, problems)
	}
	if together < 2 || together > 100 || requests > lines/2 {
		t.Errorf("%d requests, of at most %d lines", requests, together)
	}
}
