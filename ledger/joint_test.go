package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	_ "ledger.example/tests/full" // fixes the seed
)

// transfers are n requests that debit jane by 1 USD each.
func transfers(prefix string, n int) (all []ledger.Request) {
	for i := range n {
		all = append(all, transfer(fmt.Sprint(prefix, "-", i), "jane", "shop", "1"))
	}
	return all
}

func repeated(outcome string, n int) string {
	return strings.Join(slices.Repeat([]string{outcome}, n), " ")
}

// Requests that debit the same limited account are written together, as many as one transaction of the store holds,
// with one update of the guard.
func TestJointWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.results(false, repeated("posted", 40), transfers("t", 40)...)
		sent := r.journal.sent
		if len(sent) != 2 || sent[0].heads != 33 || sent[1].heads != 7 || len(sent[0].debits) != 1 {
			t.Fatalf("sent %+v", sent)
		}
		if d := sent[0].debits[0]; d.gross != amount("33") || d.bound != amount("67") {
			t.Errorf("debits %+v", d)
		}
		if spent, _ := r.journal.Spent(pair("jane", "USD")); spent != amount("40") {
			t.Errorf("spent %v", spent)
		}
		r.results(false, repeated("replayed", 40), transfers("t", 40)...)
	})
}

// If the requests do not fit together, each is judged alone.
func TestJointWriteIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		requests := []ledger.Request{transfer("t-1", "jane", "shop", "60"), transfer("t-2", "jane", "shop", "60"),
			transfer("t-3", "jane", "shop", "40")}
		results := r.results(false, "posted insufficient_funds posted", requests...)
		if f := results[1].Err.Funds; f.Requested != amount("60") || f.Available != amount("40") {
			t.Errorf("%+v", f)
		}
		r.state("jane", isFrozen)
		r.results(false, "replayed account_frozen account_frozen", requests[0], requests[1], transfer("t-4", "jane", "shop", "1"))
	})
}

// Ids that turn out to be used are answered, and the other requests are written together.
func TestJointWriteWithoutUsedIDs(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "1"))
		r.mustPost(transfer("t-3", "jane", "shop", "2"))
		r.journal.forget()
		requests := transfers("t", 5)
		r.results(false, "posted replayed posted transaction_id_reused posted", requests...)
		if c := r.journal.sent; len(c) != 2 || c[0].heads != 5 || c[1].heads != 3 {
			t.Errorf("sent %+v", c)
		}
	})
}

// A guard that was not told of the account's newest change is told, and the requests are still written together.
func TestJointWriteAfterAChange(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "10")
		r.results(false, "posted posted", transfers("t", 2)...) // the account is cached from now on
		limit := events.Overdraft{Limits: map[string]events.Amount{"USD": amount("90")}}
		if _, err := r.another().ChangeAccount(t.Context(), ledger.ChangeAccount{ID: "jane", Overdraft: &limit, Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
		r.journal.forget()
		r.results(false, repeated("posted", 20), transfers("u", 20)...)
		for _, c := range r.journal.sent {
			if c.heads != 20 {
				t.Errorf("sent %+v", c)
			}
		}
	})
}

// After a joint write of unknown outcome, each of its requests is unknown until it is answered.
func TestUnknownOutcomeOfAJointWrite(t *testing.T) {
	t.Run("applied", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			r.journal.steps = []appended{applied(errUnknown)}
			r.results(false, "posted posted posted", transfers("t", 3)...)
		})
	})
	for name, after := range map[string]appended{
		"then throttled": answers(errThrottled), "then unavailable": answers(errUnavailable),
		"then conflicts": cancelled(head(0, store.CauseConflict)), "then no answer": hangs,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				r.journal.steps, r.journal.forever = []appended{late(time.Minute)}, after
				results := r.results(false, repeated("outcome_unknown", 3), transfers("t", 3)...)
				for i, one := range results {
					if want := fmt.Sprint("t-", i); one.Err.Transaction != want {
						t.Errorf("request %d: %+v", i, one.Err)
					}
				}
			})
		})
	}
	t.Run("applied late, refused together before", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			r.journal.steps = []appended{late(15 * time.Millisecond), cancelled(refuses("jane", "99")), answers(errUnknown)}
			r.results(false, "posted posted posted", transfers("t", 3)...)
		})
	})
	t.Run("then refused together, and throttled", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "3")
			spend := func(ctx context.Context, c commit) error {
				if _, err := r.another().Post(t.Context(), transfer("", "jane", "shop", "1")); err != nil {
					t.Error(err)
				}
				return c.apply(ctx)
			}
			r.journal.steps, r.journal.forever = []appended{late(time.Minute), spend}, answers(errThrottled)
			r.results(false, repeated("outcome_unknown", 3), transfers("t", 3)...)
		})
	})
	t.Run("nothing of it is sent after the caller is gone", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			ctx, cancel := context.WithCancel(t.Context())
			r.journal.steps = []appended{func(context.Context, commit) error { cancel(); return errUnknown }}
			results, err := r.PostBatch(ctx, transfers("t", 3), false)
			if err != nil || strings.Join(outcomes(results), " ") != repeated("outcome_unknown", 3) {
				t.Errorf("%v %v", outcomes(results), err)
			}
			if len(r.journal.sent) != 1 {
				t.Errorf("sent %d writes", len(r.journal.sent))
			}
		})
	})
}

