package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
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

// An end or a reversal in a batch has the outcome that it has on its own.
func TestBatchOfEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(4, time.Hour)
		all := ledger.Part{}
		requests := []ledger.Request{
			capture("h-0", some("7")), release("h-1"), capture("h-2", some("11")), release("none"), reversal("r-0", "h-0", some("2")),
			reversal("r-1", "h-0", some("3")), reversal("r-2", "h-0", some("3")), reversal("r-3", "h-3", all), reversal("", "h-0", all),
			held("h-4", "jane", "shop", "10", time.Hour), capture("h-4", all),
		}
		const first, second = "posted posted exceeds_hold transaction_not_found ", "exceeds_reversible nothing_to_reverse invalid_request "
		r.checkDryBatch(false, requests[:4]...)
		results := r.results(false, strings.ReplaceAll(first, "posted", "replayed")+"posted posted "+second+"posted posted", requests...)
		if end := results[0].Posted.End; end == nil || end.Legs[1].Quantity != amount("7") || results[0].Posted.Status() != ledger.StatusCaptured {
			t.Errorf("%+v", results[0].Posted)
		}
		again := r.results(false, strings.ReplaceAll(first+"posted posted "+second+"posted posted", "posted", "replayed"), requests...)
		if again[0].Posted.End.Legs[0] != results[0].Posted.End.Legs[0] {
			t.Errorf("%+v, first %+v", again[0].Posted, results[0].Posted)
		}
		requests[0], requests[1] = capture("h-0", some("8")), capture("h-1", all)
		results, err := r.batch(false, requests[:2]...)
		if err != nil || results[0].Err.Code != ledger.CodeHoldEnded || results[1].Err.HoldStatus != ledger.StatusReleased {
			t.Errorf("%+v, %v", results, err)
		}
	})
}

// Requests that place, end and reverse the same transaction are carried out in their order.
func TestRequestsOfOneTransactionInABatchAreSequential(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "1000")
		var requests []ledger.Request
		for i := range 25 {
			id := fmt.Sprint("h-", i)
			requests = append(requests, held(id, "jane", "shop", "10", time.Hour), capture(id, ledger.Part{}),
				reversal("r-"+id, id, some("4")), reversal("s-"+id, id, some("6")))
		}
		r.results(false, strings.TrimSpace(strings.Repeat("posted ", 100)), requests...)
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

// An atomic batch carries out all of its ends or none. A request may spend what an earlier one credits or gives back.
func TestAtomicBatchOfEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(2, time.Hour) // and 80 are left
		r.mustPost(transfer("t-1", "jane", "bob", "20"))
		back := []ledger.Request{ // 60 + 7 + 10 + 5
			capture("h-0", some("3")), release("h-1"), reversal("r-1", "t-1", some("5")),
		}
		spend := func(quantity string) ledger.Request { return transfer("t-2", "jane", "fees", quantity) }
		_, err := r.batch(true, append([]ledger.Request{spend("61")}, back...)...)
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Request != 1 || e.Funds.Available != amount("60") {
			t.Errorf("%+v %+v", e, e.Funds)
		}
		_, err = r.batch(true, append(back, spend("83"))...)
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Request != 4 || e.Funds.Available != amount("82") {
			t.Errorf("%+v %+v", e, e.Funds)
		}
		r.status("h-0", ledger.StatusHeld)
		r.stored("r-1", false)
		r.journal.forget()
		r.results(true, "posted posted posted posted", append(back, spend("82"))...)
		if calls := strings.Join(r.journal.calls, " "); calls != "Lifecycle Lifecycle Lifecycle Append" {
			t.Errorf("requests: %s", calls)
		}
		r.status("h-0", ledger.StatusCaptured)
		r.results(true, "replayed replayed replayed replayed", append(back, spend("82"))...)

		// The answer is the first refusal, and it names its request.
		_, err = r.batch(true, transfer("t-3", "bank", "jane", "1"), release("h-0"))
		if e := r.refused(err, ledger.CodeHoldEnded); e.Request != 2 || e.HoldStatus != ledger.StatusCaptured {
			t.Errorf("%+v", e)
		}
		_, err = r.batch(true, transfer("t-3", "bank", "jane", "1"), reversal("r-2", "t-1", some("16")))
		if e := r.refused(err, ledger.CodeExceedsReversible); e.Request != 2 || len(e.Left) != 2 || e.Fields[0].Field.Request != 2 {
			t.Errorf("%+v", e)
		}
		// What the batch itself would place is not there yet.
		_, err = r.batch(true, held("h-3", "bank", "jane", "1", time.Hour), release("h-3"))
		if e := r.refused(err, ledger.CodeTransactionNotFound); e.Request != 2 {
			t.Errorf("%+v", e)
		}
		for _, id := range []string{"t-3", "r-2", "h-3"} {
			r.stored(id, false)
		}
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

