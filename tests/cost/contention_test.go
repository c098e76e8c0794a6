package cost

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/harness/full"
)

// load is a load of debits of limited accounts.
type load struct {
	blocks   time.Duration // how long a transaction blocks its items
	rate     int           // debits offered in a second
	accounts int           // which they debit at random
	every    time.Duration // the debits within this time are sent in one batch; 0: each alone
}

// met is what became of a load.
type met struct {
	offered, answered, declined, unknown int
	writes                               int // transactions sent, also those that conflicted
	latencies                            []time.Duration
}

const (
	// roundTrip is how long the store takes to answer a request, without the time for which a transaction blocks.
	roundTrip = 5 * time.Millisecond
	region    = "ledger"
)

// isBlocking is the context key for whether a transaction has begun to block its items.
type isBlocking struct{}

// run offers the load to the real ledger for some seconds. Debits come at random times. The clock is simulated, and the
// processor takes no time. The store blocks the items of a transaction for a time, as DynamoDB does: others on the same
// items conflict.
func (l load) run(t *testing.T, seconds int) (m met) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)))
		var writes atomic.Int64
		table := slowTable(t, l.blocks, steady, func(write bool) {
			if write {
				writes.Add(1)
			}
		})
		bank := openBank(table)
		l.open(t, bank)
		writes.Store(0)

		var mu sync.Mutex
		var callers sync.WaitGroup
		began, end, n := time.Now(), time.Duration(seconds)*time.Second, 0
		random := rand.New(rand.NewPCG(1, uint64(l.rate)))
		gap := func() time.Duration { return time.Duration(random.ExpFloat64() / float64(l.rate) * 1e9) }
		for next := gap(); next < end; {
			time.Sleep(max(l.every, next-time.Since(began)))
			var requests []ledger.Request
			for ; next <= time.Since(began); next += gap() {
				requests = append(requests, l.debit(n, random.IntN(l.accounts)))
				n++
			}
			size := ledger.BatchMax
			if l.every == 0 {
				size = 1
			}
			for batch := range slices.Chunk(requests, size) {
				callers.Go(func() {
					sent := time.Now()
					results, err := bank.PostBatch(t.Context(), batch, false)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					for _, r := range results {
						m.add(t, r.Err, time.Since(sent))
					}
				})
			}
		}
		callers.Wait()
		m.writes = int(writes.Load())
	})
	return m
}

// steady and varied are the ways to a store that is roundTrip away, always and on average.
func steady() time.Duration { return roundTrip / 2 }
func varied() time.Duration { return roundTrip/4 + rand.N(roundTrip/2) }

// slowTable returns a table in memory, which is away by the duration that way returns. It blocks the items of a
// transaction for a time, as DynamoDB does: others on the same items conflict. count is called for each request.
func slowTable(t *testing.T, blocks time.Duration, way func() time.Duration, count func(isWrite bool)) table.Table {
	t.Helper()
	db := memdb.New(memdb.Options{Between: func(ctx context.Context) {
		if begun, ok := ctx.Value(isBlocking{}).(*bool); ok && !*begun {
			*begun = true
			time.Sleep(blocks)
		}
	}})
	if _, err := dynamolocal.CreateTable(t.Context(), db.DynamoDB(), region); err != nil {
		t.Fatal(err)
	}
	slow := middleware.InitializeMiddlewareFunc("cost.network",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error) {
			_, isWrite := in.Parameters.(*dynamodb.TransactWriteItemsInput)
			count(isWrite)
			time.Sleep(way())
			defer func() { time.Sleep(way()) }()
			return next.HandleInitialize(context.WithValue(ctx, isBlocking{}, new(bool)), in)
		})
	return table.NewTable(db.DynamoDB(func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(slow, middleware.Before)
		})
	}), region)
}

