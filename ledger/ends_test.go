package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// placed funds jane and lets her hold 100 USD for shop until an hour from now, as h-1.
func (r *rig) placed(after time.Duration) ledger.Posted {
	r.t.Helper()
	r.fund("jane", "USD", "100")
	posted := r.mustPost(held("h-1", "jane", "shop", "100", after))
	r.journal.forget()
	return posted
}

// A capture before the time of expiry succeeds, and is replayed at any later time. Within the clock tolerance after
// that time nothing is sent, and the caller is to ask again. After it, the capture writes the expiry before it is
// refused.
func TestCaptureAndExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.placed(time.Minute)
		dry := capture("h-1", ledger.Part{})
		dry.DryRun = true
		_, err := r.Expire(t.Context(), "h-1")
		r.refused(err, ledger.CodeUnavailable)
		time.Sleep(time.Minute)
		for _, left := range []time.Duration{5 * time.Second, 2 * time.Millisecond} {
			for _, request := range []ledger.Request{capture("h-1", ledger.Part{}), dry} {
				_, err = r.Post(t.Context(), request)
				if e := r.refused(err, ledger.CodeUnavailable); e.RetryAfter != left {
					t.Errorf("ask again after %v, not after %v", left, e.RetryAfter)
				}
			}
			if batch, err := r.batch(false, transfer("t-"+left.String(), "bank", "bob", "1"),
				capture("h-1", ledger.Part{})); err != nil || batch[0].Err != nil || batch[1].Err == nil ||
				batch[1].Err.Code != ledger.CodeUnavailable {
				t.Errorf("%+v, %v", batch, err)
			}
			_, err = r.Expire(t.Context(), "h-1")
			r.refused(err, ledger.CodeUnavailable)
			r.journal.forget()
			time.Sleep(left - 2*time.Millisecond)
		}
		time.Sleep(2 * time.Millisecond)
		if len(r.journal.sent) != 0 {
			t.Error("the end of a hold was sent while nobody knew")
		}
		_, err = r.Post(t.Context(), capture("h-1", some("101")))
		if e := r.refused(err, ledger.CodeExceedsHold); e.Fields[0].Rule != "must not exceed 100" {
			t.Errorf("%+v", e.Fields)
		}
		for range 2 {
			_, err = r.Post(t.Context(), capture("h-1", ledger.Part{}))
			r.refused(err, ledger.CodeHoldExpired)
		}
		if len(r.journal.sent) != 1 {
			t.Errorf("%d attempts", len(r.journal.sent))
		}
		lifecycle, err := r.Lifecycle(t.Context(), "h-1")
		if err != nil || lifecycle.Status() != events.StatusExpired || lifecycle.Posted() != nil ||
			lifecycle.Ended.EndedAt().Before(lifecycle.Header.ExpiresAt.Add(5*time.Second)) {
			t.Errorf("%+v, %v", lifecycle, err)
		}
		_, err = r.Post(t.Context(), release("h-1"))
		if e := r.refused(err, ledger.CodeHoldEnded); e.HoldStatus != events.StatusExpired {
			t.Errorf("it is %q", e.HoldStatus)
		}
		if again, err := r.Expire(t.Context(), "h-1"); err != nil || !again.Replayed {
			t.Error(again, err)
		}
		r.mustPost(transfer("t-1", "jane", "bob", "100"))
	})
}

// A capture that was sent before the time of expiry, and would be sent again after it, has an unknown outcome.
func TestCaptureThatIsSentAcrossTheExpiry(t *testing.T) {
	for name, first := range map[string]appended{
		"conflict":                 cancelled(head(0, table.CauseConflict)),
		"unanswered, never stored": answers(errUnknown),
	} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.placed(time.Minute)
			time.Sleep(time.Minute - time.Millisecond)
			r.journal.steps = []appended{first}
			_, err := r.Post(t.Context(), capture("h-1", ledger.Part{}))
			if e := r.refused(err, ledger.CodeOutcomeUnknown); e.Transaction != "h-1" || len(r.journal.sent) != 1 {
				t.Errorf("%s: %+v after %d attempts", name, e, len(r.journal.sent))
			}
		})
	}
}

