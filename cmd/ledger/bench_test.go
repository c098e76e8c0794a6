package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"ledger.example/internal/bench"
	"ledger.example/tests/system"
)

func TestBenchAcceptsConfirmedAddresses(t *testing.T) {
	for _, o := range []struct{ address, confirmed string }{
		{"http://127.0.0.1:8080", ""}, {"http://localhost:8080", ""}, {"http://[::1]:8080", ""},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080"}, {"https://ledger.example", "https://ledger.example"},
	} {
		if err := (&benchOptions{confirmed: o.confirmed}).checkConfirmed("--url", o.address); err != nil {
			t.Error(err)
		}
	}
}

// benched serves a ledger in memory, without a projector, behind a handler that may change requests and answers.
func benched(t *testing.T, wrap func(ledger http.Handler) http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(wrap(system.New(t).Service.API()))
	t.Cleanup(server.Close)
	return server.URL
}

func unchanged(ledger http.Handler) http.Handler { return ledger }

// runBench runs a small bench against --url, and returns its JSON report.
func runBench(t *testing.T, url string, more ...string) (code int, r bench.Report, problems string) {
	t.Helper()
	args := append([]string{"bench", "--url", url, "--no-pump", "--json", "--rounds", "1", "--accounts", "4", "--clients", "4"}, more...)
	code, out, problems := ledger(t, "http://ledger.example", args...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, problems)
	}
	return code, r, problems
}

// bench runs twice on a ledger that already has data. It uses --url, and ignores LEDGER_URL.
func TestBenchOfAURL(t *testing.T) {
	url := benched(t, unchanged)
	for range 2 {
		code, r, problems := runBench(t, url, "--count", "40")
		if code != exitDone || len(r.Workloads) != len(bench.Workloads()) || len(r.Failed) != 0 || r.Balances != 2*(4+3+4) || r.Ledger != url {
			t.Fatalf("exit %d, %s\n%+v", code, problems, r)
		}
		for i, w := range r.Workloads {
			f := w.Figures
			if w.Workload != bench.Workloads()[i] || f["succeeded"] != 40 ||
				f["p50_ms"] == 0 || f["p50_ms"] > f["p99_ms"] || f["p99_ms"] > f["max_ms"] || f["uniform_ratio"] == 0 ||
				slices.ContainsFunc(slices.Collect(maps.Keys(f)), func(name string) bool { return strings.Contains(name, "store") }) {
				t.Errorf("%+v", w)
			}
		}
	}
}

// rewrite changes the nth request that posts a transfer or trade. The warm-up has as many requests as --count.
func rewrite(nth int64, change func(body []byte) []byte) func(http.Handler) http.Handler {
	var n atomic.Int64
	return func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if (r.URL.Path == "/v1/transfers" || r.URL.Path == "/v1/trades") && n.Add(1) == nth {
				body, _ := io.ReadAll(r.Body)
				body = change(body)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}
			ledger.ServeHTTP(w, r)
		})
	}
}

// A run with a wrong balance fails. Here, one leg is posted to another account.
func TestBenchFindsAWrongBalance(t *testing.T) {
	url := benched(t, rewrite(45, func(body []byte) []byte {
		var transfer map[string]any
		_ = json.Unmarshal(body, &transfer)
		to := "to"
		if transfer[to] == nil {
			to = "buyer"
		}
		run, _, _ := strings.Cut(transfer[to].(string), "-")
		transfer[to] = run + "-maker1"
		changed, _ := json.Marshal(transfer)
		return changed
	}))
	code, r, problems := runBench(t, url, "--count", "30", bench.HotReceiver)
	of := func(f bench.Failed) bool {
		return f.Check == "balance" && (strings.Contains(f.Of, "-receiver ") || strings.Contains(f.Of, "-maker1 "))
	}
	if code != exitFailed || len(r.Failed) != 2 || !of(r.Failed[0]) || !of(r.Failed[1]) || r.Failed[0].Expected == r.Failed[0].Found ||
		!strings.Contains(problems, "2 checks failed") || !strings.Contains(problems, r.Failed[0].Of) {
		t.Errorf("exit %d, %s\n%+v", code, problems, r.Failed)
	}
}

// A request without an answer is sent again, and added to the book once. The first refusal ends the load, and the run
// fails: also during the warm-up.
func TestBenchFailsWithARequest(t *testing.T) {
	for name, c := range map[string]struct {
		refused int64 // the number of the request that is refused; the warm-up has 20
		done    float64
	}{"none": {0, 20}, "warm-up": {10, 0}, "load": {30, 9}} {
		var n atomic.Int64
		url := benched(t, func(ledger http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/transfers" && r.URL.Path != "/v1/trades" {
					ledger.ServeHTTP(w, r)
					return
				}
				switch n.Add(1) {
				case c.refused:
					problem(w, http.StatusUnprocessableEntity, "insufficient_funds")
				case 5: // applied, and the answer is lost
					ledger.ServeHTTP(httptest.NewRecorder(), r)
					panic(http.ErrAbortHandler)
				default:
					ledger.ServeHTTP(w, r)
				}
			})
		})
		if c.refused > 0 {
			c.refused++ // the one that is sent again
		}
		code, r, problems := runBench(t, url, "--count", "20", "--clients", "1", bench.Uniform)
		isFailed := c.refused > 0
		if (code == exitFailed) != isFailed || r.CutShort != isFailed || r.Balances == 0 || (len(r.Failed) == 1) != isFailed ||
			isFailed && (r.Failed[0].Check != "requests" || !strings.Contains(r.Failed[0].Found, "insufficient_funds")) {
			t.Errorf("%s: exit %d, %s\n%+v", name, code, problems, r)
		}
		done := 0.0
		if len(r.Workloads) > 0 {
			done = r.Workloads[0].Figures["succeeded"]
		}
		if done != c.done {
			t.Errorf("%s: %v done", name, done)
		}
	}
}

