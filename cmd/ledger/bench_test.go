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

	"ledger.example/cmd/ledger-bench/bench"
	"ledger.example/tests/harness/system"
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

// unchanged serves a ledger in memory, without a projector.
func unchanged(t *testing.T) (url string) {
	return benched(t, func(_ int64, ledger http.Handler, w http.ResponseWriter, r *http.Request) { ledger.ServeHTTP(w, r) })
}

// benched is unchanged behind a handler, which may change requests and answers. n is the number of a request that posts a
// transfer or a trade, and 0 for others. The warm-up has as many requests as --count, and 500 at most.
func benched(t *testing.T, serve func(n int64, ledger http.Handler, w http.ResponseWriter, r *http.Request)) (url string) {
	t.Helper()
	var posts atomic.Int64
	ledger := system.New(t).Service.API()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int64(0)
		if r.URL.Path == "/v1/transfers" || r.URL.Path == "/v1/trades" {
			n = posts.Add(1)
		}
		serve(n, ledger, w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// runBench runs a small bench against --url, and returns its JSON report.
func runBench(ctx context.Context, t *testing.T, url string, more ...string) (code int, r bench.Report, problems string) {
	t.Helper()
	args := append([]string{"bench", "--url", url, "--no-pump", "--json", "--rounds", "1", "--accounts", "4"}, more...)
	code, out, problems := ledgerIn(ctx, map[string]string{urlVariable: "http://ledger.example"}, nil, args...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, problems)
	}
	return code, r, problems
}

// bench runs twice on a ledger that already has data. It uses --url, and ignores LEDGER_URL.
func TestBenchOfAURL(t *testing.T) {
	url := unchanged(t)
	// A user may not open accounts.
	if code, out, problems := ledger(t, "", "bench", "--url", url, "--user", "u-1"); code != exitFailed || !strings.Contains(problems, "forbidden") {
		t.Errorf("as a user: exit %d, %s%s", code, out, problems)
	}
	for range 2 {
		code, r, problems := runBench(t.Context(), t, url, "--count", "20", "--clients", "4")
		if code != exitDone || len(r.Workloads) != len(bench.Workloads()) || len(r.Failed) != 0 || r.Balances != 2*(4+3+4) || r.Ledger != url {
			t.Fatalf("exit %d, %s\n%+v", code, problems, r)
		}
		for i, w := range r.Workloads {
			f := w.Figures
			if w.Workload != bench.Workloads()[i] || f["succeeded"] != 20 ||
				f["p50_ms"] == 0 || f["p50_ms"] > f["p99_ms"] || f["p99_ms"] > f["max_ms"] || f["uniform_ratio"] == 0 ||
				slices.ContainsFunc(slices.Collect(maps.Keys(f)), func(name string) bool { return strings.Contains(name, "store") }) {
				t.Errorf("%+v", w)
			}
		}
	}
}

// A run with a wrong balance fails. Here, one leg is posted to another account.
func TestBenchFindsAWrongBalance(t *testing.T) {
	url := benched(t, func(n int64, ledger http.Handler, w http.ResponseWriter, r *http.Request) {
		if n == 45 {
			body, _ := io.ReadAll(r.Body)
			changed := bytes.Replace(body, []byte(`-receiver"`), []byte(`-maker1"`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
		}
		ledger.ServeHTTP(w, r)
	})
	code, r, problems := runBench(t.Context(), t, url, "--count", "30", bench.HotReceiver)
	of := func(f bench.Failed) bool {
		return f.Check == "balance" && (strings.Contains(f.Of, "-receiver ") || strings.Contains(f.Of, "-maker1 "))
	}
	if code != exitFailed || len(r.Failed) != 2 || !of(r.Failed[0]) || !of(r.Failed[1]) || r.Failed[0].Expected == r.Failed[0].Found ||
		!strings.Contains(problems, "2 checks failed") || !strings.Contains(problems, r.Failed[0].Of) {
		t.Errorf("exit %d, %s\n%+v", code, problems, r.Failed)
	}
}

// A request without an answer is sent again, and added to the book once. The first refusal ends the load, and the run
// fails: also during the warm-up. Ctrl-C ends the load, too. The transactions until then are checked.
func TestBenchThatEnds(t *testing.T) {
	const never = -1
	for name, c := range map[string]struct {
		refused, interrupted int64 // numbers of requests, or never; the warm-up has 20, and one that is sent again
		done                 float64
		isCut                bool
		says                 string
	}{
		"at its end":  {never, never, 20, false, ""},
		"in warm-up":  {11, never, 0, true, "1 checks failed"},
		"in its load": {31, never, 9, true, "1 checks failed"},
		"with Ctrl-C": {never, 31, 10, true, "interrupted"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		url := benched(t, func(n int64, ledger http.Handler, w http.ResponseWriter, r *http.Request) {
			switch n {
			case 5: // applied, and the answer is lost
				ledger.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			case c.refused:
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				io.WriteString(w, `{"code":"insufficient_funds"}`)
				return
			case c.interrupted:
				interrupt()
			}
			ledger.ServeHTTP(w, r)
		})
		code, r, problems := runBench(ctx, t, url, "--count", "20", "--clients", "1", bench.Uniform)
		interrupt()
		done := 0.0
		if len(r.Workloads) > 0 {
			done = r.Workloads[0].Figures["succeeded"]
		}
		isRefused := c.refused != never
		want := exitDone
		if c.interrupted != never {
			want = exitInterrupted
		} else if c.isCut {
			want = exitFailed
		}
		if code != want || r.CutShort != c.isCut || r.Balances == 0 || done != c.done || !strings.Contains(problems, c.says) ||
			(len(r.Failed) == 1) != isRefused ||
			isRefused && (r.Failed[0].Check != "requests" || !strings.Contains(r.Failed[0].Found, "insufficient_funds")) {
			t.Errorf("%s: exit %d, %v done, %s\n%+v", name, code, done, problems, r)
		}
	}
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