// G7: whoever is told that a hold expired finds the money that it gave back in every strong read, also if the expiry
// was committed late, or by a request that got no answer.
func TestExpiryIsVisibleBeforeItIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		legs := len(r.placed(time.Minute).Header.Legs)
		time.Sleep(time.Minute + 6*time.Second)
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			time.Sleep(5 * time.Second)
			return c.apply(context.WithoutCancel(ctx))
		}}
		r.journal.fail = failing("EnsureVisible", table.ErrConflict)
		for range 2 { // the first one writes the expiry
			_, err := r.Post(t.Context(), capture("h-1", ledger.Part{}))
			r.refused(err, ledger.CodeOutcomeUnknown)
			time.Sleep(time.Minute)
		}
		r.status("h-1", events.StatusExpired)
		r.journal.fail = nil
		r.journal.forget()
		_, err := r.Post(t.Context(), capture("h-1", ledger.Part{}))
		r.refused(err, ledger.CodeHoldExpired)
		if len(r.journal.visible) != legs || r.journal.count("VerifyComplete") != 1 || len(r.journal.sent) != 0 {
			t.Errorf("visible %v, %v", r.journal.visible, r.journal.calls)
		}
	})
}

// A replay is answered after the outcome and its postings were read together, and are visible.
func TestReplayOfAnEndIsVerified(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.placed(time.Hour)
		done, err := r.Post(t.Context(), release("h-1"))
		if err != nil || len(r.journal.visible) != 0 {
			t.Fatal(err, r.journal.visible)
		}
		time.Sleep(5 * time.Second)
		again, err := r.Post(t.Context(), release("h-1"))
		if err != nil || !again.Replayed || len(r.journal.visible) != len(done.Ended.Legs) {
			t.Errorf("%+v, %v, visible %v", again, err, r.journal.visible)
		}
		r.journal.fail = failing("EnsureVisible", table.ErrConflict)
		_, err = r.Post(t.Context(), release("h-1"))
		r.refused(err, ledger.CodeOutcomeUnknown)
		for fault, code := range map[error]ledger.Code{
			table.ErrAbsent: ledger.CodeInternal, errThrottled: ledger.CodeOutcomeUnknown, table.ErrConflict: ledger.CodeOutcomeUnknown,
		} {
			r.journal.fail = failing("VerifyComplete", fault)
			_, err = r.Post(t.Context(), release("h-1"))
			r.refused(err, code)
		}
		r.journal.fail = failing("Lifecycle", errThrottled)
		_, err = r.Post(t.Context(), release("h-1"))
		r.refused(err, ledger.CodeThrottled)
	})
}

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

