package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
		code, out, problems := ledgerWithInput(t, s.URL, text, args...)
		if code != exitFailed || strings.TrimSpace(out) != `{"failed":2,"new":1,"replayed":1}` {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
		for _, want := range []string{"line 3: account \"jane\": account_exists: In words.\n  quantity: is too much\n", "line 4: not a JSON object", "2 of 4 lines failed"} {
			if !strings.Contains(problems, want) {
				t.Errorf("%v: %q is missing in\n%s", args, want, problems)
			}
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
	var out, problems bytes.Buffer
	code := run(ctx, []string{"import", "-", "--url", s.URL}, func(string) string { return "" }, input, &out, &problems)
	if code != exitFailed || !strings.Contains(problems.String(), "interrupted: run it again") || !strings.Contains(out.String(), "REPLAYED") {
		t.Errorf("exit %d, %s, %s", code, out.String(), problems.String())
	}
}
