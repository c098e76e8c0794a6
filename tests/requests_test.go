package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	projectionsdynamo "ledger.example/projections/dynamo"
)

// openLimited opens two accounts that may not owe, with shares and cash, projected.
func openLimited(s *system) {
	s.t.Helper()
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-2","from":"market","to":"joe","asset":"AAPL","quantity":"1000"}`)
	s.deliverAll()
}

// settled is a trade with settlement between the two.
func settled(id string) string {
	return fmt.Sprintf(`{"id":"%s","asset":"AAPL","buyer":"jane","seller":"joe","quantity":"2","cost":"300","settle":true}`, id)
}

// wantsTrade fails t unless the request is that of settled, with both guards.
func wantsTrade(t *testing.T, r request) {
	t.Helper()
	in, ok := r.input.(*dynamodb.TransactWriteItemsInput)
	if !ok || len(in.TransactItems) != 1+4+2 {
		t.Errorf("a trade with settlement between limited accounts was sent as %s", r.line())
	}
}

func TestWarmTradeIsOneRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openLimited(s)
	s.Must(201, "POST", "/v1/trades", settled("t-0"))
	requests := promptly(t, func(try int) []request {
		s.requests.take()
		s.Must(201, "POST", "/v1/trades", settled(fmt.Sprintf("t-%d", try+1)))
		return s.requests.take()
	})
	if len(requests) != 1 {
		t.Fatalf("a warm trade asked for %q", lines(requests))
	}
	wantsTrade(t, requests[0])
}

func TestColdTradeReadsTwiceAtMost(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openLimited(s)
	requests := promptly(t, func(try int) []request {
		cold := s.beside()
		cold.Must(201, "POST", "/v1/trades", settled(fmt.Sprintf("t-%d", try)))
		return cold.requests.take()
	})
	last := len(requests) - 1
	if last > 2 {
		t.Errorf("a cold trade asked for %q", lines(requests))
	}
	for _, r := range requests[:last] {
		if r.writes() {
			t.Errorf("before its trade: %s", r.line())
		}
	}
	wantsTrade(t, requests[last])
}

func TestReadsByIDAreOneRequestCold(t *testing.T) {
	t.Parallel()
	for path, wanted := range map[string]string{
		"/v1/transactions/t-1": "GetItem strong TXN#t-1 TXN#t-1",
		"/v1/assets/USD":       "BatchGetItem strong ASSET#USD ASSET#USD",
		"/v1/accounts/jane":    "BatchGetItem strong ACCOUNT#jane ACCOUNT#jane",
	} {
		sharedRegister(t).reads(path, wanted)
	}
}

// meeting holds each request of one operation until as many of them are under way as it waits for.
type meeting struct {
	operation string
	wanted    int64
	came      atomic.Int64
	met       chan struct{}
}

var errAlone = errors.New("the other request was not under way")

func (m *meeting) hold(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("meeting",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, _ middleware.Metadata, err error) {
				if middleware.GetOperationName(ctx) != m.operation {
					return next.HandleInitialize(ctx, in)
				}
				if m.came.Add(1) == m.wanted {
					close(m.met)
				}
				patience := time.NewTimer(10 * time.Second)
				defer patience.Stop()
				select {
				case <-m.met:
					return next.HandleInitialize(ctx, in)
				case <-patience.C:
					return out, middleware.Metadata{}, errAlone
				}
			}), middleware.After)
	})
}

// An account's page is two queries however much the account holds, and neither waits for the other.
func TestAccountPageIsTwoQueriesSideBySide(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	const held = 150
	views := projectionsdynamo.NewViews(s.plain, s.table)
	var writes errgroup.Group
	writes.SetLimit(4)
	for i := range held {
		id := events.FirstKSUID(time.Now())
		writes.Go(func() error {
			return views.Write(t.Context(), projections.Change{Balance: projections.Balance{
				Key:   projections.Key{Account: "jane", Asset: fmt.Sprintf("A%03d", i)},
				Head:  projections.Fold{Through: id, Credits: events.NewAmount(int64(i + 1)), Count: 1},
				First: id,
			}})
		})
	}
	if err := writes.Wait(); err != nil {
		t.Fatal(err)
	}
	putEvents(t, s, old("jane", "A000", held))
	for account, balances := range map[string]int{"jane": 100, "bank": 0} {
		both := &meeting{operation: "Query", wanted: 2, met: make(chan struct{})}
		cold := s.beside(withClient(both.hold))
		r := cold.Must(200, "GET", "/v1/accounts/"+account+"/summary?newest=100", "")
		sent(t, cold.requests.take(),
			"Query eventual 103 of PK = ACCOUNT#"+account+" AND SK BETWEEN ACCOUNT AND BALANCE~",
			"Query GSI1 eventual newest first, 101 of PK = ACCOUNT#"+account+" AND SK2 BETWEEN POSTING# AND PROFILE")
		if got := len(r.Each("asset", "balances", "data")); got != balances {
			t.Errorf("%s has %d balances on its page, not %d", account, got, balances)
		}
		if got := len(r.Each("id", "postings", "data")); got != balances {
			t.Errorf("%s has %d postings on its page, not %d", account, got, balances)
		}
	}
}

