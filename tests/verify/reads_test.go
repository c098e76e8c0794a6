package verify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/ledger"
	"ledger.example/tests/harness/system"
)

// readHook is a store that counts its scans. It calls before, if it is not nil, with the number of the request ahead of
// each scan and query.
type readHook struct {
	audit.Store
	before   func(n int64) error
	n, scans atomic.Int64
}

func (r *readHook) ahead() error {
	if n := r.n.Add(1); r.before != nil {
		return r.before(n)
	}
	return nil
}

func (r *readHook) Scan(ctx context.Context, in *dynamodb.ScanInput,
	o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	r.scans.Add(1)
	if err := r.ahead(); err != nil {
		return nil, err
	}
	return r.Store.Scan(ctx, in, o...)
}

func (r *readHook) Query(ctx context.Context, in *dynamodb.QueryInput,
	o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := r.ahead(); err != nil {
		return nil, err
	}
	return r.Store.Query(ctx, in, o...)
}

// An audit that did not read the whole table returns an error and no report.
func TestFailedReadYieldsNoReport(t *testing.T) {
	client := copyOfBook(t).client(t)
	throttled, denied := &types.ProvisionedThroughputExceededException{}, &types.ResourceNotFoundException{}
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		before func(n int64) error
		want   error
	}{
		"throttled for a while": {func(n int64) error {
			if n%3 == 0 {
				return throttled
			}
			return nil
		}, nil},
		"throttled": {func(int64) error { return throttled }, throttled},
		"denied": {func(n int64) error {
			if n == 5 {
				return denied
			}
			return nil
		}, denied},
		"interrupted": {func(n int64) error {
			if n == 5 {
				cancel()
			}
			return ctx.Err()
		}, context.Canceled},
	} {
		ctx := ctx
		if name != "interrupted" {
			ctx = t.Context()
		}
		report, err := audit.New(audit.Options{Store: &readHook{Store: client, before: c.before}, Table: books,
			Pause: noPause}).Run(ctx)
		if !errors.Is(err, c.want) || err != nil && report.Counts.Items != 0 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// transfersTable returns a table with transfers that are not projected. One in ten is a released hold.
func transfersTable(t *testing.T, transfers int) *dynamodb.Client {
	t.Helper()
	client := newTable(t, nil)
	w := writer{t, newLedger(client, nil)}
	w.openAccounts()
	for i := range transfers {
		note := about(fmt.Sprint("t-", i))
		if i%10 > 0 {
			w.post(transfer(note, "bank", "market", "USD", 1))
			continue
		}
		note.Hold = &ledger.HoldRequest{}
		w.post(transfer(note, "bank", "market", "USD", 1))
		w.ended(w.Post(w.Context(), ledger.ReleaseRequest{Transaction: note.ID, Actor: "tester"}))
	}
	return client
}

// The memory of an audit does not grow with the table.
func TestMemoryIsBounded(t *testing.T) {
	heapBytes := func() int64 { // the lowest of some readings, to leave out concurrent allocations
		least := int64(math.MaxInt64)
		for range 3 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			least = min(least, int64(m.HeapAlloc))
		}
		return least
	}
	needed := func(transfers int) (most int64) {
		client := transfersTable(t, transfers)
		before := heapBytes()
		a := audit.New(audit.Options{Store: &readHook{Store: client, before: func(n int64) error {
			if n%16 == 0 {
				most = max(most, heapBytes()-before)
			}
			return nil
		}}, Table: books, Segments: 1, Settle: 2 * time.Hour, Pause: noPause})
		if report, err := a.Run(t.Context()); err != nil || report.Counts.Transactions != int64(transfers) {
			t.Fatal(fmt.Sprint(report, err))
		}
		return most
	}
	const slack = 12 << 20 // pages being read
	if small, large := needed(400), needed(4_000); large > small+slack {
		t.Errorf("400 transactions need %d bytes, 4,000 need %d", small, large)
	}
}

// If somebody removes an account's limit directly in the table, the ledger rejects debits of the account.
func TestAlteredAccountAllowsNoDebit(t *testing.T) {
	b := copyOfBook(t)
	jane := table.Account.Key("jane")
	b.set(jane, "Overdraft", table.String("unlimited"))
	client := b.client(t)
	_, err := newLedger(client, nil).Post(t.Context(), transfer(about("much"), "jane", "bank", "USD", 1_000_000_000))
	if !errors.Is(err, events.ErrChecksum) {
		t.Errorf("%v", err)
	}
	if system.Contents(t, client, books)[table.Transaction.Key("much")] != nil {
		t.Error("it was posted")
	}
}
