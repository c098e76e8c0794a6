package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/ledger"
	_ "ledger.example/tests/harness/full" // fixes the seed
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
// with one update of the guard. Ids that turn out to be used are answered, and the others are written at once.
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
		r.mustPost(transfer("u-3", "jane", "shop", "2"))
		r.journal.forget()
		begun := time.Now()
		again := slices.Concat(transfers("t", 1), transfers("u", 5))
		r.results(false, "replayed posted posted posted transaction_id_reused posted", again...)
		if waited := time.Since(begun); waited > 0 {
			t.Errorf("waited %v before another attempt", waited)
		}
		if c := r.journal.sent; len(c) != 2 || c[0].heads != 6 || c[1].heads != 4 {
			t.Errorf("sent %+v", c)
		}
		if spent, _ := r.journal.Spent(pair("jane", "USD")); spent != amount("46") {
			t.Errorf("spent %v", spent)
		}
	})
}

// A request is not judged while an earlier one may be sent again: a debit of the same account and asset, so that the
// order of the batch decides which is covered, or one that is ended or reversed.
func TestRequestsWaitForEarlierOnes(t *testing.T) {
	place := transfer("h-1", "jane", "shop", "1")
	place.Hold = &ledger.HoldRequest{}
	for last, requests := range map[string][]ledger.Request{
		"posted insufficient_funds": {transfer("t-1", "jane", "shop", "8"), transfer("t-2", "jane", "shop", "5")},
		"posted posted posted":      {place, capture("h-1", ledger.Part{}), reversal("r-1", "h-1", ledger.Part{})},
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "10")
			r.journal.forever = func(ctx context.Context, c commit) error {
				if c.heads == 1 {
					return errThrottled
				}
				return c.apply(ctx) // it is refused
			}
			results := r.results(false, "throttled"+strings.Repeat(" unavailable", len(requests)-1), requests...)
			if detail := results[1].Err.Detail; !strings.Contains(detail, "not tried") {
				t.Error(detail)
			}
			r.journal.forever = nil
			r.results(false, last, requests...)
		})
	}
}

// What the first request names cannot be read for a while: not for all requests, not for those that are to be written
// together, and not for the first one alone. It stays the first.
func TestUnreadDefinitionsKeepTheOrder(t *testing.T) {
	first := transfer("t-1", "jane", "shop", "8")
	trade := ledger.PostTrade{Annotation: first.Annotation, Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: amount("1"), Cost: amount("8"), Settle: true}
	for _, first := range []ledger.Request{first, trade} {
		for declined, want := range map[int]string{6: "posted insufficient_funds", 12: "posted insufficient_funds", 18: "unavailable unavailable"} {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "10")
				r.restart()
				r.journal.fail = func(request string) error {
					if request == "Lookup" && r.journal.count(request) <= declined {
						return errUnavailable
					}
					return nil
				}
				r.results(false, want, first, transfer("t-2", "jane", "shop", "5"))
			})
		}
	}
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
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // so that it makes few attempts
			defer cancel()
			results, err := r.PostBatch(ctx, requests, false)
			if got := strings.Join(outcomes(results), " "); err != nil || got != repeated("outcome_unknown", len(requests)) {
				t.Fatalf("answered %s, %v", got, err)
			}
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

