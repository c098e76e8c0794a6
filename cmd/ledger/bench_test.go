package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/cmd/ledger/bench"
)

func TestBenchWrongUse(t *testing.T) {
	for args, problem := range map[string]string{
		"bench nonsense":                          `"nonsense" is none of the workloads uniform, hot-receiver, hot-spender, market, read, import`,
		"bench read read":                         "workload read is given twice",
		"bench --clients 0":                       "--clients must be 1 to 512",
		"bench --accounts 1":                      "--accounts must be 2 to 10000",
		"bench --rounds 0":                        "--rounds must be 1 to 100",
		"bench --seconds 0":                       "--seconds must be 1 to 3600",
		"bench --count -1":                        "--count must be 1 to",
		"bench --count 5 --seconds 5":             "[count seconds] were all set",
		"bench --quick --count 5":                 "[count quick] were all set",
		"bench --quick --memory":                  "[memory quick] were all set",
		"bench --quick --no-pump":                 "[no-pump quick] were all set",
		"bench --memory --dynamodb-endpoint x":    "[dynamodb-endpoint memory] were all set",
		"bench --dynamodb-endpoint x":             "not an http or https URL",
		"bench --url http://127.0.0.1:1 --memory": "cannot be used with --memory",
		"bench --url http://127.0.0.1:1 --quick":  "cannot be used with --memory",
		"bench --url nonsense":                    "--url or LEDGER_URL",
		"bench --url=":                            "--url is given, and empty",
		"bench --i-mean http://127.0.0.1:1":       "neither is given",

		"bench --count 0":                          "--count must be 1 to",
		"bench --url http://127.0.0.1:1 --table t": "cannot be used with --memory, --dynamodb-endpoint, --table",
		"bench --memory --sign":                    "--sign signs the requests to a --url",

		"bench --url http://ledger.example":                                        "is not this machine: if that is meant, add --i-mean http://ledger.example",
		"bench --url http://ledger.example --i-mean http://ledger.example/":        "--i-mean is http://ledger.example/, and --url is http://ledger.example",
		"bench --url http://127.0.0.1:1 --i-mean http://127.0.0.1:2":               "--i-mean is http://127.0.0.1:2",
		"bench --url http://127.0.0.1.ledger.example":                              "is not this machine",
		"bench --url http://127.0.0.1@ledger.example":                              "is not this machine",
		"bench --url http://10.0.0.1":                                              "is not this machine",
		"bench --dynamodb-endpoint http://store.example":                           "is not this machine: if that is meant, add --i-mean http://store.example",
		"bench --dynamodb-endpoint http://store.example --i-mean http://a.example": "--i-mean is http://a.example, and --dynamodb-endpoint is http://store.example",
	} {
		code, out, problems := ledger(t, "http://ledger.example", strings.Fields(args)...)
		if code != exitWrongUse || out != "" || !strings.Contains(problems, problem) {
			t.Errorf("ledger %s: exit %d, want %q:\n%s%s", args, code, problem, out, problems)
		}
	}
}

func TestBenchMayGoWhereItIsMeantTo(t *testing.T) {
	for _, o := range []struct{ address, mean string }{
		{"http://127.0.0.1:8080", ""}, {"http://localhost:8080", ""}, {"http://[::1]:8080", ""},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080"}, {"https://ledger.example", "https://ledger.example"},
	} {
		if err := (&benchOptions{mean: o.mean}).checkMeant("--url", o.address); err != nil {
			t.Error(err)
		}
	}
}

// benched serves a ledger in memory, which nothing projects, behind what may change its requests and answers.
func benched(t *testing.T, between func(ledger http.Handler) http.Handler) (url string) {
	t.Helper()
	s := newMemory()
	if _, err := s.createTable(t.Context(), defaultTable); err != nil {
		t.Fatal(err)
	}
	service, err := s.open(defaultTable, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(between(service.API()))
	t.Cleanup(server.Close)
	return server.URL
}

func honest(ledger http.Handler) http.Handler { return ledger }

// runBench runs it on a ledger elsewhere, small, and returns what it printed as JSON.
func runBench(t *testing.T, url string, more ...string) (code int, r bench.Report, problems string) {
	t.Helper()
	args := append([]string{"bench", "--url", url, "--no-pump", "--json", "--rounds", "1", "--accounts", "4", "--clients", "4"}, more...)
	code, out, problems := ledger(t, "http://ledger.example", args...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, problems)
	}
	return code, r, problems
}

