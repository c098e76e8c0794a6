package faults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/store"
	"ledger.example/tests/caller"
	"ledger.example/tests/fault"
	"ledger.example/tests/system"
)

// A request whose connection broke can still be applied after the caller got its answer. No answer may be wrong then.
// Package simulation tests more interleavings.
func TestRequestsThatArriveLate(t *testing.T) {
	t.Run("after an unknown outcome", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			p, late := newPayment(t), fault.NewDelayed()
			p.faults.Next(opPost, late.Fault)
			p.faults.All(opPost, fault.Unreachable)
			if got := p.post(id); got.Status != 504 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			p.faults.Clear()
			p.Must(404, "GET", "/v1/transactions/"+id, "")
			if !late.Land(t) {
				t.Fatal("the late request was not applied")
			}
			p.Must(200, "GET", "/v1/transactions/"+id, "")
			if again := p.post(id); again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("the retry got %d %s", again.Status, again.Body)
			}
			if stored := p.stored(); stored != 1 {
				t.Errorf("the payment is stored %d times", stored)
			}
		})
	})
	t.Run("after a refusal", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			p, late := newPayment(t), fault.NewDelayed()
			// While the first attempt is in flight, another process spends all but 5. The second attempt is refused.
			p.faults.Next(opPost, late.Fault, func(ctx context.Context, send fault.Sender) fault.Exchange {
				p.NewProcess(system.Direct).Must(201, "POST", "/v1/transfers",
					`{"id":"drain","from":"payer","to":"source","asset":"USD","quantity":"95"}`)
				return send(ctx)
			})
			got := p.post(id)
			if got.Status != 422 || got.Code() != "insufficient_funds" || got.Value("available") != "5" {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if late.Land(t) {
				t.Error("the payment was applied after it was refused")
			}
			p.Must(404, "GET", "/v1/transactions/"+id, "")
		})
	})
}

// When a caller hangs up, the ledger sends no further attempt, because the caller may already retry and be refused. But
// it still finds out the outcome, and logs it.
func TestCallersWhoHangUp(t *testing.T) {
	for name, c := range map[string]struct {
		fault  fault.Fault
		stored int
		log    string // must be in the log
	}{
		"throttled":   {fault.Refuses(400, "ThrottlingException"), 0, `"code":"unavailable"`},
		"not-applied": {fault.Lost, 0, `"code":"outcome_unknown"`},
		"applied":     {fault.Applied(fault.Lost), 1, `"status":201`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := newPayment(t)
				ctx, hangUp := context.WithCancel(t.Context())
				p.faults.Next(opPost, func(ctx context.Context, send fault.Sender) fault.Exchange {
					answer := c.fault(ctx, send)
					hangUp()
					return answer
				})
				p.Requests.Take()
				request, err := http.NewRequestWithContext(ctx, "POST", p.URL+"/v1/transfers",
					strings.NewReader(body(id)))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("X-Request-Id", "gone")
				if got, err := p.Do(request); err == nil {
					t.Fatalf("the caller was answered: %d %s", got.Status, got.Body)
				}
				time.Sleep(time.Minute) // until the command has ended
				isLogged := func(line string) bool {
					return strings.Contains(line, `"request_id":"gone"`) && strings.Contains(line, c.log)
				}
				if log := p.Log.String(); !slices.ContainsFunc(strings.Split(log, "\n"), isLogged) {
					t.Errorf("no %s in the log: %s", c.log, log)
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
				if stored := p.stored(); stored != c.stored {
					t.Errorf("the payment is stored %d times, not %d", stored, c.stored)
				}
				p.Must(map[int]int{0: 404, 1: 200}[c.stored], "GET", "/v1/transactions/"+id, "")
			})
		})
	}
}

// A process whose clock differs too much from the store's must not mint KSUIDs. Its postings would be in the wrong
// place in the histories of their accounts.
func TestClockThatDiffersFromTheStores(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour, 8 * time.Second, -8 * time.Second, 2 * time.Second,
		-2 * time.Second} {
		inBubble(t, func(t *testing.T) {
			p := newPayment(t)
			refused := off.Abs() > 5*time.Second
			time.Sleep(time.Millisecond)                        // of two replies at the same instant, the first counts
			for _, process := range []payment{p, p.process()} { // with warm and with cold caches
				p.faults.All(fault.AnyOperation, fault.ClockOff(off))
				// A process reads the store's clock from replies. With warm caches, it needs a request to get one.
				process.Send("GET", "/v1/transactions/none", "")
				got := process.post(id)
				if !refused {
					if got.Status != 201 && got.Status != 200 {
						t.Errorf("off by %v: %d %s", off, got.Status, got.Body)
					}
					continue
				}
				caller.CheckProblem(t, got, p.Table)
				if stored := p.stored(); got.Status != 503 || got.Code() != "unavailable" || stored != 0 {
					t.Errorf("off by %v: %d %s, stored %d times", off, got.Status, got.Body, stored)
				}
				log := process.Log.String()
				if !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "clock") {
					t.Errorf("the log does not give the reason: %s", log)
				}
			}
			p.faults.Clear()
			time.Sleep(time.Millisecond)
			if got := p.post(id); (got.Status == 201) != refused || p.stored() != 1 {
				t.Errorf("off by %v, then corrected: %d %s", off, got.Status, got.Body)
			}
		})
	}
}

// A command that answers late, by the store's clock, first makes its postings visible: it creates missing balances,
// empty, so that no refold can miss the postings. The postings are then projected as usual.
func TestLateAnswersMakePostingsVisible(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPayment(t)
		const late = 5 * time.Second // more than half the settle window, and the most that the clocks may differ
		p.faults.All(fault.AnyOperation, fault.ClockOff(late))
		balances := func() (n int) {
			for key := range p.Contents() {
				if _, _, ok := store.Balance.Parse(key); ok {
					n++
				}
			}
			return n
		}
		before := balances()
		if got := p.post(id); got.Status != 201 || before != 0 || balances() != 2 {
			t.Fatalf("%d %s; %d balances before, %d after", got.Status, got.Body, before, balances())
		}
		// An empty balance shows nothing yet.
		if got := p.Must(200, "GET", "/v1/accounts/payee/balances/USD", ""); got.Value("quantity") != "0" ||
			got.Value("as_of") != nil {
			t.Errorf("not projected: %s", got.Body)
		}
		if got := p.post(id); got.Status != 200 || p.stored() != 1 {
			t.Errorf("the retry got %d %s", got.Status, got.Body)
		}
		// If that fails, the payment must not be acknowledged.
		p.faults.All(opPut, fault.Refuses(400, "ProvisionedThroughputExceededException"))
		if got := p.post(id); got.Status != 504 || got.Value("transaction_id") != id {
			t.Errorf("not made visible: %d %s", got.Status, got.Body)
		}
		p.faults.Clear()

		p.StartPump()
		project(p.System)
		for account, want := range map[string]string{"payer": "90", "payee": "10"} {
			page := p.Must(200, "GET", "/v1/accounts/"+account+"/summary", "")
			if page.Value("balances", "data", 0, "quantity") != want || page.Value("summary", "assets") != 1.0 ||
				page.Value("summary", "holdings") != 1.0 {
				t.Errorf("%s: %s", account, page.Body)
			}
		}
	})
}
