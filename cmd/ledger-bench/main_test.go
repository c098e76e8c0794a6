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
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"ledger.example/cmd/ledger-bench/bench"
	"ledger.example/tests/harness/system"
)

// benchmark runs one command line in an environment.
func benchmark(ctx context.Context, variables map[string]string, args ...string) (code int, out, problems string) {
	var o, e bytes.Buffer
	code = run(ctx, args, func(name string) string { return variables[name] }, &o, &e)
	return code, o.String(), e.String()
}

// A wrong command line is refused with the flag and the rule, and sends nothing.
func TestUsage(t *testing.T) {
	for args, says := range map[string]string{
		`--accounts 1`:          `"--accounts" flag: must be a whole number from 2 to 10000`,
		`--clients many`:        `"--clients" flag: must be a whole number from 1 to 512`,
		`--clients 0`:           `"--clients" flag: must be a whole number from 1 to 512`,
		`--count -1`:            `"--count" flag: must be a whole number from 1 to`,
		`--count 0`:             `"--count" flag: must be a whole number from 1 to`,
		`--count 5 --seconds 5`: `[count seconds] were all set`,
		`--dynamodb-endpoint http://store.example --i-mean http://a.example`: `--i-mean is http://a.example, but --dynamodb-endpoint is http://store.example`,
		`--dynamodb-endpoint http://store.example`:                           `is not on this machine: to confirm, add --i-mean http://store.example`,
		`--dynamodb-endpoint x`:                                              `not an http or https URL`,
		`--i-mean http://127.0.0.1:1`:                                        `--i-mean needs --url or --dynamodb-endpoint`,
		`--memory --dynamodb-endpoint http://x`:                              `[dynamodb-endpoint memory] were all set`,
		`--memory --sign`:                                                    `--sign needs --url`,
		`--quick --count 5`:                                                  `[count quick] were all set`,
		`--quick --memory`:                                                   `[memory quick] were all set`,
		`--quick --no-pump`:                                                  `[no-pump quick] were all set`,
		`--rounds 0`:                                                         `"--rounds" flag: must be a whole number from 1 to 100`,
		`--seconds 0`:                                                        `"--seconds" flag: must be a whole number from 1 to 3600`,
		`--url http://10.0.0.1`:                                              `is not on this machine`,
		`--url http://127.0.0.1.ledger.example`:                              `is not on this machine`,
		`--url http://127.0.0.1:1 --i-mean http://127.0.0.1:2`:               `--i-mean is http://127.0.0.1:2`,
		`--url http://127.0.0.1:1 --memory`:                                  `cannot be used with --memory`,
		`--url http://127.0.0.1:1 --quick`:                                   `cannot be used with --memory`,
		`--url http://127.0.0.1:1 --table t`:                                 `cannot be used with --memory, --dynamodb-endpoint, --table`,
		`--url http://127.0.0.1@ledger.example`:                              `the URL has a user name`,
		`--url http://ledger.example --i-mean http://ledger.example/`:        `--i-mean is http://ledger.example/, but --url is http://ledger.example`,
		`--url http://ledger.example`:                                        `is not on this machine: to confirm, add --i-mean http://ledger.example`,
		`--url nonsense`:                                                     `is not an http or https URL`,
		`--url=`:                                                             `--url must not be empty`,
		`market market`:                                                      `workload market is given twice`,
		`nonsense`:                                                           `"nonsense" is not a workload; there are uniform, hot-receiver, hot-spender, market, read`,
		"--token s3cret":                                                     "--token needs --url",
		"--user u-1":                                                         "--user needs --url",
		"--table= uniform":                                                   "--table must not be empty",
		"--sign --token x --url http://127.0.0.1:1":                          "[sign token] were all set",
	} {
		code, out, problems := benchmark(t.Context(), nil, strings.Fields(args)...)
		if code != exitUsage || out != "" || !strings.Contains(problems, says) || strings.Contains(problems, "s3cret") {
			t.Errorf("%s: exit %d: %s%s", args, code, out, problems)
		}
	}
}

// The help fits a terminal.
func TestHelp(t *testing.T) {
	code, out, _ := benchmark(t.Context(), nil, "--help")
	if code != exitDone || !strings.Contains(out, "--i-mean") {
		t.Errorf("exit %d: %s", code, out)
	}
	for line := range strings.Lines(out) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 || strings.HasSuffix(line, " ") {
			t.Errorf("more than 80 columns, or a space at the end: %q", line)
		}
	}
}