// The KSUIDs of an atomic batch are greater than those of all that it ends and reverses.
func TestBatchIsMintedAfterWhatItEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.skew = 4 * time.Second
		placed := r.placed(time.Hour).Transaction
		r.restart()
		r.skew = -4 * time.Second
		results := r.results(true, "posted posted", transfer("t-1", "bank", "jane", "1"), capture("h-1", ledger.Part{}))
		if end := results[1].Posted.End; end.Legs[0].ID <= placed.Legs[1].ID {
			t.Errorf("%v after %v", end.Legs, placed.Legs)
		}
	})
}

// After a lost answer, a batch with ends is refused only if it is certain that nothing of it was or will be stored.
func TestUnknownOutcomeOfABatchOfEnds(t *testing.T) {
	for name, c := range map[string]struct {
		step appended
		want string
	}{
		"applied": {applied(errUnknown), "replayed replayed replayed"},
		"late":    {late(20 * time.Second), "replayed replayed replayed"},
		"lost":    {func(context.Context, commit) error { return errUnknown }, "posted posted posted"},
	} {
		for _, isAtomic := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", atomic ", isAtomic), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.holding(2, time.Hour)
					r.mustPost(transfer("t-1", "bank", "shop", "10"))
					requests := []ledger.Request{capture("h-0", ledger.Part{}), release("h-1"), reversal("r-1", "t-1", some("4"))}
					var broken atomic.Bool
					r.journal.forever = func(ctx context.Context, commit commit) error {
						broken.Store(true)
						return c.step(ctx, commit)
					}
					r.journal.fail = func(string) error { // after the first attempt nothing can be read
						if broken.Load() {
							return errUnavailable
						}
						return nil
					}
					results, err := r.batch(isAtomic, requests...)
					if isAtomic {
						r.refused(err, ledger.CodeOutcomeUnknown)
					}
					for i, result := range results {
						if result.Err == nil || result.Err.Code != ledger.CodeOutcomeUnknown && result.Err.Code != ledger.CodeUnavailable {
							t.Errorf("%d: %+v", i, result)
						}
					}
					unknown := len(r.journal.sent) > 0
					time.Sleep(time.Minute)
					if r.journal.fail, r.journal.forever = nil, nil; isAtomic && unknown {
						r.results(true, c.want, requests...)
					}
				})
			})
		}
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

// The transactions that an atomic batch ends or reverses are read several at a time.
func TestAtomicBatchReadsAhead(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(10, time.Hour)
		var requests []ledger.Request
		for i := range 10 {
			requests = append(requests, release(fmt.Sprint("h-", i)))
		}
		r.journal.fail = func(method string) error {
			if method == "Lifecycle" {
				time.Sleep(time.Second)
			}
			return nil
		}
		began := time.Now()
		r.results(true, strings.TrimSpace(strings.Repeat("posted ", 10)), requests...)
		if took := time.Since(began); took > 3*time.Second || r.journal.count("Lifecycle") != 10 {
			t.Errorf("took %v and the requests %v", took, r.journal.calls)
		}
	})
}