// What another ledger's books hold is no matter, and the environment's address neither: the flag alone says where.
func TestBenchElsewhere(t *testing.T) {
	url := benched(t, honest)
	for range 2 {
		code, r, problems := runBench(t, url, "--count", "40")
		if code != exitDone || len(r.Workloads) != len(bench.Workloads()) || len(r.Failed) != 0 || r.Checked.Balances != 2*(4+3+4) || r.Ledger != url {
			t.Fatalf("exit %d, %s\n%+v", code, problems, r)
		}
		for i, w := range r.Workloads {
			if w.Workload != bench.Workloads()[i] || w.Succeeded != 40 || len(w.Errors) != 0 || w.Refusals+w.Replays != 0 ||
				w.Latency.P50 == 0 || w.Latency.P50 > w.Latency.P90 || w.Latency.P99 > w.Latency.Max || w.Store != nil || w.Lag != nil {
				t.Errorf("%+v", w)
			}
			if postings := map[string]int64{bench.Read: 0, bench.Market: 160}; w.Postings != postings[w.Workload] && w.Postings != 80 {
				t.Errorf("%s has %d postings", w.Workload, w.Postings)
			}
		}
		if r.HotToUniform == nil || r.HotToUniform.Rate == 0 {
			t.Errorf("%+v", r.HotToUniform)
		}
	}
}

// rewrite changes the nth request that posts a transfer or trade; as many as are counted warm up, first.
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

// A run with a wrong balance is a failed run, whatever is wrong with the ledger: here it puts one leg into another account.
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
		return f.Check == "balance" && (strings.HasSuffix(f.Account, "-receiver") || strings.HasSuffix(f.Account, "-maker1"))
	}
	if code != exitFailed || len(r.Failed) != 2 || !of(r.Failed[0]) || !of(r.Failed[1]) || r.Failed[0].Expected == r.Failed[0].Found ||
		!strings.Contains(problems, "2 checks failed") || !strings.Contains(problems, r.Failed[0].Account) {
		t.Errorf("exit %d, %s\n%+v", code, problems, r.Failed)
	}
}

// A transaction that was acknowledged and isn't there, and a sum that isn't zero.
func TestBenchFindsALostLeg(t *testing.T) {
	var answers atomic.Int64
	url := benched(t, func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.RawQuery, "strong") || !strings.Contains(r.URL.Path, "-receiver/") {
				ledger.ServeHTTP(w, r)
				return
			}
			answers.Add(1)
			recorded := httptest.NewRecorder()
			ledger.ServeHTTP(recorded, r)
			var balance map[string]any
			_ = json.Unmarshal(recorded.Body.Bytes(), &balance)
			balance["quantity"] = "1" + balance["quantity"].(string)
			text, _ := json.Marshal(balance)
			w.Write(text)
		})
	})
	code, r, _ := runBench(t, url, "--count", "20", bench.HotReceiver)
	var checks []string
	for _, f := range r.Failed {
		checks = append(checks, f.Check)
	}
	slices.Sort(checks)
	if code != exitFailed || !slices.Equal(checks, []string{"balance", "balance", "sum", "sum"}) || answers.Load() == 0 {
		t.Errorf("exit %d, %+v", code, r.Failed)
	}
}

