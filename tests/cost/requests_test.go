package cost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/system"
)

// A refusal takes the attempt and four reads: two for the exact balance, one for the account's current state, and one
// to check that the transaction does not exist.
func TestRefusalIsOneAttemptAndFourReads(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"jane","to":"joe","asset":"USD","quantity":"300"}`) // makes the guard
	s.DeliverAll()
	requests := system.Promptly(t, func(try int) []system.Request {
		s.Requests.Take()
		s.Must(422, "POST", "/v1/transfers",
			fmt.Sprintf(`{"id":"r-%d","from":"jane","to":"joe","asset":"USD","quantity":"500001"}`, try))
		return s.Requests.Take()
	})
	system.WantRequests(t, requests, "TransactWriteItems …",
		"GetItem strong ACCOUNT#jane BALANCE#USD",
		"Query strong 1000 of PK = ACCOUNT#jane AND SK BETWEEN POSTING#USD#…",
		"BatchGetItem strong ACCOUNT#jane ACCOUNT#jane, ACCOUNT#jane ACCOUNT_CURRENT",
		"GetItem strong TXN#r-…")
}

// With cold caches, a trade looks up its accounts and assets and the seller's credits in one request. So does a trade
// that is refused.
func TestColdTradeLooksUpOnce(t *testing.T) {
	t.Parallel()
	first := system.New(t)
	first.OpenRegister()
	requests := system.Promptly(t, func(int) []system.Request {
		s := first.NewProcess()
		s.Must(201, "POST", "/v1/trades",
			`{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000"}`)
		return s.Requests.Take()
	})
	if len(requests) != 2 || requests[1].Operation != "TransactWriteItems" {
		t.Fatalf("requests: %q", system.Lines(requests))
	}
	system.WantRequests(t, requests[:1],
		"BatchGetItem strong ACCOUNT#jane ACCOUNT#jane, ACCOUNT#jane ACCOUNT_CURRENT, ACCOUNT#market "+
			"ACCOUNT#market, ACCOUNT#market ACCOUNT_CURRENT, ACCOUNT#market BALANCE#AAPL, ACCOUNT#market SPEND#AAPL, "+
			"ASSET#AAPL ASSET#AAPL")
	s := first.NewProcess()
	s.Must(422, "POST", "/v1/trades",
		`{"asset":"AAPL","buyer":"nobody","seller":"noone","quantity":"10","cost":"150000"}`)
	system.WantRequests(t, s.Requests.Take(),
		"BatchGetItem strong ACCOUNT#nobody ACCOUNT#nobody, ACCOUNT#nobody ACCOUNT_CURRENT, ACCOUNT#noone "+
			"ACCOUNT#noone, ACCOUNT#noone ACCOUNT_CURRENT, ACCOUNT#noone BALANCE#AAPL, ACCOUNT#noone SPEND#AAPL, "+
			"ASSET#AAPL ASSET#AAPL")
}

// waitUntilConcurrent holds requests back until the wanted number of them is in flight.
func waitUntilConcurrent(wanted int64) inject.Fault {
	var came atomic.Int64
	met := make(chan struct{})
	return func(ctx context.Context, send inject.Sender) inject.Exchange {
		if came.Add(1) == wanted {
			close(met)
		}
		select {
		case <-met:
			return send(ctx)
		case <-time.After(10 * time.Second): // the others are not sent
			return inject.Refuses(400, "AccessDeniedException")(ctx, send)
		}
	}
}

// The two queries of an account's page do not wait for each other.
func TestAccountPageIsTwoConcurrentQueries(t *testing.T) {
	t.Parallel()
	s := newRegister(t)
	f := inject.NewSet()
	f.All("Query", waitUntilConcurrent(2))
	s.NewProcess(system.WithFaults(f)).Must(200, "GET", "/v1/accounts/jane/summary?newest=100", "")
}

// sumOf adds up the quantities of postings.
func sumOf(postings []events.PostingRecorded) string {
	total := int64(0)
	for _, p := range postings {
		var q int64
		if _, err := fmt.Sscan(p.Quantity.String(), &q); err != nil {
			panic(err)
		}
		total += q
	}
	return fmt.Sprint(total)
}

// postingsRead counts the postings that queries returned.
func postingsRead(requests []system.Request) (n int) {
	for _, r := range requests {
		if out, ok := r.Output.(*dynamodb.QueryOutput); ok && strings.Contains(r.Line(), "POSTING#") {
			n += len(out.Items)
		}
	}
	return n
}

// A projector with a long backlog on one balance reads the backlog once, although it restarts again and again. After
// that, each batch reads no more than the stretches of its postings. Redelivered records change nothing.
func TestBacklogIsReadOnce(t *testing.T) {
	t.Parallel()
	const backlog, batch, restartAfter = 5_000, 100, 20
	s := system.New(t)
	s.OpenRegister()
	all := system.OldPostings("jane", "USD", backlog)
	s.PutPostings(all)
	const stretches = 2 * projections.StretchPostings // 100 consecutive postings are in at most two stretches

	process, most, total := s, backlog, 0
	for i, some := range slices.Collect(slices.Chunk(all, batch)) {
		if i%restartAfter == restartAfter/2 {
			process = s.NewProcess() // another process takes over, with a cold cache
		}
		process.Requests.Take()
		projectAll(process, some)
		n := postingsRead(process.Requests.Take())
		if total += n; i > 0 && n > stretches {
			t.Errorf("batch %d read %d postings", i, n)
		}
		most += stretches
	}
	if total > most {
		t.Errorf("%d postings were read, more than the backlog of %d once and %d for each batch of %d", total, backlog,
			stretches, batch)
	}
	s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "").Shows(t, map[string]any{
		"quantity": sumOf(all), "postings": float64(backlog), "as_of": string(all[backlog-1].ID),
	})
	newest := all[backlog-batch:]
	projectAll(s, newest)
	s.Requests.Take()
	projectAll(s, newest)
	for _, r := range s.Requests.Take() {
		if r.Writes() {
			t.Errorf("a redelivered batch wrote: %s", r.Line())
		}
	}
}