// isStrong tells whether a read is strongly consistent or serializable.
func (r request) isStrong() bool {
	switch in := r.input.(type) {
	case *dynamodb.GetItemInput:
		return in.ConsistentRead != nil && *in.ConsistentRead
	case *dynamodb.QueryInput:
		return in.ConsistentRead != nil && *in.ConsistentRead && in.IndexName == nil
	case *dynamodb.BatchGetItemInput:
		for _, asked := range in.RequestItems {
			if asked.ConsistentRead == nil || !*asked.ConsistentRead {
				return false
			}
		}
		return true
	case *dynamodb.TransactGetItemsInput:
		return true
	}
	return false
}

// allStrong fails t unless each read among the requests is strong; kinds counts the reads by operation and what they read.
func allStrong(t *testing.T, requests []request) (kinds map[string]int) {
	t.Helper()
	kinds = make(map[string]int)
	for _, r := range requests {
		if r.writes() {
			continue
		}
		if !r.isStrong() {
			t.Errorf("a read that is not strongly consistent: %s", r.line())
		}
		for _, what := range []string{"BALANCE#", "SEGMENT#", "POSTING#", "GRANT#", "ACCOUNT_SUMMARY"} {
			if strings.Contains(r.line(), what) {
				kinds[r.operation+" "+what]++
			}
		}
	}
	return kinds
}

// Every kind of read that a projector has is brought about, and each that it really sends is strongly consistent.
func TestEveryReadOfARefoldIsStronglyConsistent(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/jane/members/ann", `{"role":"owner"}`)
	const n = 1100 // more than a page, and four segments
	all := old("jane", "USD", n)
	var late, first []events.PostingRecorded
	for i, p := range all {
		if i == 300 || i == 1050 { // in a segment, and between base and seal
			late = append(late, p)
		} else {
			first = append(first, p)
		}
	}
	putEvents(t, s, first)
	s.requests.take()
	s.deliverAll()
	putEvents(t, s, late)
	deliver(t, s.service, keysOf(late)...)
	s.deliverAll()
	kinds := allStrong(t, s.requests.take())
	for _, kind := range []string{
		"GetItem BALANCE#", "Query POSTING#", "GetItem ACCOUNT_SUMMARY", "Query SEGMENT#", "TransactGetItems SEGMENT#", "TransactGetItems BALANCE#", "Query GRANT#",
	} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among the reads %v", kind, kinds)
		}
	}
	r := s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "")
	shows(t, r, map[string]any{"quantity": sumOf(all), "postings": float64(n), "as_of": string(all[n-1].ID)})
	segments := 0
	for k := range s.contents() {
		if _, _, _, ok := table.ParseSegment(k); ok {
			segments++
		}
	}
	if segments != (n-len(late))/projections.StretchPostings {
		t.Errorf("%d segments", segments)
	}
}

func TestEveryReadOfAStrongReadIsStronglyConsistent(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{
		"/v1/accounts/jane/balances/USD?consistency=strong":       "GetItem BALANCE#",
		"/v1/accounts/jane/balances?consistency=strong":           "Query POSTING#",
		"/v1/accounts/jane/postings?asset=USD&consistency=strong": "Query POSTING#",
	} {
		s := sharedRegister(t)
		s.Must(200, "GET", path, "")
		if kinds := allStrong(t, s.requests.take()); kinds[kind] == 0 {
			t.Errorf("%s: no %s among the reads %v", path, kind, kinds)
		}
	}
}

// sumOf adds up quantities as plain integers.
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