// G8: the credits of a limit do not fall when a reversal is planned again, even if the cache evicted them. An earlier
// attempt, which may still arrive, must not have a higher bound than the refusal.
func TestBoundsOfReversalsNeverFall(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.fund("bob", "AAPL", "10")
		r.mustPost(ledger.PostTrade{Annotation: ledger.Annotation{ID: "trade", Actor: "tester"},
			Asset: "AAPL", Buyer: "jane", Seller: "bob", Quantity: amount("10"), Cost: amount("100"), Settle: true})
		r.restart()
		r.CacheOnePair()
		conflict := cancelled(head(1, table.CauseConflict))
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

// The captured and the reversed amounts of each kind of transaction, and errors that only this package returns. The
// acceptance suite has the others.
func TestPartsOfTransactions(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "10000")
		r.fund("market", "AAPL", "100")
		trade := func(id string, hold *ledger.HoldRequest, cost string) {
			r.mustPost(ledger.PostTrade{Annotation: ledger.Annotation{ID: id, Actor: "tester", Hold: hold}, Asset: "AAPL",
				Buyer: "jane", Seller: "market", Quantity: amount("10"), Cost: amount(cost), Settle: cost != "0"})
		}
		hold := &ledger.HoldRequest{}
		trade("trade", nil, "500")
		trade("held", hold, "500")
		trade("gift", hold, "0")
		r.mustPost(held("captured", "jane", "shop", "10", time.Hour))
		r.mustPost(ledger.PostTransaction{Annotation: ledger.Annotation{ID: "legs", Actor: "tester", Hold: hold},
			Postings: []ledger.LegRequest{leg("jane", "AAPL", "3", "30"), leg("market", "AAPL", "-3", "-30"),
				leg("jane", "USD", "-30", "0"), leg("shop", "USD", "30", "0")}})
		nothing := [2]string{"0", "0"}
		for _, c := range []struct {
			request ledger.Request
			want    string // the amounts, or the error and its fields
		}{
			{capture("held", ledger.Part{Cost: new(amount("1"))}), "invalid_request quantity"},
			{capture("legs", parts([2]string{over28, "0"})), "invalid_request postings[0].quantity"},
			{capture("legs", parts([2]string{"1", "-1"}, [2]string{"-1", "1"}, nothing, nothing)),
				"invalid_transaction postings[0].cost postings[1].cost"},
			{capture("held", some("4")), "cost_required cost"},
			{capture("legs", unpriced("3", "-3", "0", "0")), "cost_required postings[0].cost postings[1].cost"},
			{reversal("", "trade", some("4")), "cost_required cost"},
			{capture("held", some("4", "300")), "jane AAPL 4 300, market AAPL -4 -300, jane USD -300 0, market USD 300 0"},
			{capture("gift", ledger.Part{}), "jane AAPL 10 0, market AAPL -10 0"},
			{capture("legs", parts(nothing, nothing, [2]string{"-30", "0"}, [2]string{"30", "0"})),
				"jane AAPL 0 0, market AAPL 0 0, jane USD -30 0, shop USD 30 0"},
			{capture("captured", some("6")), "jane USD -6 0, shop USD 6 0"},
			// Of a settled trade: shares and money, shares alone, money alone, the rest.
			{reversal("", "trade", some("4", "200")), "jane AAPL -4 -200, market AAPL 4 200, jane USD 200 0, market USD -200 0"},
			{reversal("", "trade", some("1", "0")), "jane AAPL -1 0, market AAPL 1 0"},
			{reversal("", "trade", some("0", "50")), "jane AAPL 0 -50, market AAPL 0 50, jane USD 50 0, market USD -50 0"},
			{reversal("", "trade", ledger.Part{}), "jane AAPL -5 -250, market AAPL 5 250, jane USD 250 0, market USD -250 0"},
			// Of a hold what was captured, and of a reversal what it took back. That gives nothing back to be reversed.
			{reversal("r-1", "captured", ledger.Part{}), "jane USD 6 0, shop USD -6 0"},
			{reversal("r-2", "r-1", parts([2]string{"6", "0"}, [2]string{"-6", "0"})), "jane USD -6 0, shop USD 6 0"},
			{reversal("r-3", "captured", some("1")), "exceeds_reversible quantity"},
			{ledger.ReverseRequest{Annotation: ledger.Annotation{ID: "r-3", Actor: "tester", Hold: hold}, Transaction: "trade"},
				"invalid_request hold"},
		} {
			posted, err := r.post(c.request)
			legs := posted.Header.Legs
			if posted.Ended != nil {
				legs = posted.Ended.Legs
				for i, leg := range legs {
					if leg.ID <= posted.Header.Legs[i].ID {
						t.Errorf("%s: leg %d is before what it ends", c.want, i)
					}
				}
			}
			got := legsText(legs)
			if e, ok := errors.AsType[*ledger.Error](err); ok {
				got = strings.Join(append([]string{string(e.Code)}, ledger.Names(e.Fields)...), " ")
			}
			if got != c.want {
				t.Errorf("%s, %v, want %s", got, err, c.want)
			}
		}
	})
}

// unpriced is a part of some postings that names no cost.
func unpriced(quantities ...string) (p ledger.Part) {
	for _, quantity := range quantities {
		p.Postings = append(p.Postings, ledger.LegPart{Quantity: amount(quantity)})
	}
	return p
}

