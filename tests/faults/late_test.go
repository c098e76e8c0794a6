package faults

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/table"
	"ledger.example/tests/caller"
	"ledger.example/tests/fault"
	"ledger.example/tests/system"
)

// A request that was given up may still arrive, also after the answer. What else may come before it, package simulation
// tries out.
func TestRequestsThatArriveLate(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	t.Run("after nobody knew", func(t *testing.T) {
		t.Parallel()
		p, late := b.payment(t, "unknown"), fault.NewDelayed()
		p.faults.Next(opPost, late.Fault)
		p.faults.All(opPost, fault.Unreachable)
		if got := p.post(p.id()); got.Status != 504 {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		p.faults.Clear()
		p.Must(404, "GET", "/v1/transactions/"+p.id(), "")
		if !late.Land(t) {
			t.Fatal("it was not done")
		}
		p.Must(200, "GET", "/v1/transactions/"+p.id(), "")
		if again := p.post(p.id()); again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("again: %d %s", again.Status, again.Body)
		}
		if held := p.held(); held != 1 {
			t.Errorf("the table holds it %d times", held)
		}
	})
	t.Run("after a refusal", func(t *testing.T) {
		t.Parallel()
		p, late := b.payment(t, "refused"), fault.NewDelayed()
		// While the first attempt is on its way, all but 5 are spent: the second is refused, for ever.
		p.faults.Next(opPost, late.Fault, func(ctx context.Context, send fault.Sender) fault.Exchange {
			p.Store.Serve(t, p.Table).Must(201, "POST", "/v1/transfers", fmt.Sprintf(
				`{"id":"drain","from":%q,"to":"source","asset":"USD","quantity":"95"}`, p.payer()))
			return send(ctx)
		})
		got := p.post(p.id())
		if got.Status != 422 || got.Code() != "insufficient_funds" || got.Value("available") != "5" {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		if late.Land(t) {
			t.Error("what was refused was done")
		}
		p.Must(404, "GET", "/v1/transactions/"+p.id(), "")
	})
}

// A caller who hangs up doesn't leave behind what could have been found out, and nothing more is sent for it: it may
// send the same again meanwhile, and be refused.
func TestCallersWhoHangUp(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	for name, c := range map[string]struct {
		fault fault.Fault
		held  int
		log   string // of what came of it
	}{
		"throttled": {fault.Refuses(400, "ThrottlingException"), 0, `"code":"unavailable"`},
		"not-done":  {fault.Lost, 0, `"code":"outcome_unknown"`},
		"done":      {fault.Applied(fault.Lost), 1, `"status":201`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.payment(t, name)
			serving := make(chan context.Context, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "POST" {
					serving <- r.Context()
				}
				p.Service.API().ServeHTTP(w, r)
			}))
			defer server.Close()
			p.URL = server.URL
			ctx, hangUp := context.WithCancel(t.Context())
			p.faults.Next(opPost, func(ctx context.Context, send fault.Sender) fault.Exchange {
				answer := c.fault(ctx, send)
				hangUp()
				select {
				case <-(<-serving).Done(): // the server has noticed
				case <-ctx.Done():
					t.Error("the server did not notice that its caller hung up")
				}
				return answer
			})
			p.Requests.Take()
			request, err := http.NewRequestWithContext(ctx, "POST", p.URL+"/v1/transfers",
				strings.NewReader(fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"10"}`, p.id(),
					p.payer(), p.payee())))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("X-Request-Id", "gone-"+name)
			if got, err := p.Do(request); err == nil {
				t.Fatalf("the caller was answered: %d %s", got.Status, got.Body)
			}
			line := ""
			caller.Eventually(t, 15*time.Second, "the request is logged", func() bool {
				for l := range strings.Lines(p.Log.String()) {
					if strings.Contains(l, `"request_id":"gone-`+name) {
						line = l
					}
				}
				return line != ""
			})
			if !strings.Contains(line, c.log) {
				t.Errorf("no %s in the log: %s", c.log, line)
			}
			posts := 0
			for _, r := range p.Requests.Take() {
				if r.Operation == opPost {
					posts++
				}
			}
			if posts != 1 {
				t.Errorf("%d attempts", posts)
			}
			if held := p.held(); held != c.held {
				t.Errorf("the table holds it %d times, not %d", held, c.held)
			}
			p.Must(map[int]int{0: 404, 1: 200}[c.held], "GET", "/v1/transactions/"+p.id(), "")
		})
	}
}

