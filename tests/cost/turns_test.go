package cost

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// reversing is what became of events.ReversalsMax reversals of one transaction.
type reversing struct {
	took, longest           time.Duration // all of them; one of them
	attempts, reads, failed int64
}

// reverseAll reverses a transaction as often as it may be, by callers that send one reversal after the other to their
// processes. The clock is simulated, and the processor takes no time.
func reverseAll(t *testing.T, callers, processes int) (met reversing) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)))
		var attempts, reads, failed, next atomic.Int64
		table := slowTable(t, 10*time.Millisecond, varied, func(isWrite bool) {
			if isWrite {
				attempts.Add(1)
			} else {
				reads.Add(1)
			}
		})
		banks := make([]*ledger.Ledger, processes)
		for i := range banks {
			banks[i] = openBank(table)
		}
		load{accounts: 1}.open(t, banks[0])
		whole := ledger.PostTransfer{Annotation: ledger.Annotation{ID: "whole", Actor: "tester"},
			From: "shop-1", To: "shop-0", Asset: "USD", Quantity: events.NewAmount(events.ReversalsMax)}
		if _, err := banks[0].Post(t.Context(), whole); err != nil {
			t.Fatal(err)
		}
		attempts.Store(0)
		reads.Store(0)
		began := time.Now()
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for n := next.Add(1); n <= events.ReversalsMax; n = next.Add(1) {
					sent := time.Now()
					_, err := banks[i%processes].Post(t.Context(), ledger.ReverseRequest{
						Annotation:  ledger.Annotation{ID: fmt.Sprint("part:", n), Actor: "tester"},
						Transaction: "whole", Part: ledger.Part{Quantity: new(events.NewAmount(1))},
					})
					if err != nil {
						failed.Add(1)
					}
					mu.Lock()
					met.longest = max(met.longest, time.Since(sent))
					mu.Unlock()
				}
			})
		}
		all.Wait()
		met.took, met.attempts, met.reads, met.failed = time.Since(began), attempts.Load(), reads.Load(), failed.Load()
	})
	t.Logf("%d callers of %d processes: %v, the longest %v; %d attempts, %d reads, %d refused",
		callers, processes, met.took, met.longest, met.attempts, met.reads, met.failed)
	return met
}

func openBank(t table.Table) *ledger.Ledger {
	return ledger.New(ledger.Config{Table: t, Projections: projections.NewReader(t, nil)})
}

// A transaction is reversed as often as it may be, whoever sends the reversals: none is refused because others came
// first again and again, and eight callers take at most twice as long as one.
func TestReversalsTakeTurns(t *testing.T) {
	t.Parallel()
	one := reverseAll(t, 1, 1)
	if one.attempts != events.ReversalsMax || one.reads > events.ReversalsMax+10 {
		t.Errorf("one caller makes %d attempts and %d reads", one.attempts, one.reads)
	}
	for processes, attempts := range map[int]int64{1: 1, 2: 2, 8: 4} {
		met := reverseAll(t, 8, processes)
		if met.failed > 0 || met.longest > 5*time.Second || met.took > 2*one.took {
			t.Errorf("%d processes: %d refused, one took %v, all %v instead of %v by one caller",
				processes, met.failed, met.longest, met.took, one.took)
		}
		if most := attempts * events.ReversalsMax; met.attempts > most {
			t.Errorf("%d processes make %d attempts, want at most %d", processes, met.attempts, most)
		}
	}
}