// Every debit of hot-spender has cover: one that is refused is a fault, although all balances are right.
func TestBenchFindsAWrongRefusal(t *testing.T) {
	var n atomic.Int64
	url := benched(t, func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/transfers" && n.Add(1) == 40 {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				io.WriteString(w, `{"code":"insufficient_funds"}`)
				return
			}
			ledger.ServeHTTP(w, r)
		})
	})
	code, r, _ := runBench(t, url, "--count", "60", bench.HotSpender)
	if code != exitFailed || len(r.Failed) != 1 || r.Failed[0].Check != "refused" || r.Failed[0].Workload != bench.HotSpender || r.Workloads[0].Refusals != 1 {
		t.Errorf("exit %d, %+v", code, r.Failed)
	}
}

// What is refused with a code wrote nothing, and is counted by it; what is not answered is asked again, and booked once.
func TestBenchCountsErrorsAndRepetitions(t *testing.T) {
	var n atomic.Int64
	url := benched(t, func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/transfers" && r.URL.Path != "/v1/trades" {
				ledger.ServeHTTP(w, r)
				return
			}
			switch n.Add(1) {
			case 25:
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
				io.WriteString(w, `{"code":"transaction_id_reused"}`)
			case 30: // applied, and the answer is lost
				ledger.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			default:
				ledger.ServeHTTP(w, r)
			}
		})
	})
	code, r, problems := runBench(t, url, "--count", "20", bench.Uniform)
	w := r.Workloads[0]
	if code != exitFailed || len(r.Failed) != 1 || r.Failed[0].Check != "errors" || !strings.Contains(r.Failed[0].Found, "1, among transaction_id_reused") ||
		w.Succeeded != 19 || w.Errors["transaction_id_reused"] != 1 || *w.Repeated != 1 || w.Replays != 1 {
		t.Errorf("exit %d, %s\n%+v", code, problems, w)
	}
}

// Ctrl-C ends the load: what was posted until then is checked.
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
	began := time.Now()
	code := run(ctx, []string{"bench", "--url", url, "--no-pump", "--json", "--count", "100000", "--accounts", "4"},
		func(string) string { return "" }, strings.NewReader(""), &out, &problems)
	var r bench.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s%s", err, &out, &problems)
	}
	if code != exitFailed || !r.CutShort || len(r.Failed) != 0 || len(r.Workloads) != 1 || r.Workloads[0].Succeeded < 100 || r.Checked.Balances == 0 || time.Since(began) > time.Minute ||
		!strings.Contains(problems.String(), "interrupted") {
		t.Errorf("exit %d, %s\n%+v", code, &problems, r)
	}
}

// refuses answers requests to some paths by a problem, from the nth on.
func refuses(nth int64, status int, code string, paths ...string) func(http.Handler) http.Handler {
	var n atomic.Int64
	return func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !slices.ContainsFunc(paths, func(end string) bool { return strings.HasSuffix(r.URL.Path, end) }) || n.Add(1) < nth {
				ledger.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			io.WriteString(w, `{"code":"`+code+`"}`)
		})
	}
}

// A ledger that answers errors only is no success, and neither is one that refuses what has cover while it is warmed up, or
// answers reads with something else.
func TestBenchFindsWhatIsNoAnswer(t *testing.T) {
	type found map[string]bool // "check workload"
	for name, c := range map[string]struct {
		between  func(http.Handler) http.Handler
		workload string
		want     found
	}{
		"errors":  {refuses(30, 409, "transaction_id_reused", "/transfers", "/trades"), bench.Market, found{"errors market": true, "answered market": true}},
		"import":  {refuses(30, 409, "transaction_id_reused", "/transfers", "/trades"), bench.Import, found{"errors import": true, "answered import": true}},
		"warm-up": {refuses(20, 422, "insufficient_funds", "/transfers"), bench.Read, found{"refused warm-up": true}},
		"empty": {func(ledger http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/accounts/") || r.URL.RawQuery == "consistency=strong" {
					ledger.ServeHTTP(w, r)
				}
			})
		}, bench.Read, found{"errors read": true}},
	} {
		count := "29" // so many warm up
		if name == "warm-up" {
			count = "50"
		}
		code, r, problems := runBench(t, benched(t, c.between), "--count", count, c.workload)
		got := found{}
		for _, f := range r.Failed {
			got[f.Check+" "+f.Workload] = true
		}
		if code != exitFailed || !maps.Equal(got, c.want) {
			t.Errorf("%s: exit %d, %v\n%s", name, code, got, problems)
		}
	}
}

