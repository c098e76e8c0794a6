package ledger_test

import (
	"strings"
	"testing"
	"time"

	"ledger.example/internal/store"
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
// that time the outcome is unknown. After it, the capture writes the expiry before it is refused.
func TestCaptureAndExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.placed(time.Minute)
		_, err := r.Expire(t.Context(), "h-1")
		r.refused(err, ledger.CodeOutcomeUnknown)
		time.Sleep(time.Minute)
		for range 2 {
			_, err = r.Post(t.Context(), capture("h-1", ledger.Part{}))
			if e := r.refused(err, ledger.CodeOutcomeUnknown); e.Transaction != "h-1" {
				t.Errorf("ask again with %q", e.Transaction)
			}
			_, err = r.Expire(t.Context(), "h-1")
			r.refused(err, ledger.CodeOutcomeUnknown)
			time.Sleep(5*time.Second - 2*time.Millisecond)
		}
		if len(r.journal.sent) != 0 {
			t.Error("the end of a hold was sent while nobody knew")
		}
		_, err = r.Post(t.Context(), capture("h-1", some("101")))
		r.refused(err, ledger.CodeExceedsHold)
		for range 2 {
			_, err = r.Post(t.Context(), capture("h-1", ledger.Part{}))
			r.refused(err, ledger.CodeHoldExpired)
		}
		if len(r.journal.sent) != 1 {
			t.Errorf("%d attempts", len(r.journal.sent))
		}
		lifecycle, err := r.Lifecycle(t.Context(), "h-1")
		if err != nil || lifecycle.Status() != ledger.StatusExpired || lifecycle.Posted() != nil ||
			lifecycle.Ended.EndedAt().Before(lifecycle.Header.ExpiresAt.Add(5*time.Second)) {
			t.Errorf("%+v, %v", lifecycle, err)
		}
		_, err = r.Post(t.Context(), release("h-1"))
		if e := r.refused(err, ledger.CodeHoldEnded); e.HoldStatus != ledger.StatusExpired {
			t.Errorf("it is %q", e.HoldStatus)
		}
		if again, err := r.Expire(t.Context(), "h-1"); err != nil || !again.Replayed {
			t.Error(again, err)
		}
		r.mustPost(transfer("t-1", "jane", "bob", "100"))
	})
}

// The captured amounts of each kind of hold, and errors that only this package returns. The acceptance suite has the
// others.
func TestCapturedAmounts(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "10000")
		r.fund("market", "AAPL", "100")
		hold := &ledger.HoldRequest{}
		r.mustPost(ledger.PostTrade{Annotation: ledger.Annotation{ID: "trade", Actor: "tester", Hold: hold},
			Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: amount("10"), Cost: amount("500"), Settle: true})
		r.mustPost(ledger.PostTrade{Annotation: ledger.Annotation{ID: "gift", Actor: "tester", Hold: hold},
			Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: amount("10")})
		r.mustPost(ledger.PostTransaction{Annotation: ledger.Annotation{ID: "legs", Actor: "tester", Hold: hold},
			Postings: []ledger.LegRequest{
				{Account: "jane", Asset: "AAPL", Quantity: amount("3"), Cost: amount("30")},
				{Account: "market", Asset: "AAPL", Quantity: amount("-3"), Cost: amount("-30")},
				{Account: "jane", Asset: "USD", Quantity: amount("-30")}, {Account: "shop", Asset: "USD", Quantity: amount("30")},
			}})
		nothing, cash := [2]string{"0", "0"}, [][2]string{{"-30", "0"}, {"30", "0"}}
		for fields, c := range map[string]struct {
			id   string
			part ledger.Part
			code ledger.Code
		}{
			"quantity":             {"trade", ledger.Part{Cost: amount("1")}, ledger.CodeInvalidRequest},
			"postings[0].quantity": {"legs", parts([2]string{"1" + strings.Repeat("0", 28), "0"}), ledger.CodeInvalidRequest},
			"postings[0].cost postings[1].cost": {"legs",
				parts([2]string{"1", "-1"}, [2]string{"-1", "1"}, nothing, nothing), ledger.CodeInvalidTransaction},
		} {
			_, err := r.Post(t.Context(), capture(c.id, c.part))
			if e := r.refused(err, c.code); strings.Join(ledger.Names(e.Fields), " ") != fields {
				t.Errorf("%v, want %s", e, fields)
			}
		}
		for id, c := range map[string]struct {
			part ledger.Part
			want string
		}{
			"trade": {some("4", "300"), "jane AAPL 4 300, market AAPL -4 -300, jane USD -300 0, market USD 300 0"},
			"gift":  {ledger.Part{}, "jane AAPL 10 0, market AAPL -10 0"},
			"legs": {parts(nothing, nothing, cash[0], cash[1]),
				"jane AAPL 0 0, market AAPL 0 0, jane USD -30 0, shop USD 30 0"},
		} {
			ended, err := r.Post(t.Context(), capture(id, c.part))
			if got := legsText(ended.End.Legs); err != nil || got != c.want {
				t.Errorf("%s: %s, %v", id, got, err)
				continue
			}
			for i, leg := range ended.End.Legs {
				if leg.ID <= ended.Transaction.Legs[i].ID {
					t.Errorf("%s: leg %d is before what it ends", id, i)
				}
			}
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
		if err != nil || !again.Replayed || len(r.journal.visible) != len(done.End.Legs) {
			t.Errorf("%+v, %v, visible %v", again, err, r.journal.visible)
		}
		r.journal.fail = failing("EnsureVisible", store.ErrConflict)
		_, err = r.Post(t.Context(), release("h-1"))
		r.refused(err, ledger.CodeOutcomeUnknown)
		for fault, code := range map[error]ledger.Code{
			store.ErrAbsent: ledger.CodeInternal, errThrottled: ledger.CodeOutcomeUnknown, store.ErrConflict: ledger.CodeOutcomeUnknown,
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
