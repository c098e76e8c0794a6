package tests

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/ledger/table"
	"ledger.example/tests/caller"
)

// callers is how many requests come at once. These tests don't run beside others: as many callers of one store as that
// would only wait, until their requests' time is up.
const callers = 50

// crowd is many callers of one system. A machine that is too busy may answer one of them with 503 or 504; then it does
// what callers are told to: it sends the same request again until an answer comes.
type crowd struct {
	processes []*system
	resent    atomic.Int64
}

// put and post send a request to one of the processes.
func (c *crowd) put(i int, path, body string) (caller.Reply, error) {
	return c.send(i, "PUT", path, body)
}
func (c *crowd) post(i int, path, body string) (caller.Reply, error) {
	return c.send(i, "POST", path, body)
}

func (c *crowd) send(i int, method, path, body string) (caller.Reply, error) {
	for end := time.Now().Add(time.Minute); ; c.resent.Add(1) {
		r, err := c.processes[i%len(c.processes)].Try(method, path, body)
		if err != nil || r.Status != 503 && r.Status != 504 || time.Now().After(end) {
			return r, err
		}
		time.Sleep(time.Second + rand.N(2*time.Second)) // so that the store gets done with what was given up
	}
}

// one fails t unless exactly one of the answers is a 201 and the others are 200, all of them the same. The one may have
// got lost when a request was sent again.
func (c *crowd) one(t *testing.T, answers []caller.Reply) {
	t.Helper()
	counts := statuses(answers)
	if counts["201"]+counts["200"] != len(answers) || counts["201"] > 1 || counts["201"] == 0 && c.resent.Load() == 0 {
		t.Errorf("answers %v", counts)
	}
	for _, r := range answers {
		if !bytes.Equal(r.Body, answers[0].Body) {
			t.Fatalf("one got %d %s, another %d %s", r.Status, r.Body, answers[0].Status, answers[0].Body)
		}
	}
}

// statuses counts answers by status and code.
func statuses(answers []caller.Reply) map[string]int {
	counts := make(map[string]int)
	for _, r := range answers {
		counts[strings.TrimSpace(fmt.Sprint(r.Status, " ", r.Code()))]++
	}
	return counts
}

// quantity is what an account has of USD, read strongly.
func (s *system) quantity(account string) string {
	s.t.Helper()
	text, _ := s.Must(200, "GET", "/v1/accounts/"+account+"/balances/USD?consistency=strong", "").Value("quantity").(string)
	return text
}

// transactions counts the headers in the table.
func (s *system) transactions() (n int) {
	s.t.Helper()
	for key := range s.items() {
		if strings.HasPrefix(key, table.TransactionKey("").PK) {
			n++
		}
	}
	return n
}