// An interrupt before the first slice leaves a report of none.
func TestBenchInterruptedEarly(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	url := benched(t, func(ledger http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/transfers" {
				interrupt()
			}
			ledger.ServeHTTP(w, r)
		})
	})
	var out, problems bytes.Buffer
	code := run(ctx, []string{"bench", "--url", url, "--no-pump", "--json", "--count", "50", "--accounts", "2"},
		func(string) string { return "" }, strings.NewReader(""), &out, &problems)
	if code != exitFailed || !strings.Contains(out.String(), `"workloads":[]`) || !strings.Contains(problems.String(), "interrupted") {
		t.Errorf("exit %d, %s%s", code, &out, &problems)
	}
}

func TestBenchNobodyListens(t *testing.T) {
	code, out, problems := ledger(t, "", "bench", "--url", "http://"+freeAddress(t))
	if code != exitFailed || out != "" || !strings.Contains(problems, "ledger up") {
		t.Errorf("exit %d, %q, %q", code, out, problems)
	}
}

// In this process it also says what was asked of the store, and compares itself with its ceilings.
func TestBenchQuick(t *testing.T) {
	code, out, problems := ledger(t, "http://ledger.example", "bench", "--quick", "--json", bench.HotReceiver)
	var r bench.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone || len(r.Workloads) != 1 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, problems)
	}
	w := r.Workloads[0]
	switch s := w.Store; {
	case w.Succeeded != quickCount || w.Postings != 2*quickCount || !r.Checked.Projected:
		t.Errorf("%+v", w)
	case s.Command.Requests["TransactWriteItems"] != quickCount+s.Attempts || s.Command.ItemsWritten != 4*quickCount || s.Command.WriteUnits < 10*quickCount:
		t.Errorf("command: %+v", s.Command)
	case s.Projection.ItemsWritten == 0 || s.WritesPerPosting == 0 || s.DollarsPerMillion == "0.00":
		t.Errorf("projection: %+v", s)
	case w.Ceilings.Store == nil || w.Ceilings.Store.Ratio <= 0 || w.Ceilings.HTTP == nil || w.Ceilings.HTTP.Ratio <= 0 || w.Process.Allocations == 0:
		t.Errorf("%+v %+v", w.Ceilings, w.Process)
	case w.Lag == nil || w.Lag.Samples == 0 || *r.WindowMS <= 0:
		t.Errorf("lag: %+v, window %v", w.Lag, r.WindowMS)
	}
}

// The end of the store ends the run, by the store's own error.
func TestBenchWithoutItsStore(t *testing.T) {
	made, err := (&cli{err: io.Discard}).benchLocal(t.Context(), benchOptions{memory: true, table: defaultTable, noPump: true})
	if err != nil {
		t.Fatal(err)
	}
	died, dead := context.WithCancel(t.Context())
	gone := errors.New("DynamoDB Local ended")
	made.Watch = func(ctx context.Context) error {
		select {
		case <-died.Done():
			return gone
		case <-ctx.Done():
			return nil
		}
	}
	serve, n := made.Serve, new(atomic.Int64)
	made.Serve = func(ledger http.Handler) (string, func() error, error) {
		return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 60 {
				dead()
			}
			if died.Err() != nil {
				_, _ = io.Copy(io.Discard, r.Body) // until then nobody looks whether the caller is gone
				<-r.Context().Done()               // what it asks of its store is not answered
				return
			}
			ledger.ServeHTTP(w, r)
		}))
	}
	run := bench.New(bench.Config{Local: &made.Local, Workloads: []string{bench.Uniform}, Clients: 2, Count: 100_000, Rounds: 1, Accounts: 4})
	if report, err := run.Run(t.Context()); !errors.Is(err, gone) || report != nil {
		t.Errorf("%v, %+v", err, report)
	}
	if err := made.stop(); err != nil {
		t.Error(err)
	}
}
