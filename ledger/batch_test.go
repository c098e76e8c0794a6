package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// outcomes are the codes of results, "posted" or "replayed".
func outcomes(results []ledger.BatchResult) (all []string) {
	for _, r := range results {
		switch {
		case r.Err != nil:
			all = append(all, string(r.Err.Code))
		case r.Posted.Replayed:
			all = append(all, "replayed")
		default:
			all = append(all, "posted")
		}
	}
	return all
}

func (r *rig) batch(atomic bool, requests ...ledger.Request) ([]ledger.BatchResult, error) {
	r.t.Helper()
	return r.PostBatch(r.t.Context(), requests, atomic)
}

// results fails the test unless the batch has these outcomes.
func (r *rig) results(atomic bool, want string, requests ...ledger.Request) []ledger.BatchResult {
	r.t.Helper()
	results, err := r.batch(atomic, requests...)
	if err != nil {
		r.t.Fatal(err)
	}
	if got := strings.Join(outcomes(results), " "); got != want {
		r.t.Fatalf("answered %s, want %s", got, want)
	}
	return results
}

// All requests of a batch are of one actor, and dry runs or not.
func TestBatchesAreOfOneKind(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		other := transfer("t-2", "bank", "jane", "1")
		other.Actor = "another"
		for _, second := range []ledger.Request{other, dry(transfer("t-2", "bank", "jane", "1"))} {
			_, err := r.batch(false, transfer("t-1", "bank", "jane", "1"), second)
			r.refused(err, ledger.CodeInternal)
		}
		if len(r.journal.sent) != 0 {
			t.Errorf("sent %+v", r.journal.sent)
		}
	})
}

// What an invalid request of a batch names is not read with what the others name: it may be no key.
func TestInvalidRequestsAreNotLookedUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		invalid := transfer("t-1", "bank", strings.Repeat("x", 3000), "1")
		r.results(false, "invalid_request posted posted", invalid, transfer("t-2", "bank", "jane", "1"), transfer("t-3", "bank", "bob", "1"))
		if n := r.journal.count("Lookup"); n != 1 || strings.Contains(r.log.String(), "prefetch") {
			t.Errorf("%d lookups: %s", n, r.log)
		}
	})
}

// holding funds jane with 100 USD and lets her hold 10 of them for shop n times, as h-0, h-1 …
func (r *rig) holding(n int, after time.Duration) {
	r.t.Helper()
	r.fund("jane", "USD", "100")
	for i := range n {
		r.mustPost(held(fmt.Sprint("h-", i), "jane", "shop", "10", after))
	}
	r.journal.forget()
}

func (r *rig) status(id string, want events.Status) {
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

// Of an atomic batch, one request may turn out to be posted in the same attempt that finds the number of a reversal taken.
// Any of them may have been posted before.
func TestAtomicBatchWithAReplayAndAConcurrentReversal(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		r.fund("shop", "USD", "100") // so that no guard refuses what exceeds the transaction
		posted, back := transfer("t-2", "bank", "bob", "1"), reversal("r-1", "t-1", ledger.Part{})
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			for _, other := range []ledger.Request{reversal("other", "t-1", some("30")), posted} {
				if _, err := r.another().Post(t.Context(), other); err != nil {
					t.Error(err)
				}
			}
			return c.apply(ctx)
		}}
		results := r.results(true, "replayed posted", posted, back)
		if got := results[1].Posted.Header.Legs[0].Quantity; got != amount("70") {
			t.Errorf("took %v", got)
		}
		r.results(true, "posted replayed", transfer("t-4", "bank", "bob", "1"), back)
		// Once the posted one is found, nothing is unknown.
		r.journal.forever = answers(errThrottled)
		_, err := r.batch(true, transfer("t-5", "bank", "bob", "1"), back)
		r.refused(err, ledger.CodeThrottled)
	})
}

// An atomic batch with a capture that comes too late writes the expiry and nothing else.
func TestAtomicBatchWithALateCapture(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(2, time.Minute)
		all := ledger.Part{}
		batch := []ledger.Request{transfer("t-1", "bank", "jane", "1"), capture("h-0", all), transfer("t-2", "jane", "fees", "1"), capture("h-1", all)}
		time.Sleep(time.Minute + time.Second)
		for _, requests := range [][]ledger.Request{batch, dryAll(batch)} {
			_, err := r.batch(true, requests...)
			if e := r.refused(err, ledger.CodeUnavailable); e.Request != 2 {
				t.Errorf("%+v", e)
			}
		}
		if len(r.journal.sent) != 0 {
			t.Errorf("sent %+v", r.journal.sent)
		}
		time.Sleep(5 * time.Second)
		for range 2 {
			for _, requests := range [][]ledger.Request{dryAll(batch), batch} {
				_, err := r.batch(true, requests...)
				if e := r.refused(err, ledger.CodeHoldExpired); e.Request != 2 {
					t.Errorf("%+v", e)
				}
			}
		}
		if len(r.journal.sent) != 1 || r.journal.sent[0].heads != 1 {
			t.Errorf("sent %+v", r.journal.sent)
		}
		r.status("h-0", events.StatusExpired)
		r.status("h-1", events.StatusHeld)
		r.stored("t-1", false)
	})
	// An earlier attempt, whose answer was lost, arrives before the expiry: all of the batch was carried out.
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(1, time.Second)
		batch := []ledger.Request{transfer("t-1", "bank", "jane", "1"), capture("h-0", ledger.Part{})}
		r.journal.steps = []appended{late(7 * time.Second), func(ctx context.Context, c commit) error {
			if c.heads != 1 {
				t.Errorf("sent %+v", c)
			}
			time.Sleep(time.Second)
			return c.apply(ctx)
		}}
		r.journal.fail = func(method string) error {
			if method == "Lifecycle" && len(r.journal.sent) == 1 {
				time.Sleep(1500 * time.Millisecond)
			}
			return nil
		}
		results, err := r.batch(true, batch...)
		var e *ledger.Error
		if err != nil && (!errors.As(err, &e) || e.Code != ledger.CodeOutcomeUnknown) {
			t.Errorf("%+v, %v", results, err)
		}
		time.Sleep(time.Minute)
		r.journal.fail = nil
		r.results(true, "replayed replayed", batch...)
	})
}
