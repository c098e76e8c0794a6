package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// holding funds jane with 100 USD and lets her hold 10 of them for shop n times, as h-0, h-1 …
func (r *rig) holding(n int, after time.Duration) {
	r.t.Helper()
	r.fund("jane", "USD", "100")
	for i := range n {
		r.mustPost(held(fmt.Sprint("h-", i), "jane", "shop", "10", after))
	}
	r.journal.forget()
}

func (r *rig) status(id string, want ledger.Status) {
	r.t.Helper()
	lifecycle, err := r.Lifecycle(r.t.Context(), id)
	if err != nil || lifecycle.Status() != want {
		r.t.Fatalf("%s is %q, want %q: %v", id, lifecycle.Status(), want, err)
	}
}

// A reversal may debit a closed account, but not in the name of another request of its batch.
func TestReversalInABatchOpensNoClosedAccount(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-2", "bank", "bob", "1")) // this process knows the open account for a while
		r.mustPost(transfer("t-3", "bob", "bank", "1"))
		closed := events.StateClosed
		if _, err := r.another().ChangeAccount(t.Context(), ledger.ChangeAccount{ID: "bob", State: &closed, Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-4", "bank", "bob", "10"))
		back, out := reversal("r-1", "t-4", some("4")), transfer("t-5", "bob", "bank", "2")
		for at, batch := range [][]ledger.Request{{out, back}, {back, out}} {
			_, err := r.batch(true, batch...)
			if e := r.refused(err, ledger.CodeAccountClosed); e.Request != at+1 {
				t.Errorf("request %d is refused, want %d", e.Request, at+1)
			}
		}
		r.results(true, "posted posted", back, transfer("t-6", "bank", "jane", "2"))
	})
}