// An atomic batch is posted if and only if its requests would be posted one after the other. Otherwise its error is
// the first refusal by what is stored for good, or else the first by what other requests can change, or else the first
// for funds.
func TestAtomicBatchIsJudgedInOrder(t *testing.T) {
	accounts := rapid.SampledFrom([]string{"jane", "bob", "margin", "bank"})
	quantity := rapid.Int64Range(1, 300)
	rapid.Check(t, func(rt *rapid.T) {
		var before, requests []ledger.Request
		ended := map[int]bool{} // the transaction that the batch ends or reverses, by its index in before
		for i := range rapid.IntRange(0, 4).Draw(rt, "before") {
			id, from := fmt.Sprint("b-", i), accounts.Draw(rt, "from")
			to := accounts.Filter(func(to string) bool { return to != from }).Draw(rt, "to")
			if q := fmt.Sprint(quantity.Draw(rt, "quantity")); rapid.Bool().Draw(rt, "hold") {
				placed := transfer(id, from, to, q)
				placed.Hold = &ledger.HoldRequest{}
				before = append(before, placed)
			} else {
				before = append(before, transfer(id, from, to, q))
			}
		}
		for i := range rapid.IntRange(1, 7).Draw(rt, "requests") {
			of := rapid.IntRange(0, 6).Draw(rt, "of")
			if of < len(before) && !ended[of] {
				ended[of] = true
				id, part := fmt.Sprint("b-", of), ledger.Part{}
				if rapid.Bool().Draw(rt, "part") {
					part = some(fmt.Sprint(quantity.Draw(rt, "quantity")))
				}
				requests = append(requests, rapid.SampledFrom([]ledger.Request{
					capture(id, part), release(id), reversal(fmt.Sprint("t-", i), id, part),
				}).Draw(rt, "end"))
				continue
			}
			post := ledger.PostTransaction{Annotation: ledger.Annotation{ID: fmt.Sprint("t-", i), Actor: "tester"}}
			if rapid.IntRange(0, 4).Draw(rt, "hold") == 0 {
				post.Hold = &ledger.HoldRequest{}
			}
			for range rapid.IntRange(1, 3).Draw(rt, "moves") {
				q := events.NewAmount(quantity.Draw(rt, "quantity"))
				post.Postings = append(post.Postings,
					ledger.LegRequest{Account: accounts.Draw(rt, "from"), Asset: "USD", Quantity: q.Neg()},
					ledger.LegRequest{Account: accounts.Draw(rt, "to"), Asset: "USD", Quantity: q})
			}
			requests = append(requests, post)
		}
		funds := fmt.Sprint(rapid.Int64Range(1, 300).Draw(rt, "funds"))
		projected, lowered := rapid.Bool().Draw(rt, "projected"), rapid.Bool().Draw(rt, "lowered")
		problem := ""
		judge := func(atomic bool) (refusedAt int, code ledger.Code, spent [3]string) {
			inBubble(t, func(t *testing.T, r *rig) {
				for _, account := range []string{"jane", "bob", "margin"} {
					r.fund(account, "USD", funds)
					if !projected {
						r.journal.Project(pair(account, "USD"), events.Amount{})
					}
				}
				if lowered { // margin owes more than it may
					r.mustPost(transfer("", "margin", "shop", "400"))
					none := events.Overdraft{}
					r.mustChange(ledger.ChangeAccount{ID: "margin", Overdraft: &none})
				}
				for _, request := range before {
					_, _ = r.post(request) // it may be refused
				}
				var before [3]string
				spentNow := func(of *[3]string) {
					for i, account := range []string{"jane", "bob", "margin"} {
						s, _ := r.journal.Spent(pair(account, "USD"))
						of[i] = s.String()
					}
				}
				spentNow(&before)
				var err error
				var e *ledger.Error
				if !atomic {
					later := []ledger.Code{ledger.CodeExceedsHold, ledger.CodeNothingToReverse, ledger.CodeExceedsReversible}
					for i, request := range dryAll(requests) {
						_, err := r.post(request)
						if !errors.As(err, &e) || e.Code == ledger.CodeInsufficientFunds {
							continue
						}
						if isLater := slices.Contains(later, e.Code); code == "" || !isLater && slices.Contains(later, code) {
							refusedAt, code = i+1, e.Code
						}
					}
					if code != "" {
						return
					}
				}
				if atomic {
					_, err = r.batch(true, requests...)
				} else {
					for i, request := range requests {
						if _, err = r.post(request); err != nil {
							refusedAt = i + 1
							break
						}
					}
				}
				if errors.As(err, &e) {
					code = e.Code
					if atomic {
						refusedAt = e.Request
					}
				}
				if spentNow(&spent); atomic && err != nil && spent != before {
					problem = fmt.Sprintf("refused, and spent %v instead of %v", spent, before)
				}
			})
			return refusedAt, code, spent
		}
		at, code, spent := judge(false)
		gotAt, gotCode, gotSpent := judge(true)
		if gotAt != at || gotCode != code {
			rt.Fatalf("atomic: %s at %d; one by one: %s at %d", gotCode, gotAt, code, at)
		}
		if problem != "" || code == "" && gotSpent != spent {
			rt.Fatalf("atomic spent %v, one by one %v; %s", gotSpent, spent, problem)
		}
	})
}