// Where no ledger answers, the error says how to start one. An interruption before the load is no error of the ledger.
func TestNoLedger(t *testing.T) {
	code, _, problems := benchmark(t.Context(), nil, "--url", "http://127.0.0.1:1", bench.Uniform)
	if code != exitFailed || !strings.Contains(problems, "Start a ledger with `ledger up`") {
		t.Errorf("exit %d: %s", code, problems)
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		interrupt(errors.New("a signal"))
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	if code, _, problems := benchmark(ctx, nil, "--url", silent.URL); code != exitInterrupted || problems != "interrupted\n" {
		t.Errorf("exit %d: %s", code, problems)
	}
}

// A ledger that refuses the caller ends the run before its load. Secrets are not printed.
func TestRefusedCaller(t *testing.T) {
	denying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(denying.Close)
	for _, c := range []struct {
		sign, token string
		code        int
		says        string
	}{
		{"", "s3cret", exitFailed, ""},
		{"perhaps", "", exitUsage, "LEDGER_SIGN must be true or false"},
		{"true", "s3cret", exitUsage, "LEDGER_SIGN and LEDGER_TOKEN cannot both be set"},
	} {
		code, out, problems := benchmark(t.Context(), map[string]string{signVariable: c.sign, tokenVariable: c.token},
			"--count", "1", "--url", denying.URL, bench.Uniform)
		if code != c.code || !strings.Contains(problems, c.says) || strings.Contains(out+problems, "s3cret") {
			t.Errorf("%+v: exit %d: %s", c, code, problems)
		}
	}
}

func TestBenchAcceptsConfirmedAddresses(t *testing.T) {
	for _, o := range []struct{ address, confirmed string }{
		{"http://127.0.0.1:8080", ""}, {"http://localhost:8080", ""}, {"http://[::1]:8080", ""},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080"}, {"https://ledger.example", "https://ledger.example"},
	} {
		if err := (&program{options: options{confirmed: o.confirmed}}).checkConfirmed("--url", o.address); err != nil {
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

// runBench puts a small load on --url, and returns its JSON report.
func runBench(ctx context.Context, t *testing.T, url string, more ...string) (code int, r bench.Report, problems string) {
	t.Helper()
	args := append([]string{"--url", url, "--no-pump", "--json", "--rounds", "1", "--accounts", "4"}, more...)
	code, out, problems := benchmark(ctx, map[string]string{"LEDGER_URL": "http://ledger.example"}, args...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, problems)
	}
	return code, r, problems
}

// It runs twice on a ledger that already has data. It uses --url, and ignores LEDGER_URL.
func TestBenchOfAURL(t *testing.T) {
	url := unchanged(t)
	// A user may not open accounts.
	if code, out, problems := benchmark(t.Context(), nil, "--url", url, "--user", "u-1"); code != exitFailed || !strings.Contains(problems, "forbidden") {
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
	code, out, problems := benchmark(t.Context(), nil, "--quick", "--json", bench.HotReceiver, bench.Read)
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
	p := &program{out: &out, err: io.Discard}
	r := &bench.Report{Ledger: "at home", Workloads: []bench.Workload{
		{Workload: bench.Uniform, Figures: map[string]float64{"succeeded": 40, "p99_ms": 2.25, "store_ratio": 0.777}},
		{Workload: bench.Read, Figures: map[string]float64{"succeeded": 7, "p99_ms": 12}},
	}}
	if err := p.printTable(r); err != nil {
		t.Fatal(err)
	}
	const table = `
         uniform  read
DONE          40     7
P99 ms       2.2  12.0
÷ STORE     0.78     -

`
	if !strings.Contains(out.String(), table) {
		t.Errorf("%s", &out)
	}
	if strings.Contains(out.String(), "LAG") {
		t.Errorf("unknown figures:\n%s", &out)
	}
}

// If the store stops, the run ends with the error of the store.
func TestBenchWhoseStoreStops(t *testing.T) {
	config := bench.Config{Workloads: []string{bench.Uniform}, Clients: 2, Count: 100_000, Rounds: 1, Accounts: 4}
	stop, err := (&program{err: io.Discard, options: options{memory: true, table: "ledger", noPump: true}}).local(t.Context(), &config)
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
