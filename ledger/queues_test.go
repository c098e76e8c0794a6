package ledger

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// One command at a time has its turn, in their order. One that gives up does not hold up the others.
func TestQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queues
		var order []int
		var wg sync.WaitGroup
		for i := range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if i == 2 { // its time ends while it waits
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			}
			wg.Go(func() {
				defer cancel()
				if leave, ok := q.enter(ctx, "t-1"); ok {
					order = append(order, i) // the race detector shows two at once
					time.Sleep(time.Minute)
					leave()
				} else if i != 2 {
					t.Errorf("%d has no turn", i)
				}
			})
			synctest.Wait()
		}
		if leave, ok := q.enter(t.Context(), "another"); !ok {
			t.Error("another key waits")
		} else {
			leave()
		}
		wg.Wait()
		if len(order) != 5 || order[0] != 0 || order[2] != 3 || order[4] != 5 || len(q.lines) != 0 {
			t.Errorf("turns %v, lines %v", order, q.lines)
		}
	})
}
