package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// A refusal has the amounts of the first pair, in the order of the postings, whose net debit is not covered. A covered
// transaction is posted.
func TestRefusalNamesTheFirstPairInTheOrderOfThePostings(t *testing.T) {
	accounts, assets := rapid.SampledFrom([]string{"jane", "bob", "margin"}), rapid.SampledFrom([]string{"USD", "EUR"})
	postings := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ledger.LegRequest {
		return ledger.LegRequest{
			Account: accounts.Draw(t, "account"), Asset: assets.Draw(t, "asset"),
			Quantity: events.NewAmount(rapid.Int64Range(1, 200).Draw(t, "quantity") * rapid.SampledFrom([]int64{-1, 1}).Draw(t, "sign")),
		}
	}), 3, 12)
	rapid.Check(t, func(rt *rapid.T) {
		r := ledger.PostTransaction{Annotation: ledger.Annotation{ID: "t-1", Actor: "tester"}, Postings: postings.Draw(rt, "postings")}
		funds := rapid.Int64Range(1, 300).Draw(rt, "funds")
		net, order := map[events.Pair]int64{}, []events.Pair{}
		for _, leg := range r.Postings {
			p, quantity := pair(leg.Account, leg.Asset), int64Of(leg.Quantity)
			if !slices.Contains(order, p) {
				order = append(order, p)
			}
			net[p] += quantity
		}
		for _, asset := range []string{"USD", "EUR"} {
			if sum := net[pair("jane", asset)] + net[pair("bob", asset)] + net[pair("margin", asset)]; sum != 0 {
				r.Postings = append(r.Postings, ledger.LegRequest{Account: "market", Asset: asset, Quantity: events.NewAmount(-sum)})
			}
		}
		if len(r.Postings) < 2 {
			return
		}
		available := func(p events.Pair) int64 {
			if p == pair("margin", "USD") {
				return funds + 500
			}
			return funds
		}
		first := slices.IndexFunc(order, func(p events.Pair) bool { return -net[p] > available(p) })
		var problem string
		inBubble(t, func(t *testing.T, rig *rig) {
			for _, account := range []string{"jane", "bob", "margin"} {
				for _, asset := range []string{"USD", "EUR"} {
					rig.fund(account, asset, fmt.Sprint(funds))
				}
			}
			_, err := rig.post(r)
			var e *ledger.Error
			switch {
			case first < 0 && err != nil:
				problem = fmt.Sprintf("refused what is covered: %v", err)
			case first < 0:
			case !errors.As(err, &e) || e.Code != ledger.CodeInsufficientFunds:
				problem = fmt.Sprintf("%v of %v, of which %d are there: %v", net[order[first]], order[first], available(order[first]), err)
			default:
				p := order[first]
				want := ledger.Funds{
					Asset: p.Asset, Available: events.NewAmount(available(p)), Requested: events.NewAmount(-net[p]),
				}
				if e.Account != p.Account || *e.Funds != want {
					problem = fmt.Sprintf("refused for %s %+v, want %s %+v", e.Account, *e.Funds, p.Account, want)
				}
			}
		})
		if problem != "" {
			rt.Fatalf("%s", problem)
		}
	})
}

// loseAnswerThenRefuse makes the first attempt by the given step, and cancels the next one with a refusal by the guard
// alone: a cancellation may have no reason for a header that exists.
func (r *rig) loseAnswerThenRefuse(first appended) {
	r.journal.steps = []appended{first, cancelled(refuses("jane", "100"))}
	looks := 0
	r.journal.fail = func(method string) error {
		if method == "Transaction" {
			if looks++; looks <= 6 {
				return errUnavailable // the first look, with its repetitions, is in vain
			}
		}
		return nil
	}
}

// G4: before a refusal is final the header is read: an attempt of this request, or another request with this id, may
// have been posted.
func TestNoRefusalOfAStoredTransaction(t *testing.T) {
	t.Run("by its own attempt", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			r.loseAnswerThenRefuse(applied(errUnknown))
			if posted := r.mustPost(transfer("t-1", "jane", "shop", "100")); posted.Replayed {
				t.Error("its own attempt counts as a replay")
			}
			if n := len(r.journal.sent); n != 2 {
				t.Errorf("%d attempts", n)
			}
		})
	})
	for name, quantity := range map[string]string{"by another request": "100", "by a request with another body": "60"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				other := r.another()
				r.loseAnswerThenRefuse(func(_ context.Context, _ commit) error {
					_, err := other.Post(t.Context(), transfer("t-1", "jane", "shop", quantity))
					return errors.Join(errUnknown, err)
				})
				posted, err := r.post(transfer("t-1", "jane", "shop", "100"))
				if quantity != "100" {
					r.refused(err, ledger.CodeTransactionIDReused)
				} else if err != nil || !posted.Replayed {
					t.Errorf("%+v, %v", posted, err)
				}
			})
		})
	}
}

// A command whose refusal cannot be resolved ends at once, without another attempt.
func TestRefusalThatCannotBeResolved(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "1"))
		r.journal.forget()
		r.journal.fail = failing("Lookup", errUnavailable)
		_, err := r.post(transfer("t-2", "jane", "shop", "100"))
		r.refused(err, ledger.CodeUnavailable)
		if n := len(r.journal.sent); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "1"))
		r.journal.forget()
		r.journal.steps = []appended{cancelled(func(c commit, reasons []store.Reason) {
			reasons[c.heads+len(c.postings)] = store.Reason{Is: store.CauseCondition} // the guard is absent
		})}
		r.journal.writes = map[string][]put{"CreateGuard": slices.Repeat([]put{putAnswers(errUnavailable)}, 20)}
		_, err := r.post(transfer("t-2", "jane", "shop", "1"))
		r.refused(err, ledger.CodeUnavailable)
		if n := len(r.journal.sent); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}

func int64Of(a events.Amount) (n int64) {
	fmt.Sscan(a.String(), &n)
	return n
}
