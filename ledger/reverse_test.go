package ledger_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

func reversal(id, of string, part ledger.Part) ledger.ReverseRequest {
	return ledger.ReverseRequest{Annotation: ledger.Annotation{ID: id, Actor: "tester"}, Transaction: of, Part: part}
}

// paid funds jane and lets her pay shop 100 USD, as t-1. Lookup finds the credit.
func (r *rig) paid() {
	r.t.Helper()
	r.fund("jane", "USD", "100")
	r.mustPost(transfer("t-1", "jane", "shop", "100"))
	r.journal.Project(pair("shop", "USD"), amount("100"))
	r.journal.forget()
}

// Reversals take back the requested part, with the signs of the posted legs, and never more than is left.
func TestReverse(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		request := reversal("r-1", "t-1", some("30"))
		request.Description, request.Metadata = "returned", map[string]string{"why": "broken"}
		first, err := r.Post(t.Context(), request)
		if err != nil || first.Replayed || first.Status() != ledger.StatusPosted {
			t.Fatal(first, err)
		}
		stored := r.stored("r-1", true)
		if stored.Kind != events.KindReversal || stored.Reverses != "t-1" || stored.Description != "returned" ||
			stored.Legs[0].Quantity != amount("30") || stored.Legs[1].Quantity != amount("-30") {
			t.Errorf("stored %+v", stored)
		}
		if again, err := r.Post(t.Context(), request); err != nil || !again.Replayed || !reflect.DeepEqual(again.Transaction, first.Transaction) {
			t.Error(again, err)
		}
		for name, other := range map[string]ledger.ReverseRequest{
			"another part": reversal("r-1", "t-1", some("30")), "all": reversal("r-1", "t-1", ledger.Part{}), "itself": reversal("t-1", "t-1", some("1")),
		} {
			_, err := r.Post(t.Context(), other)
			if e := r.refused(err, ledger.CodeTransactionIDReused); e == nil {
				t.Error(name)
			}
		}
		_, err = r.Post(t.Context(), reversal("r-2", "t-1", some("71")))
		e := r.refused(err, ledger.CodeExceedsReversible)
		if want := []ledger.LegRequest{{Account: "jane", Asset: "USD", Quantity: amount("-70")}, {Account: "shop", Asset: "USD", Quantity: amount("70")}}; !reflect.DeepEqual(e.Left, want) {
			t.Errorf("left %+v", e.Left)
		}
		all, err := r.Post(t.Context(), reversal("", "t-1", ledger.Part{}))
		if err != nil || all.Transaction.Legs[0].Quantity != amount("70") || all.Transaction.Legs[0].ID <= r.stored("t-1", true).Legs[1].ID {
			t.Fatal(all, err)
		}
		for _, part := range []ledger.Part{{}, some("1")} {
			_, err = r.Post(t.Context(), reversal("r-3", "t-1", part))
			if e := r.refused(err, ledger.CodeExceedsReversible); !e.Left[0].Quantity.IsZero() {
				t.Errorf("left %+v", e.Left)
			}
		}
		if again, err := r.Post(t.Context(), request); err != nil || !again.Replayed {
			t.Error(again, err)
		}
		lifecycle, err := r.Lifecycle(t.Context(), "t-1")
		if err != nil || len(lifecycle.Reversals) != 2 || lifecycle.Reversed()[1].Quantity != amount("100") ||
			!lifecycle.Left()[0].Quantity.IsZero() {
			t.Error(lifecycle, err)
		}
	})
}

