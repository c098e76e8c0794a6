package ledger_test

import (
	"context"
	"errors"
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

func legsText(legs []events.Leg) string {
	var all []string
	for _, l := range legs {
		all = append(all, strings.Join([]string{l.Account, l.Asset, l.Quantity.String(), l.Cost.String()}, " "))
	}
	return strings.Join(all, ", ")
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

// A reversal whose answer was lost is acknowledged only when it is among the reversals, which may be visible later than
// its header and its postings.
func TestUnknownReversalIsListedBeforeItIsAcknowledged(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		r.journal.steps = []appended{applied(errUnknown)}
		r.journal.fail = func(name string) error {
			if name == "Lifecycle" && len(r.journal.sent) > 0 {
				return errUnavailable
			}
			return nil
		}
		_, err := r.post(reversal("r-1", "t-1", ledger.Part{}))
		r.refused(err, ledger.CodeOutcomeUnknown)
		r.journal.fail = nil
		if again := r.mustPost(reversal("r-1", "t-1", ledger.Part{})); !again.Replayed {
			t.Errorf("%+v", again)
		}
	})
}
