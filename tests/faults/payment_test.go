// Package faults checks the ledger's answers and its table when the store fails, answers late, or is changed by
// somebody else. No answer about a transaction may be wrong, and nothing may be posted twice.
//
// Most tests run in testing/synctest bubbles. There, commands that retry for seconds take no real time, and a busy
// machine does not make them run out of time.
package faults

import (
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/system"
)

// The store operations that commands use, by what a post uses them for.
const (
	opPost     = "TransactWriteItems"
	opPut      = "PutItem"
	opLookup   = "BatchGetItem"
	opHeader   = "GetItem"
	opComplete = "TransactGetItems"
	opQuery    = "Query"
)

// Cancellation reasons. A transfer has four: for its header, its two postings and the payer's guard.
const (
	none     = "None"
	conflict = "TransactionConflict"
	spent95  = `ConditionalCheckFailed {"Spent":{"N":"95"},"Change":{"N":"1"},"Type":{"S":"Spend"},"V":{"N":"1"}}`
)

// contentionTime is the least time for which a command retries before it answers with contention.
const contentionTime = 3 * time.Second

// inBubble runs f in a testing/synctest bubble. A bubble's clock starts in 2000, before the first time that a KSUID can
// hold.
func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour)
		f(t)
	})
}

// project waits until everything is projected. It sleeps first, because a pump that read the stream at this very
// instant would count as caught up with everything written at it.
func project(s *system.System) {
	s.T.Helper()
	time.Sleep(time.Second)
	s.Project()
}

// payment is a ledger, with faults, on which a test posts one transfer: 10 USD from payer, who has 100 USD and no
// overdraft, to payee.
type payment struct {
	*system.System
	faults *inject.Set
}

func newPayment(t testing.TB) payment {
	t.Helper()
	f := inject.NewSet()
	p := payment{System: system.New(t, system.WithFaults(f), system.Direct, system.Indexed("order")), faults: f}
	p.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	p.Must(201, "PUT", "/v1/accounts/source", `{"overdraft":"unlimited"}`)
	p.Must(201, "PUT", "/v1/accounts/payer", `{}`)
	p.Must(201, "PUT", "/v1/accounts/payee", `{}`)
	p.Must(201, "POST", "/v1/transfers", `{"id":"fund","from":"source","to":"payer","asset":"USD","quantity":"100"}`)
	// The refusal makes the process read and cache the payer's credits, so that the next post needs one attempt only.
	p.Must(422, "POST", "/v1/transfers", `{"id":"pay","from":"payer","to":"payee","asset":"USD","quantity":"101"}`)
	return p
}

// process starts another process on the same table, with empty caches and the same faults.
func (p payment) process() payment {
	p.T.Helper()
	return payment{
		System: p.NewProcess(system.WithFaults(p.faults), system.Direct, system.Indexed("order")), faults: p.faults,
	}
}

// id is the payment's id.
const id = "pay"

// body returns the body of the payment; without an id if that is empty.
func body(id string) string {
	if id != "" {
		id = `"id":"` + id + `",`
	}
	return `{` + id + `"from":"payer","to":"payee","asset":"USD","quantity":"10"}`
}

// post sends the payment; without an id if that is empty.
func (p payment) post(id string) caller.Reply {
	p.T.Helper()
	return p.Send("POST", "/v1/transfers", body(id))
}

// stored counts the payments in the table, and fails t if one is stored in part.
func (p payment) stored() int {
	p.T.Helper()
	headers, postings := map[string]int{}, map[string]int{} // by transaction
	spent := "0"                                            // in the guard, if it exists
	for key, item := range p.Contents() {
		if transaction, ok := table.Transaction.Parse(key); ok {
			headers[transaction]++
		} else if _, _, _, ok := table.Posting.Parse(key); ok {
			posting, err := table.Only[events.PostingRecorded](table.DecodeEvent(item))
			if err != nil {
				p.T.Fatal(err)
			}
			postings[posting.Transaction]++
		} else if key == table.Spend.Key("payer", "USD") {
			spent = table.Read(item).Amount(table.AttrSpent).String()
		}
	}
	for transaction, n := range postings {
		if headers[transaction] != 1 || n != 2 {
			p.T.Errorf("%s is stored with %d headers and %d postings", transaction, headers[transaction], n)
		}
	}
	if len(headers) != len(postings) {
		p.T.Errorf("%d headers, postings of %d transactions", len(headers), len(postings))
	}
	payments := len(postings) - 1 // without fund
	if want := map[int]string{0: "0", 1: "10"}[payments]; spent != want {
		p.T.Errorf("%d payments spent %q", payments, spent)
	}
	return payments
}

// outcome is the expected outcome of a payment under faults.
type outcome struct {
	faults  func(*inject.Set)
	noID    bool // the request has no id, so the ledger chooses one
	status  int
	code    string
	posted  bool          // the payment is stored when the answer comes
	minTime time.Duration // the least time until the answer
}

// check posts the payment, and then retries it without faults. In the end it is stored once, whatever the first answer.
func (o outcome) check(t testing.TB, p payment) {
	t.Helper()
	o.faults(p.faults)
	id := id
	if o.noID {
		id = ""
	}
	start := time.Now()
	got := p.post(id)
	if took := time.Since(start); took < o.minTime {
		t.Errorf("answered after %v", took)
	}
	if got.Status != o.status || got.Code() != o.code {
		t.Errorf("%d %s instead of %d %s: %s", got.Status, got.Code(), o.status, o.code, got.Body)
	}
	if got.Status >= 400 {
		caller.CheckProblem(t, got, p.Table)
	}
	if got.Status == 200 || got.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the first answer is marked as a replay: %s", got.Body)
	}
	stored := 0
	if o.posted {
		stored = 1
	}
	if got := p.stored(); got != stored {
		t.Errorf("the payment is stored %d times, not %d", got, stored)
	}
	named := got.Text("transaction_id")
	if got.Status == 504 && (named == "" || id != "" && named != id) {
		t.Errorf("the answer names transaction %q: %s", named, got.Body)
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
		t.Errorf("the retry got %d %s", again.Status, again.Body)
	case got.Status == 201 && string(got.Body) != string(again.Body):
		t.Errorf("first %s, then %s", got.Body, again.Body)
	}
	if got := p.stored(); got != 1 {
		t.Errorf("the payment is stored %d times in the end", got)
	}
	balance := p.Must(200, "GET", "/v1/accounts/payer/balances/USD?consistency=strong", "")
	if got := balance.Value("quantity"); got != "90" {
		t.Errorf("the payer has %v in the end", got)
	}
}