// The reversed amounts of each kind of transaction. The acceptance suite has the errors.
func TestReversedAmounts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "1000")
		r.fund("market", "AAPL", "10")
		r.mustPost(ledger.PostTrade{Annotation: ledger.Annotation{ID: "trade", Actor: "tester"},
			Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: amount("10"), Cost: amount("500"), Settle: true})
		r.mustPost(held("captured", "jane", "shop", "10", time.Hour))
		if _, err := r.Post(t.Context(), capture("captured", some("6"))); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			id, of string
			part   ledger.Part
			want   string
		}{
			// Of a settled trade: shares and money, shares alone, money alone, the rest.
			{"", "trade", some("4", "200"), "jane AAPL -4 -200, market AAPL 4 200, jane USD 200 0, market USD -200 0"},
			{"", "trade", some("1"), "jane AAPL -1 0, market AAPL 1 0"},
			{"", "trade", some("0", "50"), "jane AAPL 0 -50, market AAPL 0 50, jane USD 50 0, market USD -50 0"},
			{"", "trade", ledger.Part{}, "jane AAPL -5 -250, market AAPL 5 250, jane USD 250 0, market USD -250 0"},
			// Of a hold what was captured, and of a reversal what it took back.
			{"r-1", "captured", ledger.Part{}, "jane USD 6 0, shop USD -6 0"},
			{"r-2", "r-1", parts([2]string{"6", "0"}, [2]string{"-6", "0"}), "jane USD -6 0, shop USD 6 0"},
		} {
			got, err := r.Post(t.Context(), reversal(c.id, c.of, c.part))
			if err != nil || legsText(got.Transaction.Legs) != c.want {
				t.Errorf("%s, %v, want %s", legsText(got.Transaction.Legs), err, c.want)
			}
		}
		asHold := reversal("r-3", "trade", ledger.Part{})
		asHold.Hold = &ledger.HoldRequest{}
		if _, err := r.Post(t.Context(), asHold); ledger.Names(r.refused(err, ledger.CodeInvalidRequest).Fields)[0] != "hold" {
			t.Errorf("as a hold: %v", err)
		}
		// That gives nothing back to be reversed.
		_, err := r.Post(t.Context(), reversal("r-3", "captured", some("1")))
		r.refused(err, ledger.CodeExceedsReversible)
	})
}

func legsText(legs []events.Leg) string {
	var all []string
	for _, l := range legs {
		all = append(all, strings.Join([]string{l.Account, l.Asset, l.Quantity.String(), l.Cost.String()}, " "))
	}
	return strings.Join(all, ", ")
}

// A reversal needs funds like any debit. A replay does not.
func TestReversalsNeedFunds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		if _, err := r.Post(t.Context(), reversal("r-1", "t-1", some("10"))); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-2", "shop", "bob", "60"))
		r.journal.forget()
		_, err := r.Post(t.Context(), reversal("r-2", "t-1", ledger.Part{}))
		e := r.refused(err, ledger.CodeInsufficientFunds)
		if want := (ledger.Funds{Asset: "USD", Available: amount("30"), Requested: amount("90")}); e.Account != "shop" || *e.Funds != want {
			t.Errorf("funds %+v", *e.Funds)
		}
		r.stored("r-2", false)
		if again, err := r.Post(t.Context(), reversal("r-1", "t-1", some("10"))); err != nil || !again.Replayed {
			t.Error(again, err)
		}
		if lifecycle, err := r.Lifecycle(t.Context(), "t-1"); err != nil || len(lifecycle.Reversals) != 1 {
			t.Error(lifecycle, err)
		}
		r.journal.forget()
		if _, err := r.Post(t.Context(), reversal("r-3", "t-1", some("30"))); err != nil ||
			strings.Join(r.journal.calls, " ") != "Lifecycle Append" {
			t.Errorf("%v, requests: %v", err, r.journal.calls)
		}
	})
}

// Two concurrent reversals compete for a number. The second one is planned again: it takes what is left, or is refused.
func TestConcurrentReversals(t *testing.T) {
	for name, c := range map[string]struct {
		other, ours ledger.Part
		took        string // "": refused
	}{
		"room for both":    {some("30"), some("70"), "70"},
		"all that is left": {some("30"), ledger.Part{}, "70"},
		"no room":          {some("31"), some("70"), ""},
		"nothing left":     {ledger.Part{}, ledger.Part{}, ""},
	} {
		for how, lost := range map[string]bool{"": false, ", and an answer is lost": true} {
			t.Run(name+how, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.paid()
					r.journal.steps = []appended{func(ctx context.Context, ours commit) error {
						if _, err := r.another().Post(t.Context(), reversal("other", "t-1", c.other)); err != nil {
							t.Error(err)
						}
						if lost {
							return late(20*time.Second)(ctx, ours)
						}
						return ours.apply(ctx)
					}}
					got, err := r.Post(t.Context(), reversal("r-1", "t-1", c.ours))
					if c.took == "" {
						r.refused(err, ledger.CodeExceedsReversible)
						time.Sleep(time.Minute)
						r.stored("r-1", false)
						return
					}
					if err != nil || got.Replayed || got.Transaction.Legs[0].Quantity != amount(c.took) {
						t.Errorf("%+v, %v", got, err)
					}
					time.Sleep(time.Minute)
					lifecycle, err := r.Lifecycle(t.Context(), "t-1")
					if err != nil || len(lifecycle.Reversals) != 2 || lifecycle.Reversals[1].Number != 2 ||
						lifecycle.Reversals[1].By != "r-1" {
						t.Errorf("%+v, %v", lifecycle.Reversals, err)
					}
				})
			})
		}
	}
}