// A joint write that keeps conflicting is given up, and its requests are tried alone.
func TestJointWriteThatConflicts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.forever = func(ctx context.Context, c commit) error {
			if c.heads > 1 {
				return cancelled(head(0, store.CauseConflict))(ctx, c)
			}
			return c.apply(ctx)
		}
		r.results(false, "posted posted posted", transfers("t", 3)...)
	})
}

// A request that ends or reverses a transaction is not judged while an earlier one for it may be sent again.
func TestEndsWaitForEarlierRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		place := transfer("h-1", "jane", "shop", "1")
		place.Hold = &ledger.HoldRequest{}
		of := ledger.Annotation{ID: "r-1", Actor: "tester"}
		r.journal.forever = answers(errThrottled)
		results := r.results(false, "throttled unavailable unavailable", place,
			ledger.CaptureRequest{Transaction: "h-1", Actor: "tester"}, ledger.ReverseRequest{Annotation: of, Transaction: "h-1"})
		if detail := results[1].Err.Detail; !strings.Contains(detail, "not tried") {
			t.Error(detail)
		}
		r.journal.forever = nil
		r.results(false, "posted posted posted", place, ledger.CaptureRequest{Transaction: "h-1", Actor: "tester"},
			ledger.ReverseRequest{Annotation: of, Transaction: "h-1"})
	})
}

// A request that is refused alone, while a joint write with it may still be applied, is never posted.
func TestLateJointWrite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var requests []ledger.Request
		for i := range rapid.IntRange(2, 4).Draw(rt, "requests") {
			requests = append(requests, owning(rt, fmt.Sprint("t-", i)))
		}
		funds := rapid.SampledFrom([]string{"1", "10", "30"}).Draw(rt, "funds")
		alone := rapid.SliceOfNDistinct(rapid.IntRange(0, len(requests)-1), 1, len(requests), rapid.ID).Draw(rt, "alone")
		refused, headers := make([]bool, len(requests)), map[string]events.TransactionPosted{}
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", funds)
			r.journal.steps, r.journal.forever = []appended{late(20 * time.Second)}, answers(errUnknown)
			r.results(false, repeated("outcome_unknown", len(requests)), requests...)
			for _, i := range alone {
				_, err := r.another().Post(t.Context(), requests[i])
				refused[i] = err != nil
			}
			time.Sleep(time.Minute)
			headers = r.journal.Headers()
		})
		for i := range refused {
			if _, stored := headers[fmt.Sprint("t-", i)]; stored && refused[i] {
				rt.Fatalf("request %d was refused, and is posted", i)
			}
		}
	})
}

// owning draws a request that debits jane, and may credit her as well.
func owning(rt *rapid.T, id string) ledger.Request {
	gross, own := rapid.Int64Range(5, 40).Draw(rt, "gross"), rapid.SampledFrom([]int64{0, 0, 10, 60}).Draw(rt, "own")
	request := ledger.PostTransaction{Annotation: ledger.Annotation{ID: id, Actor: "tester"}, Postings: []ledger.LegRequest{
		{Account: "jane", Asset: "USD", Quantity: events.NewAmount(-gross)},
		{Account: "bank", Asset: "USD", Quantity: events.NewAmount(gross)}}}
	if own > 0 {
		request.Postings = append(request.Postings, ledger.LegRequest{Account: "bank", Asset: "USD", Quantity: events.NewAmount(-own)},
			ledger.LegRequest{Account: "jane", Asset: "USD", Quantity: events.NewAmount(own)})
	}
	if rapid.IntRange(0, 5).Draw(rt, "hold") == 0 {
		request.Hold = &ledger.HoldRequest{}
	}
	return request
}
