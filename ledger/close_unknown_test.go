package ledger_test

import (
	"errors"
	"testing"
	"time"

	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// Closing begins with a freeze. If its answer was lost, the command still recognizes the freeze as its own, and opens
// the account again if it is not empty.
func TestClosingWithAnUnknownFreeze(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "100"))
		unanswered := func(apply func() error) error { return errors.Join(apply(), store.ErrUnknownOutcome) }
		r.journal.writes = map[string][]put{"PutChange": {func(apply func() error) error {
			_, err := r.another().Post(t.Context(), transfer("t-2", "bank", "jane", "5"))
			return errors.Join(err, unanswered(apply))
		}}}
		_, err := r.close("jane")
		r.refused(err, ledger.CodeInvalidChange)
		r.now("jane", 3, isOpen)

		// What is not finished in time is not known to be done.
		r.mustPost(transfer("t-3", "jane", "shop", "5"))
		r.journal.writes = map[string][]put{"PutChange": {unanswered}}
		r.journal.delay = map[string]time.Duration{"SetGuardVersion": time.Minute}
		_, err = r.close("jane")
		r.refused(err, ledger.CodeUnavailable)
		r.now("jane", 4, isFrozen)
		r.journal.delay = nil
		if got, err := r.close("jane"); err != nil || got.Version != 5 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