// A process whose clock is off the store's mints nothing: its postings would land in the wrong place of their accounts'
// histories.
func TestClockOffTheStores(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	for i, off := range []time.Duration{time.Hour, -time.Hour, 8 * time.Second, -8 * time.Second, 2 * time.Second,
		-2 * time.Second} {
		t.Run(off.String(), func(t *testing.T) {
			p := b.payment(t, fmt.Sprint("clock-", i))
			refused := off.Abs() > 5*time.Second
			// a warm process, and a cold one
			for _, process := range []*system.System{p.System, b.Store.Serve(t, b.Table, system.WithFaults(p.faults))} {
				p.System = process
				p.faults.All(fault.AnyOperation, fault.ClockOff(off))
				// Replies carry the clock: a process that has cached all it needs gets none until it sends something.
				p.Send("GET", "/v1/transactions/none", "")
				got := p.post(p.id())
				if !refused {
					if got.Status != 201 && got.Status != 200 {
						t.Errorf("%d %s", got.Status, got.Body)
					}
					continue
				}
				caller.CheckProblem(t, got, p.Table)
				if held := p.held(); got.Status != 503 || got.Code() != "unavailable" || held != 0 {
					t.Errorf("%d %s, held %d times", got.Status, got.Body, held)
				}
				if log := p.Log.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "clock") {
					t.Errorf("the log doesn't say why: %s", log)
				}
			}
			p.faults.Clear()
			if got := p.post(p.id()); (got.Status == 201) != refused || p.held() != 1 {
				t.Errorf("with the clock set right: %d %s", got.Status, got.Body)
			}
		})
	}
}

// A command that answers late, by the store's clock, first makes its postings visible: the balances are there, empty,
// so that no refold can pass the postings by. Then they are projected as ever.
func TestLateAnswersMakePostingsVisible(t *testing.T) {
	t.Parallel()
	p := openBank(t).payment(t, "slow")
	const late = 5 * time.Second // more than half the settle window, and as much as the clocks may differ
	p.faults.All(fault.AnyOperation, fault.ClockOff(late))
	balances := func() (n int) {
		for _, account := range []string{p.payer(), p.payee()} {
			if _, there := p.Partition(table.AccountKey(account).PK)[table.BalanceKey(account, "USD")]; there {
				n++
			}
		}
		return n
	}
	before := balances()
	if got := p.post(p.id()); got.Status != 201 || before != 0 || balances() != 2 {
		t.Fatalf("%d %s; %d balances before, %d after", got.Status, got.Body, before, balances())
	}
	// An empty balance shows nothing yet.
	if got := p.Must(200, "GET", "/v1/accounts/"+p.payee()+"/balances/USD", ""); got.Value("quantity") != "0" ||
		got.Value("as_of") != nil {
		t.Errorf("not projected: %s", got.Body)
	}
	if got := p.post(p.id()); got.Status != 200 || p.held() != 1 {
		t.Errorf("again: %d %s", got.Status, got.Body)
	}
	// Where that fails, nobody says that it was done.
	p.faults.All(opPut, fault.Refuses(400, "ProvisionedThroughputExceededException"))
	if got := p.post(p.id()); got.Status != 504 || got.Value("transaction_id") != p.id() {
		t.Errorf("not made visible: %d %s", got.Status, got.Body)
	}
	p.faults.Clear()

	p.StartPump()
	p.Project()
	for account, want := range map[string]string{p.payer(): "90", p.payee(): "10"} {
		page := p.Must(200, "GET", "/v1/accounts/"+account+"/summary", "")
		if page.Value("balances", "data", 0, "quantity") != want || page.Value("summary", "assets") != 1.0 ||
			page.Value("summary", "holdings") != 1.0 {
			t.Errorf("%s: %s", account, page.Body)
		}
	}
}
