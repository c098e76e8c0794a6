package ledger_test

import (
	"context"
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

// Any reversal of an atomic batch may have to be planned again, or may have been posted before.
func TestAtomicBatchWithConcurrentReversals(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		batch := []ledger.Request{transfer("t-2", "bank", "bob", "1"), reversal("r-1", "t-1", ledger.Part{}), transfer("t-3", "bob", "fees", "1")}
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			if _, err := r.another().Post(t.Context(), reversal("other", "t-1", some("30"))); err != nil {
				t.Error(err)
			}
			return c.apply(ctx)
		}}
		results := r.results(true, "posted posted posted", batch...)
		if got := results[1].Posted.Transaction.Legs[0].Quantity; got != amount("70") {
			t.Errorf("took %v", got)
		}
		batch[0] = transfer("t-4", "bank", "bob", "1")
		r.results(true, "posted replayed replayed", batch...)
		// Once the posted one is found, nothing is unknown.
		batch[0] = transfer("t-5", "bank", "bob", "1")
		r.journal.forever = func(context.Context, commit) error { return errThrottled }
		_, err := r.batch(true, batch...)
		r.refused(err, ledger.CodeThrottled)
	})
}

// No hold is ended twice in a batch. In an atomic batch no transaction is reversed twice.
func TestABatchDoesNotRepeatEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(1, time.Hour)
		r.mustPost(transfer("t-1", "bank", "shop", "10"))
		for _, atomic := range []bool{false, true} {
			_, err := r.batch(atomic, capture("h-0", some("1")), transfer("t-2", "bank", "jane", "1"), release("h-0"))
			e := r.refused(err, ledger.CodeInvalidTransaction)
			if want := (ledger.Field{Request: 3, Name: "transaction"}); len(e.Fields) != 1 || e.Fields[0].Field != want {
				t.Errorf("%+v", e.Fields)
			}
		}
		r.stored("t-2", false)
		r.status("h-0", ledger.StatusHeld)
		twice := []ledger.Request{reversal("r-1", "t-1", some("1")), reversal("r-2", "t-1", some("1"))}
		_, err := r.batch(true, twice...)
		e := r.refused(err, ledger.CodeInvalidTransaction)
		if want := (ledger.Field{Request: 2, Name: "transaction"}); len(e.Fields) != 1 || e.Fields[0].Field != want {
			t.Errorf("%+v", e.Fields)
		}
		r.results(false, "posted posted", twice...)
	})
}
