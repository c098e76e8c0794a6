package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"ledger.example/ledger"
)

// Reversals of one transaction take turns in batches, too, so that no attempt is in vain.
func TestReversalsInBatchesTakeTurns(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		r.mustPost(transfer("t-2", "bank", "shop", "100"))
		r.journal.forget()
		r.journal.forever = func(ctx context.Context, c commit) error {
			time.Sleep(50 * time.Millisecond)
			return c.apply(ctx)
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				one := reversal(fmt.Sprint("one-", i), "t-1", some("1"))
				two := reversal(fmt.Sprint("two-", i), "t-2", some("1"))
				switch i % 4 {
				case 0:
					r.results(true, "posted posted", one, two)
				case 1:
					r.results(true, "posted posted", two, one)
				case 2:
					r.results(false, "posted posted", one, two)
				default:
					r.mustPost(one)
				}
			})
		}
		all.Wait()
		if n, want := len(r.journal.sent), 4*1+2*2+2; n != want {
			t.Errorf("%d attempts, want %d", n, want)
		}
	})
}

// A reversal that waits for others gives up while an attempt would still be in time. A dry run waits for nobody.
func TestWaitingReversalGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		r.journal.forever = func(ctx context.Context, _ commit) error {
			<-ctx.Done()
			return errUnknown
		}
		first := make(chan error, 1)
		go func() {
			_, err := r.Post(t.Context(), reversal("r-1", "t-1", some("1")))
			first <- err
		}()
		time.Sleep(time.Millisecond)
		began := time.Now()
		r.mustPost(dry(reversal("r-2", "t-1", some("1"))))
		if time.Since(began) > time.Second {
			t.Error("the dry run waited")
		}
		began = time.Now()
		_, err := r.Post(t.Context(), reversal("r-2", "t-1", some("1")))
		r.refused(err, ledger.CodeContention)
		if waited := time.Since(began); waited > 7*time.Second {
			t.Errorf("it waited for %v", waited)
		}
		r.refused(<-first, ledger.CodeOutcomeUnknown)
	})
}
