package ledger_test

import (
	"context"
	"errors"
	"testing"

	"ledger.example/ledger"
)

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
