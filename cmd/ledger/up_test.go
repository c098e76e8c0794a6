package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/internal/desk/console"
	"ledger.example/tests/harness/system"
)

// The README has the requests of the demo. After `up --demo`, they are replayed and do not conflict.
func TestDemoIsInTheREADME(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	requests := regexp.MustCompile(`(?s)curl -X (PUT|POST) localhost:8080(/v1/\S+)[^']*'Content-Type: application/json'[^']*-d '([^']*)'`).FindAllSubmatch(text, -1)
	shown := make(map[string]bool)
	for _, r := range requests {
		shown[string(r[1])+" "+string(r[2])+" "+compact(t, r[3])] = true
	}
	paths := map[string]string{
		"asset": "PUT /v1/assets/", "account": "PUT /v1/accounts/", "transfer": "POST /v1/transfers", "trade": "POST /v1/trades",
	}
	for line := range strings.Lines(demoLines) {
		var commands map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &commands); err != nil {
			t.Fatal(err)
		}
		for kind, body := range commands {
			request := paths[kind] + " " + compact(t, body)
			if path, inPath := strings.CutSuffix(paths[kind], "/"); inPath { // the id is in the path
				id, rest, _ := strings.Cut(strings.TrimPrefix(string(body), `{"id":"`), `",`)
				request = path + "/" + id + " {" + rest
			}
			if !shown[request] {
				t.Errorf("the README has no %s", request)
			}
		}
	}
}

// The demo can be loaded again, as with the data of an earlier run.
func TestDemoIsLoadedAgain(t *testing.T) {
	t.Parallel()
	s := system.New(t, system.Pumped)
	api, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := loadDemo(t.Context(), api, true); err != nil {
			t.Error(err)
		}
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}

// runUp runs `up` on a free port with more arguments, calls do with its address when it answers, and then ends it.
func runUp(t *testing.T, do func(ctx context.Context, url string), args ...string) (code int, problems string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, ready := io.Pipe()
	go func() {
		defer cancel()
		url, _ := bufio.NewReader(out).ReadString('\n')
		do(ctx, strings.TrimSpace(url))
		go func() { _, _ = io.Copy(io.Discard, out) }()
	}()
	var printed strings.Builder
	code = run(ctx, append([]string{"up", "--port", "0"}, args...), func(string) string { return "" }, nil, ready, &printed)
	return code, printed.String()
}

// The console of up has its days in the zone of --zone.
func TestZoneOfUp(t *testing.T) {
	code, problems := runUp(t, func(_ context.Context, url string) {
		resp, err := http.Get(url + console.Path + "audit")
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if page, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(page), "Days are in Europe/Berlin") {
			t.Errorf("%v, %s", err, page)
		}
	}, "--memory", "--zone", "Europe/Berlin")
	if code != exitDone {
		t.Errorf("exit %d: %s", code, problems)
	}
}

// Without Java, up goes on with the built-in store and says so. It does not where data must outlive it.
func TestUpNeedsNoJava(t *testing.T) {
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", t.TempDir())
	code, problems := runUp(t, func(_ context.Context, url string) {
		if resp, err := http.Get(url + "/v1/me"); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", resp, err)
		}
	})
	want := "DynamoDB Local needs Java 17 or newer, so this ledger uses the built-in store: all data is lost on exit."
	if code != exitDone || !strings.Contains(problems, want) {
		t.Errorf("exit %d: %s", code, problems)
	}
	if code, _, problems := ledgerIn(t.Context(), nil, nil, "up", "--port", "0", "--data", t.TempDir()); code != exitFailed || !strings.Contains(problems, "apt-get install") {
		t.Errorf("exit %d: %s", code, problems)
	}
}
