package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/ledger"
	_ "ledger.example/tests/full" // fixes the seed
)

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