// open registers the asset, opens the accounts, funds them, and makes the first debit of each.
func (l load) open(t *testing.T, bank *ledger.Ledger) {
	t.Helper()
	_, _, err := bank.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: "USD", Name: "US dollar", Actor: "tester"})
	for n := range l.accounts + 1 {
		_, _, opened := bank.OpenAccount(t.Context(), ledger.OpenAccount{
			ID: fmt.Sprint("shop-", n), Actor: "tester", Overdraft: events.Overdraft{Unlimited: n == l.accounts},
		})
		err = errors.Join(err, opened)
	}
	for n := range l.accounts {
		fund := ledger.PostTransfer{Annotation: ledger.Annotation{Actor: "tester"}, From: fmt.Sprint("shop-", l.accounts),
			To: fmt.Sprint("shop-", n), Asset: "USD", Quantity: events.NewAmount(1_000_000_000)}
		_, funded := bank.Post(t.Context(), fund)
		_, spent := bank.Post(t.Context(), l.debit(n-l.accounts, n))
		err = errors.Join(err, funded, spent)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// debit is the n-th debit.
func (l load) debit(n, account int) ledger.Request {
	return ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: fmt.Sprint("t:", n), Actor: "tester"},
		From:       fmt.Sprint("shop-", account), To: fmt.Sprint("shop-", l.accounts), Asset: "USD",
		Quantity: events.NewAmount(1),
	}
}

// add adds the answer to one debit.
func (m *met) add(t *testing.T, refused *ledger.Error, took time.Duration) {
	m.offered++
	switch {
	case refused == nil:
		m.answered++
		m.latencies = append(m.latencies, took)
	case refused.Code == ledger.CodeContention, refused.Code == ledger.CodeUnavailable:
		m.declined++
	case refused.Code == ledger.CodeOutcomeUnknown:
		m.unknown++
	default:
		t.Error(refused)
	}
}

// percentile returns a percentile of the latencies in milliseconds.
func (m *met) percentile(percent int) int64 {
	if len(m.latencies) == 0 {
		return 0
	}
	slices.Sort(m.latencies)
	return m.latencies[(len(m.latencies)-1)*percent/100].Milliseconds()
}

// printContention measures the loads of the table, of which most have no expected result.
var printContention = flag.Bool("contention", false, "measure each load of the table of contention for 20 seconds")

// TestContention measures how many debits of limited accounts succeed if transactions that meet on a guard conflict.
// The flag -contention prints the table in docs/performance.md.
func TestContention(t *testing.T) {
	t.Parallel()
	const blocks = 10 * time.Millisecond
	seconds := full.Count(2, 6)
	loads := []load{
		{blocks, 50, 1, 0}, {blocks, 100, 1, 0}, {blocks, 250, 1, 0}, {blocks, 250, 4, 0}, {blocks, 250, 8, 0},
		{blocks, 250, 1, 100 * time.Millisecond}, {blocks, 450, 1, 100 * time.Millisecond},
		{2 * time.Millisecond, 250, 1, 0}, {5 * time.Millisecond, 250, 1, 0},
	}
	if *printContention {
		seconds = 20
	} else {
		loads = slices.Concat(loads[:1], loads[4:5], loads[6:7]) // those of which a result is checked
	}
	rows := []string{
		"| blocks, ms | accounts | sent | offered a second | answered a second | 503 | 504 | writes each | p50, p99 ms |",
		"|---:|---:|---|---:|---:|---:|---:|---:|---:|",
	}
	for _, l := range loads {
		m := l.run(t, seconds)
		sent := "alone"
		if l.every > 0 {
			sent = fmt.Sprintf("in batches, every %d ms", l.every.Milliseconds())
		}
		rows = append(rows, fmt.Sprintf("| %d | %d | %s | %d | %d | %d | %d | %.2f | %d, %d |", l.blocks.Milliseconds(),
			l.accounts, sent, m.offered/seconds, m.answered/seconds, m.declined/seconds, m.unknown/seconds,
			float64(m.writes)/float64(m.offered), m.percentile(50), m.percentile(99)))
		if isEnough := l.every > 0 || l.accounts == 8 || l.rate == 50; isEnough && m.answered < m.offered {
			t.Errorf("%+v: only %d of %d debits were answered", l, m.answered, m.offered)
		}
	}
	t.Logf("\n%s", strings.Join(rows, "\n"))
}
