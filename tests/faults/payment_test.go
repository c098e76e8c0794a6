// Package faults checks the ledger's answers and the table when the store fails, answers late, or was changed
// directly: no answer about a transaction is wrong, and nothing is posted twice.
package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/tests/caller"
	"ledger.example/tests/fault"
	"ledger.example/tests/system"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "64") // these tests wait more than they compute
	os.Exit(m.Run())
}

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

// bank is a table with what payments need: each payer of its own has 100 USD and no overdraft.
type bank struct {
	*system.System
}

func openBank(t *testing.T) bank {
	t.Helper()
	s := system.New(t)
	s.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	s.Must(201, "PUT", "/v1/accounts/source", `{"overdraft":"unlimited"}`)
	return bank{s}
}

// payment is 10 USD from a payer to a payee of its own, posted by a process of its own that meets faults.
type payment struct {
	*system.System
	faults *fault.Set
	name   string // the ids of payer, payee and transaction end in it
	noID   bool   // the ledger makes the transaction's
}

func (b bank) payment(t testing.TB, name string) payment {
	t.Helper()
	f := fault.NewSet()
	p := payment{System: b.Store.Serve(t, b.Table, system.WithFaults(f)), faults: f, name: name}
	p.Must(201, "PUT", "/v1/accounts/"+p.payer(), `{}`)
	p.Must(201, "PUT", "/v1/accounts/"+p.payee(), `{}`)
	p.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":"source","to":%q,"asset":"USD","quantity":"100"}`,
		"fund:"+name, p.payer()))
	// A refusal makes the process read the payer's credits, which it knows nothing of: its next attempt is not in vain.
	p.Must(422, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"101"}`,
		p.id(), p.payer(), p.payee()))
	return p
}

func (p payment) payer() string { return "payer:" + p.name }
func (p payment) payee() string { return "payee:" + p.name }
func (p payment) id() string    { return "pay:" + p.name }

// post sends the payment, under an id unless that is "".
func (p payment) post(id string) caller.Reply {
	p.T.Helper()
	if id != "" {
		id = fmt.Sprintf(`"id":%q,`, id)
	}
	return p.Send("POST", "/v1/transfers", fmt.Sprintf(`{%s"from":%q,"to":%q,"asset":"USD","quantity":"10"}`, id,
		p.payer(), p.payee()))
}

// held counts the payments that the table holds, and fails t if one is there in part.
func (p payment) held() int {
	p.T.Helper()
	transactions := make(map[string]int) // to the number of its postings
	spent := "0"                         // also while there is no guard
	for _, account := range []string{p.payer(), p.payee()} {
		for key, item := range p.Partition(table.AccountKey(account).PK) {
			r := ddb.Read(item)
			switch {
			case strings.HasPrefix(key.SK, table.PostingPrefix):
				e, err := ddb.DecodeEvent(item)
				if err != nil {
					p.T.Fatal(err)
				}
				transactions[e.(events.PostingRecorded).Transaction]++
			case key == table.SpendKey(account, "USD"):
				spent = r.Amount(table.AttrSpent).String()
			}
		}
	}
	delete(transactions, "fund:"+p.name)
	for id, postings := range transactions {
		if headers := len(p.Partition(table.TransactionKey(id).PK)); headers != 1 || postings != 2 {
			p.T.Errorf("%s is there with %d headers and %d postings", id, headers, postings)
		}
	}
	if headers := len(p.Partition(table.TransactionKey(p.id()).PK)); headers > transactions[p.id()] {
		p.T.Errorf("%s is there without postings", p.id())
	}
	if want := map[int]string{0: "0", 1: "10"}[len(transactions)]; spent != want {
		p.T.Errorf("%d transactions spent %q", len(transactions), spent)
	}
	return len(transactions)
}

// outcome is what becomes of a payment that meets faults.
type outcome struct {
	faults func(*fault.Set)
	status int
	code   string
	posted bool          // whether the table holds it when it was answered
	least  time.Duration // how long the answer takes at the least
}

// check posts the payment, and then sends it again, without faults: it is there once, whatever was answered.
func (o outcome) check(t testing.TB, p payment) {
	t.Helper()
	o.faults(p.faults)
	id := p.id()
	if p.noID {
		id = ""
	}
	start := time.Now()
	got := p.post(id)
	if took := time.Since(start); took < o.least {
		t.Errorf("answered after %v", took)
	}
	if got.Status != o.status || !says(got, o.code, start) {
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
	named, _ := got.Value("transaction_id").(string)
	if got.Status == 504 && (named == "" || id != "" && named != id) {
		t.Errorf("the transaction is called %q: %s", named, got.Body)
	}
	if id == "" {
		if id = named; id == "" {
			id, _ = got.Value("id").(string)
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
	if got := p.Must(200, "GET", "/v1/accounts/"+p.payer()+"/balances/USD?consistency=strong",
		"").Value("quantity"); got != "90" {
		t.Errorf("the payer has %v in the end", got)
	}
}

// says reports whether an answer to what was sent at a time has a code. A command whose time ends as it begins another
// attempt, as on a busy machine, says that the store is unavailable, also after contention.
func says(got caller.Reply, code string, sent time.Time) bool {
	const commandTime = 8 * time.Second
	return got.Code() == code ||
		code == "contention" && got.Code() == "unavailable" && time.Since(sent) >= commandTime
}

// inParallel runs n subtests.
func inParallel(t *testing.T, n int, run func(t *testing.T, i int)) {
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			run(t, i)
		})
	}
}
