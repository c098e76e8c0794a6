package ledger_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// G5: a balance was too high for a moment, and a process cached its credits. After creditsTTL it reads them again, and
// refuses debits that are not covered.
func TestCachedCreditsExpire(t *testing.T) {
	jane := pair("jane", "USD")
	for name, wait := range map[string]func(r *rig){
		"by the monotonic clock": func(*rig) { time.Sleep(ledger.CreditsTTL) },
		// The monotonic clock may stop while a function is frozen, or a machine suspended. The wall clock goes on.
		"by the clock": func(r *rig) { r.skew, r.storeSkew = ledger.CreditsTTL, ledger.CreditsTTL; time.Sleep(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				r.restart()
				r.journal.Project(jane, amount("1000"))
				r.mustPost(transfer("t-1", "jane", "shop", "50"))
				r.journal.Project(jane, amount("100")) // it was rebuilt
				wait(r)
				_, err := r.post(transfer("t-2", "jane", "shop", "51"))
				if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("50") {
					t.Errorf("funds %+v", *e.Funds)
				}
				r.mustPost(transfer("t-2", "jane", "shop", "50"))
			})
		})
	}
}

// Of commands that are refused at the same time because of old credits, one reads the exact ones. The others try again
// with them. What they do not cover is refused after a read of its own.
func TestExactCreditsAreReadOnceForAll(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "80")
		r.journal.Project(pair("jane", "USD"), events.Amount{})
		r.journal.fail = func(request string) error {
			if request == "Funds" {
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}
		codes := make([]ledger.Code, 9)
		var posts sync.WaitGroup
		for i := range codes {
			posts.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				_, err := r.post(transfer("", "jane", "shop", "10"))
				if e, ok := errors.AsType[*ledger.Error](err); ok {
					codes[i] = e.Code
				}
			})
		}
		posts.Wait()
		if slices.Sort(codes); !slices.Equal(codes, append(make([]ledger.Code, 8), ledger.CodeInsufficientFunds)) {
			t.Errorf("%q", codes)
		}
		if n := r.journal.count("Funds"); n != 2 {
			t.Errorf("the credits were read %d times", n)
		}
	})
}
