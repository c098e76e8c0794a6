package ledger_test

import (
	"testing"
	"time"

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