// One id at once, from two processes: it is posted once, and everybody gets the same answer.
func TestSameRequestAtOnce(t *testing.T) {
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"100"}`)
	for round, body := range []string{
		`{"id":"same-0","from":"bank","to":"jane","asset":"USD","quantity":"10"}`,
		`{"id":"same-1","from":"jane","to":"bank","asset":"USD","quantity":"60"}`, // twice would be too much
	} {
		c := crowd{processes: []*system{s, s.beside()}}
		before := s.transactions()
		answers := caller.AtOnce(t, callers, func(i int) (caller.Reply, error) { return c.post(i, "/v1/transfers", body) })
		c.one(t, answers)
		for _, r := range answers {
			if (r.Status == 200) != (r.Header.Get("Idempotent-Replayed") == "true") {
				t.Errorf("round %d: a %d says %v", round, r.Status, r.Header)
			}
		}
		if made := s.transactions() - before; made != 1 {
			t.Errorf("round %d: %d transactions", round, made)
		}
	}
	if got := s.quantity("jane"); got != "50" {
		t.Errorf("jane has %s", got)
	}
}

// One id at once with two bodies: one of the bodies wins, and all who sent it get its answer.
func TestTwoBodiesAtOnce(t *testing.T) {
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	c := crowd{processes: []*system{s, s.beside()}}
	answers := caller.AtOnce(t, callers, func(i int) (caller.Reply, error) {
		return c.post(i/2, "/v1/transfers", fmt.Sprintf(`{"id":"two","from":"bank","to":"jane","asset":"USD","quantity":"%d"}`, 1+i%2))
	})
	var won []caller.Reply
	for _, r := range answers {
		if r.Status != 409 {
			won = append(won, r)
		} else if r.Code() != "transaction_id_reused" {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	if len(won) != callers/2 {
		t.Fatalf("answers %v", statuses(answers))
	}
	c.one(t, won)
	if n := s.transactions(); n != 1 {
		t.Errorf("%d transactions", n)
	}
}

// One definition at once, or one grant: it is made once.
func TestSameDefinitionAtOnce(t *testing.T) {
	s := newSystem(t, withoutPump)
	for path, body := range map[string]string{"/v1/accounts/joe": `{"name":"Joe"}`, "/v1/assets/USD": `{"name":"US dollar","scale":2}`} {
		c := crowd{processes: []*system{s, s.beside()}}
		c.one(t, caller.AtOnce(t, callers, func(i int) (caller.Reply, error) { return c.put(i, path, body) }))
	}
	c := crowd{processes: []*system{s, s.beside()}}
	c.one(t, caller.AtOnce(t, callers, func(i int) (caller.Reply, error) {
		return c.put(i, "/v1/accounts/joe/members/u-1", `{"role":"viewer"}`)
	}))
	if n := len(s.partition(table.AccountKey("joe").PK)); n != 2 {
		t.Errorf("%d items instead of the account and one grant", n)
	}
}

// Nobody draws more than there is, and whoever is covered gets it: with nothing projected at all, and with projections
// that come as they come; by processes that know nothing of one another.
func TestDrawsAtOnce(t *testing.T) {
	for name, options := range map[string][]systemOption{"nothing projected": {withoutPump}, "projected meanwhile": nil} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, options...)
			s.OpenRegister()
			c := crowd{processes: []*system{s, s.beside(), s.beside()}}
			draw := func(account string, i, amount int) (caller.Reply, error) {
				return c.post(i, "/v1/transfers", fmt.Sprintf(`{"id":"draw:%s:%d","from":%q,"to":"bank","asset":"USD","quantity":"%d"}`, account, i, account, amount))
			}
			// Covered to the last cent.
			s.Must(201, "PUT", "/v1/accounts/covered", `{}`)
			s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"c-1","from":"bank","to":"covered","asset":"USD","quantity":"%d"}`, callers*10))
			answers := caller.AtOnce(t, callers, func(i int) (caller.Reply, error) { return draw("covered", i, 10) })
			if got := statuses(answers); got["201"]+got["200"] != callers {
				t.Errorf("covered: %v", got)
			}
			if got := s.quantity("covered"); got != "0" {
				t.Errorf("covered: %s is left", got)
			}
			// Covered but for some, with an overdraft.
			s.Must(201, "PUT", "/v1/accounts/short", `{"overdraft":{"USD":"5"}}`)
			s.Must(201, "POST", "/v1/transfers", `{"id":"c-2","from":"bank","to":"short","asset":"USD","quantity":"206"}`)
			answers = caller.AtOnce(t, callers, func(i int) (caller.Reply, error) { return draw("short", i, 7) })
			if got := statuses(answers); got["201"]+got["200"] != 30 || got["422 insufficient_funds"] != callers-30 { // 30 × 7 = 210 of 211
				t.Errorf("short: %v", got)
			}
			for _, r := range answers {
				if r.Status == 422 && (r.Value("requested") != "7" || len(fmt.Sprint(r.Value("available"))) != 1) {
					t.Errorf("short: refused with %s", r.Body)
				}
			}
			if got := s.quantity("short"); got != "-4" {
				t.Errorf("short: %s is left", got)
			}
		})
	}
}