// A part without its cost is refused only if nothing is stored for it: a cost of zero is the same request.
func TestForgottenCostIsAReplayOfZero(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "10000")
		r.fund("market", "AAPL", "100")
		for _, id := range []string{"captured", "released", "reversed", "not reversed"} {
			trade := ledger.PostTrade{Annotation: ledger.Annotation{ID: strings.ReplaceAll(id, " ", "-"), Actor: "tester"},
				Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: amount("10"), Cost: amount("500"), Settle: true}
			if !strings.HasSuffix(id, "reversed") {
				trade.Hold = &ledger.HoldRequest{}
			}
			r.mustPost(trade)
		}
		r.mustPost(capture("captured", some("4", "0")))
		r.mustPost(reversal("r-1", "reversed", some("4", "0")))
		for _, forgot := range []ledger.Request{capture("captured", some("4")), reversal("r-1", "reversed", some("4"))} {
			if again := r.mustPost(forgot); !again.Replayed {
				t.Errorf("%+v is no replay", forgot)
			}
		}
		r.mustPost(release("released"))
		_, err := r.post(capture("released", some("4")))
		r.refused(err, ledger.CodeHoldEnded)
		_, err = r.post(capture("captured", some("5")))
		r.refused(err, ledger.CodeHoldEnded)
		_, err = r.post(reversal("r-1", "not-reversed", some("4")))
		r.refused(err, ledger.CodeTransactionIDReused)
		if _, err = r.post(reversal("r-2", "not-reversed", some("4"))); err == nil {
			t.Error("shares were taken back for nothing")
		}
	})
}

// A reversal comes after what it reverses, even if it is minted by another process, whose clock is slower.
func TestReversalComesAfterWhatItReverses(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		last := r.stored("t-1", true).Legs[1].ID
		for i := range 20 { // KSUIDs of one instant differ at random
			r.restart()
			r.skew = -4 * time.Second
			if got := r.mustPost(reversal(fmt.Sprint("r-", i), "t-1", some("1"))); got.Header.Legs[0].ID <= last {
				t.Fatalf("%s is not after %s", got.Header.Legs[0].ID, last)
			}
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
					if err != nil || got.Replayed || got.Header.Legs[0].Quantity != amount(c.took) {
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
			if name == "Newest" && len(r.journal.sent) > 0 {
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
	// It stays unlisted until the deadline.
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		r.postWithout(reversal("r-1", "t-1", ledger.Part{}), func(k table.Key) bool {
			_, _, lists := table.Reversal.Parse(k)
			return lists
		})
		_, err := r.post(reversal("r-1", "t-1", ledger.Part{}))
		r.refused(err, ledger.CodeOutcomeUnknown)
	})
}

// A reversal that is listed was posted, or is being committed: nothing is known of it as long as its header is not
// visible.
func TestListedReversalIsAwaited(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.paid()
		request := reversal("r-1", "t-1", ledger.Part{})
		r.postWithout(request, func(k table.Key) bool { return k == table.Transaction.Key("r-1") })
		began := time.Now()
		_, err := r.post(request)
		if refused := r.refused(err, ledger.CodeOutcomeUnknown); refused.Transaction != "r-1" {
			t.Errorf("%+v", refused)
		}
		if waited := time.Since(began); waited < 7*time.Second || len(r.journal.sent) > 0 {
			t.Errorf("it waited for %v, and made %d attempts", waited, len(r.journal.sent))
		}
		_, err = r.post(dry(request))
		r.refused(err, ledger.CodeContention)
	})
}

// postWithout posts a request of which some items never become visible.
func (r *rig) postWithout(request ledger.Request, hides func(table.Key) bool) {
	r.t.Helper()
	whole := r.journal.book.table
	r.journal.book.table = leaving{whole, hides}
	if _, err := r.another().Post(r.t.Context(), request); err != nil {
		r.t.Fatal(err)
	}
	r.journal.book.table = whole
}

// leaving is a table on which some of what is written together never becomes visible.
type leaving struct {
	table.Table
	hides func(table.Key) bool
}

func (t leaving) Transact(ctx context.Context, writes []table.Write) (time.Time, error) {
	return t.Table.Transact(ctx, slices.DeleteFunc(slices.Clone(writes), func(w table.Write) bool {
		return w.Item != nil && t.hides(table.ItemKey(w.Item))
	}))
}
