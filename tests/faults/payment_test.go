// Package faults checks the ledger's answers and the table when the store fails, answers late, or was changed
// directly: no answer about a transaction is wrong, and nothing is posted twice.
//
// Most of it runs in bubbles of testing/synctest: commands that try for seconds take no time, and no machine is so busy
// that their time is up too early.
package faults

import (
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/tests/caller"
	"ledger.example/tests/fault"
	"ledger.example/tests/system"
)

// The operations of the store that commands use.
const (
	opPost     = "TransactWriteItems"
	opPut      = "PutItem"
	opLookup   = "BatchGetItem"
	opHeader   = "GetItem"
	opComplete = "TransactGetItems"
	opQuery    = "Query"
)

// The reasons of a cancelled transfer: header, two postings, the payer's guard.
const (
	none     = "None"
	conflict = "TransactionConflict"
	spent95  = `ConditionalCheckFailed {"Spent":{"N":"95"},"Change":{"N":"1"},"Type":{"S":"Spend"}}`
)

// seconds is how long a command tries at the least before it says contention.
const seconds = 3 * time.Second

// inBubble runs f in a bubble of testing/synctest. Its clock begins in 2000, before KSUIDs can hold the time.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour)
		f(t)
	})
}

// project waits until all is projected. Time passes first: a pump that looked at this very instant counts as having
// seen what was written at it.
func project(s *system.System) {
	s.T.Helper()
	time.Sleep(time.Second)
	s.Project()
}

// payment is 10 USD from payer, who has 100 USD and no overdraft, to payee. It has a table of its own, and is posted by
// a process that meets faults.
type payment struct {
	*system.System
	faults *fault.Set
}

func newPayment(t testing.TB) payment {
	t.Helper()
	f := fault.NewSet()
	p := payment{System: system.New(t, system.WithFaults(f), system.Direct), faults: f}
	p.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	p.Must(201, "PUT", "/v1/accounts/source", `{"overdraft":"unlimited"}`)
	p.Must(201, "PUT", "/v1/accounts/payer", `{}`)
	p.Must(201, "PUT", "/v1/accounts/payee", `{}`)
	p.Must(201, "POST", "/v1/transfers", `{"id":"fund","from":"source","to":"payer","asset":"USD","quantity":"100"}`)
	// A refusal makes the process read the payer's credits, which it knows nothing of: its next attempt is not in vain.
	p.Must(422, "POST", "/v1/transfers", `{"id":"pay","from":"payer","to":"payee","asset":"USD","quantity":"101"}`)
	return p
}

// process is another process of the ledger on the table, with an empty cache and the same faults.
func (p payment) process() payment {
	p.T.Helper()
	return payment{System: p.Beside(system.WithFaults(p.faults), system.Direct), faults: p.faults}
}

// id is that of the payment.
const id = "pay"

// body is the request of the payment, under an id unless that is "".
func body(id string) string {
	if id != "" {
		id = `"id":"` + id + `",`
	}
	return `{` + id + `"from":"payer","to":"payee","asset":"USD","quantity":"10"}`
}

// post sends the payment, under an id unless that is "".
func (p payment) post(id string) caller.Reply {
	p.T.Helper()
	return p.Send("POST", "/v1/transfers", body(id))
}

// held counts the payments that the table holds, and fails t if one is there in part.
func (p payment) held() int {
	p.T.Helper()
	headers, postings := map[string]int{}, map[string]int{} // by transaction
	spent := "0"                                            // also while there is no guard
	for key, item := range p.Contents() {
		if transaction, ok := table.ParseTransaction(key); ok {
			headers[transaction]++
		} else if _, _, _, ok := table.ParsePosting(key); ok {
			posting, err := ddb.Only[events.PostingRecorded](ddb.DecodeEvent(item))
			if err != nil {
				p.T.Fatal(err)
			}
			postings[posting.Transaction]++
		} else if key == table.SpendKey("payer", "USD") {
			spent = ddb.Read(item).Amount(table.AttrSpent).String()
		}
	}
	for transaction, n := range postings {
		if headers[transaction] != 1 || n != 2 {
			p.T.Errorf("%s is there with %d headers and %d postings", transaction, headers[transaction], n)
		}
	}
	if len(headers) != len(postings) {
		p.T.Errorf("%d headers, postings of %d transactions", len(headers), len(postings))
	}
	held := len(postings) - 1 // without fund
	if want := map[int]string{0: "0", 1: "10"}[held]; spent != want {
		p.T.Errorf("%d transactions spent %q", held, spent)
	}
	return held
}

// outcome is what becomes of a payment that meets faults.
type outcome struct {
	faults func(*fault.Set)
	noID   bool // the ledger makes the transaction's id
	status int
	code   string
	posted bool          // whether the table holds it when it was answered
	least  time.Duration // how long the answer takes at the least
}

// check posts the payment, and then sends it again, without faults: it is there once, whatever was answered.
func (o outcome) check(t testing.TB, p payment) {
	t.Helper()
	o.faults(p.faults)
	id := id
	if o.noID {
		id = ""
	}
	start := time.Now()
	got := p.post(id)
	if took := time.Since(start); took < o.least {
		t.Errorf("answered after %v", took)
	}
	if got.Status != o.status || got.Code() != o.code {
		t.Errorf("%d %s instead of %d %s: %s", got.Status, got.Code(), o.status, o.code, got.Body)
	}
	if got.Status >= 400 {
		caller.CheckProblem(t, got, p.Table)
	}
	if got.Status == 200 || got.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the first answer calls itself a replay: %s", got.Body)
	}
	held := 0
	if o.posted {
		held = 1
	}
	if got := p.held(); got != held {
		t.Errorf("the table holds it %d times, not %d", got, held)
	}
	named := got.Text("transaction_id")
	if got.Status == 504 && (named == "" || id != "" && named != id) {
		t.Errorf("the transaction is called %q: %s", named, got.Body)
	}
	if id == "" {
		if id = named; id == "" {
			id = got.Text("id")
		}
	}
	p.faults.Clear()
	again := p.post(id)
	switch {
	case o.posted && (again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true"), !o.posted &&
		again.Status != 201:
		t.Errorf("again: %d %s", again.Status, again.Body)
	case got.Status == 201 && string(got.Body) != string(again.Body):
		t.Errorf("first %s, then %s", got.Body, again.Body)
	}
	if got := p.held(); got != 1 {
		t.Errorf("the table holds it %d times in the end", got)
	}
	if got := p.Must(200, "GET", "/v1/accounts/payer/balances/USD?consistency=strong", "").Value("quantity"); got != "90" {
		t.Errorf("the payer has %v in the end", got)
	}
}