// A reversal that must be planned again needs reads. If they fail, nothing is written.
func TestReversalIsPlannedAgainInAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "market", "100"))
		time.Sleep(ledger.DebitAge - time.Second)
		r.journal.forget()
		r.journal.steps = []appended{func(_ context.Context, c commit) error {
			if _, err := r.another().Post(t.Context(), reversal("other", "t-1", some("1"))); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
			r.journal.fail = failing("Lookup", errUnavailable)
			return c.apply(t.Context())
		}}
		_, err := r.Post(t.Context(), reversal("r-1", "t-1", some("30")))
		r.refused(err, ledger.CodeUnavailable)
		if strings.Join(r.journal.calls[:4], " ") != "Lifecycle Append Lifecycle Lookup" {
			t.Errorf("requests: %v", r.journal.calls)
		}
		r.stored("r-1", false)
	})
}

// A reversal took all that was left, and its answer was lost. Its retry is not refused, even while its header is not
// visible yet.
func TestReversalIsNotRefusedByItsOwnAttempt(t *testing.T) {
	for name, another := range map[string]bool{"its own attempt": false, "an earlier request": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.paid()
				request := reversal("r-1", "t-1", ledger.Part{})
				if another {
					if _, err := r.another().Post(t.Context(), request); err != nil {
						t.Fatal(err)
					}
				} else {
					r.journal.steps = []appended{applied(errUnknown), cancelled(head(1, store.CauseConflict))}
				}
				looks := 0
				r.journal.fail = func(method string) error {
					if method == "Transaction" {
						if looks++; looks <= 8 {
							return errUnavailable
						}
					}
					return nil
				}
				got, err := r.Post(t.Context(), request)
				if err != nil || got.Replayed != another || looks <= 8 {
					t.Errorf("%+v, %v after %d looks", got, err, looks)
				}
			})
		})
	}
	t.Run("never to be seen", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.paid()
			request := reversal("r-1", "t-1", ledger.Part{})
			if _, err := r.another().Post(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			r.journal.fail = failing("Transaction", errUnavailable)
			_, err := r.Post(t.Context(), request)
			r.refused(err, ledger.CodeOutcomeUnknown)
		})
	})
}

// The credits of a limit do not fall when a reversal is planned again, even if the cache evicted them. An earlier
// attempt, which may still arrive, must not have a higher bound than the refusal.
func TestBoundsOfReversalsNeverFall(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.fund("bob", "AAPL", "10")
		r.mustPost(ledger.PostTrade{Annotation: ledger.Annotation{ID: "trade", Actor: "tester"},
			Asset: "AAPL", Buyer: "jane", Seller: "bob", Quantity: amount("10"), Cost: amount("100"), Settle: true})
		r.restart()
		r.CacheOnePair()
		conflict := cancelled(head(1, store.CauseConflict))
		exact := 0 // how often credits were read exactly
		r.journal.forever = func(ctx context.Context, c commit) error {
			if r.journal.count("Funds") > exact { // the funds are known now: let the reversal be planned again
				exact = r.journal.count("Funds")
				return conflict(ctx, c)
			}
			return c.apply(ctx)
		}
		if _, err := r.Post(t.Context(), reversal("r-1", "trade", ledger.Part{})); err != nil {
			t.Fatal(err)
		}
		bounds := map[events.Pair]events.Amount{}
		for i, c := range r.journal.sent {
			for _, d := range c.debits {
				if before, ok := bounds[d.pair]; ok && d.bound.Cmp(before) < 0 {
					t.Errorf("attempt %d of %d has the bound %v of %v, after %v", i, len(r.journal.sent), d.bound, d.pair, before)
				}
				bounds[d.pair] = d.bound
			}
		}
		if exact == 0 {
			t.Error("the credits were never read exactly")
		}
	})
}

// Check checks the part of an end and of a reversal, too.
func TestCheckOfAPart(t *testing.T) {
	both := some("1")
	both.Postings = parts([2]string{"1", "0"}).Postings
	for part, code := range map[*ledger.Part]ledger.Code{
		{}: "", &both: ledger.CodeInvalidTransaction, {Cost: amount("1")}: ledger.CodeInvalidRequest,
	} {
		for _, request := range []ledger.Request{capture("h-1", *part), reversal("r-1", "t-1", *part)} {
			var e *ledger.Error
			if err := ledger.Check(request); code == "" && err != nil || code != "" && (!errors.As(err, &e) || e.Code != code) {
				t.Errorf("%+v: %v, want %s", request, err, code)
			}
		}
	}
	if err := ledger.Check(release("h-1")); err != nil {
		t.Error(err)
	}
}
