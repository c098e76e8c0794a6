package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"

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