// Ctrl-C ends the load. The transactions until then are checked.
func TestBenchInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var n atomic.Int64
	url := benched(t, func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && n.Add(1) == 700 { // 500 of them warm up
				interrupt()
			}
			ledger.ServeHTTP(w, r)
		})
	})
	var out, problems bytes.Buffer
	code := run(ctx, []string{"bench", "--url", url, "--no-pump", "--json", "--count", "100000", "--accounts", "4"},
		func(string) string { return "" }, strings.NewReader(""), &out, &problems)
	var r bench.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s%s", err, &out, &problems)
	}
	if code != exitFailed || !r.CutShort || len(r.Failed) != 0 || len(r.Workloads) != 1 || r.Workloads[0].Figures["succeeded"] < 100 || r.Balances == 0 ||
		!strings.Contains(problems.String(), "interrupted") {
		t.Errorf("exit %d, %s\n%+v", code, &problems, r)
	}
}

// problem answers with a problem.
func problem(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	io.WriteString(w, `{"code":"`+code+`"}`)
}

// With a ledger in this process, bench also reports requests to the store, and the ceilings.
func TestBenchQuick(t *testing.T) {
	code, out, problems := ledger(t, "http://ledger.example", "bench", "--quick", "--json", bench.HotReceiver, bench.Read)
	var r bench.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone || len(r.Workloads) != 2 || len(r.Warnings) != 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, problems)
	}
	for _, w := range r.Workloads {
		f := w.Figures
		isRead := w.Workload == bench.Read
		switch {
		case f["succeeded"] != quickCount || f["allocations"] < 10:
			t.Errorf("%+v", w)
		case isRead && (f["write_units"] != 0 || f["read_units"] < 0.5 || f["transactions_sent"] != 0 || f["requests"] < 1):
			t.Errorf("%+v", w)
		case !isRead && (f["write_units"] < 10 || f["transactions_sent"] < 1 || f["store_ratio"] <= 0 || f["dollars_per_million"] < 5 ||
			f["projection_writes_per_posting"] == 0 || f["projection_writes_per_posting"] > 2 || f["lag_postings"] == 0):
			t.Errorf("%+v", w)
		}
	}
	if !r.Projected || r.WindowMS <= 0 {
		t.Errorf("projected %v, window %d", r.Projected, r.WindowMS)
	}
}

// The table has a line for each figure and a column for each workload.
func TestBenchTable(t *testing.T) {
	var out bytes.Buffer
	env := newEnvironment(nil, &out, io.Discard, os.Getenv)
	r := &bench.Report{Ledger: "at home", Workloads: []bench.Workload{
		{Workload: bench.Uniform, Figures: map[string]float64{"succeeded": 40, "p99_ms": 2.25, "store_ratio": 0.777}},
		{Workload: bench.Read, Figures: map[string]float64{"succeeded": 7, "p99_ms": 12}},
	}}
	if err := env.printBenchTable(r); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"uniform read", "DONE 40 7", "P99 ms 2.2 12.0", "÷ STORE 0.78 -"} {
		if !slices.ContainsFunc(strings.Split(out.String(), "\n"),
			func(l string) bool { return strings.Join(strings.Fields(l), " ") == line }) {
			t.Errorf("no line %q:\n%s", line, &out)
		}
	}
	if strings.Contains(out.String(), "LAG") {
		t.Errorf("unknown figures:\n%s", &out)
	}
}

// If the store stops, the run ends with the error of the store.
func TestBenchWhoseStoreStops(t *testing.T) {
	config := bench.Config{Workloads: []string{bench.Uniform}, Clients: 2, Count: 100_000, Rounds: 1, Accounts: 4}
	stop, err := (&environment{err: io.Discard}).benchLocal(t.Context(), benchOptions{memory: true, table: defaultTable, noPump: true}, &config)
	if err != nil {
		t.Fatal(err)
	}
	died, dead := context.WithCancel(t.Context())
	gone := errors.New("DynamoDB Local ended")
	config.Local.Watch = func(ctx context.Context) error {
		select {
		case <-died.Done():
			return gone
		case <-ctx.Done():
			return nil
		}
	}
	serve, n := config.Local.Serve, new(atomic.Int64)
	config.Local.Serve = func(ledger http.Handler) (string, func() error, error) {
		return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 60 {
				dead()
			}
			if died.Err() != nil {
				_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after it has read the body
				<-r.Context().Done()               // the store does not answer
				return
			}
			ledger.ServeHTTP(w, r)
		}))
	}
	if report, err := bench.New(config).Run(t.Context()); !errors.Is(err, gone) || report != nil {
		t.Errorf("%v, %+v", err, report)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