// Credits and debits of one account at once, each debit after the credit that covers it was acknowledged: none is
// refused, and whoever looks meanwhile sees no debt.
func TestCreditsAndDebitsAtOnce(t *testing.T) {
	const workers, rounds = 12, 5
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/shop", `{}`)
	c := crowd{processes: []*system{s, s.beside(), s.beside()}}
	refused := caller.AtOnce(t, workers+2, func(i int) (caller.Reply, error) {
		for round := range rounds {
			if i >= workers { // looks
				r, err := c.send(i, "GET", "/v1/accounts/shop/balances/USD?consistency=strong", "")
				if text, _ := r.Value("quantity").(string); err != nil || r.Status != 200 || strings.HasPrefix(text, "-") {
					return r, err
				}
				continue
			}
			id := fmt.Sprintf("%d-%d", i, round)
			amount := 1 + (i+round)%7
			r, err := c.post(i, "/v1/transfers", fmt.Sprintf(`{"id":"in-%s","from":"bank","to":"shop","asset":"USD","quantity":"%d"}`, id, amount))
			if err != nil || r.Status > 201 {
				return r, err
			}
			r, err = c.post(i+round, "/v1/transactions", fmt.Sprintf(
				`{"id":"out-%s","postings":[{"account":"jane","asset":"USD","quantity":"%d"},{"account":"shop","asset":"USD","quantity":"-%[2]d"}]}`, id, amount))
			if err != nil || r.Status > 201 {
				return r, err
			}
		}
		return caller.Reply{}, nil
	})
	for i, r := range refused {
		if r.Status != 0 {
			t.Errorf("worker %d: %d %s", i, r.Status, r.Body)
		}
	}
	if got := s.quantity("shop"); got != "0" {
		t.Errorf("%s is left", got)
	}
	if n := s.transactions(); n != 2*workers*rounds {
		t.Errorf("%d transactions", n)
	}
}

// Money that goes around among limited accounts neither grows nor shrinks, whatever is refused.
func TestMoneyGoesAround(t *testing.T) {
	const accounts, each = 4, 20
	s := newSystem(t)
	s.OpenRegister()
	for i := range accounts {
		s.Must(201, "PUT", fmt.Sprintf("/v1/accounts/a%d", i), `{}`)
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"f-%d","from":"bank","to":"a%d","asset":"USD","quantity":"%d"}`, i, i, each))
	}
	c := crowd{processes: []*system{s, s.beside()}}
	answers := caller.AtOnce(t, callers, func(i int) (caller.Reply, error) {
		from := i % accounts
		to := (from + 1 + i/accounts%(accounts-1)) % accounts
		return c.post(i/accounts, "/v1/transfers", fmt.Sprintf(`{"id":"go-%d","from":"a%d","to":"a%d","asset":"USD","quantity":"%d"}`, i, from, to, 1+i*7%13))
	})
	counts := statuses(answers)
	if posted := counts["201"] + counts["200"]; posted+counts["422 insufficient_funds"] != len(answers) || posted == 0 {
		t.Errorf("answers %v", counts)
	}
	total := new(big.Int)
	strongly := make(map[string]string)
	for i := range accounts {
		account := fmt.Sprintf("a%d", i)
		strongly[account] = s.quantity(account)
		amount, ok := new(big.Int).SetString(strongly[account], 10)
		if !ok || amount.Sign() < 0 {
			t.Errorf("%s has %q", account, strongly[account])
			continue
		}
		total.Add(total, amount)
	}
	if total.String() != fmt.Sprint(accounts*each) {
		t.Errorf("%v of %d are left", total, accounts*each)
	}
	s.project()
	for account, want := range strongly {
		if got := s.Must(200, "GET", "/v1/accounts/"+account+"/balances/USD", "").Value("quantity"); got != want {
			t.Errorf("%s has %v as projected, %s strongly", account, got, want)
		}
	}
}
