package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// G7: before a transaction older than half the settle window is acknowledged, by a first answer or a replay, its
// postings are made visible.
func TestEnsureVisibleBeforeTheReply(t *testing.T) {
	for name, test := range map[string]struct {
		skew, pause time.Duration // of the process's clock; before a replay, 0 for the first answer
		steps       []appended
		lookup      time.Duration // that a lookup of the header takes
		ensured     bool
	}{
		"fresh":                    {pause: 3 * time.Second},
		"old replay":               {pause: 5 * time.Second, ensured: true}, // whatever the store's Date is cut to
		"old by the store's clock": {skew: -4900 * time.Millisecond, ensured: true},
		// It looks fresh by the store's clock.
		"old by the monotonic clock": {skew: 4 * time.Second, lookup: 2 * time.Second, ensured: true,
			steps: []appended{func(ctx context.Context, c commit) error {
				c.apply(ctx)
				<-ctx.Done()
				return errUnknown
			}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.skew, r.journal.steps = test.skew, test.steps
				r.journal.fail = func(method string) error {
					if method == "Transaction" {
						time.Sleep(test.lookup)
					}
					return nil
				}
				posted := r.mustPost(transfer("t-1", "bank", "jane", "1"))
				if test.pause > 0 {
					time.Sleep(test.pause)
					posted = r.mustPost(transfer("t-1", "bank", "jane", "1"))
				}
				var want []events.KSUID
				for _, leg := range posted.Transaction.Legs {
					if test.ensured {
						want = append(want, leg.ID)
					}
				}
				slices.Sort(r.journal.visible)
				if posted.Replayed != (test.pause > 0) || !slices.Equal(r.journal.visible, want) {
					t.Errorf("replayed %t, ensured %v, want %v", posted.Replayed, r.journal.visible, want)
				}
			})
		})
	}
}

// A cancellation may omit the stored header. Then the header is read.
func TestCancelledWithoutHeader(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
		r.journal.forever = cancelled(head(0, store.CauseCondition))
		if posted := r.mustPost(transfer("t-1", "bank", "jane", "1")); !posted.Replayed {
			t.Errorf("%+v", posted)
		}
		r.journal.fail = func(string) error { return errUnavailable }
		_, err := r.post(transfer("t-1", "bank", "jane", "1"))
		r.refused(err, ledger.CodeOutcomeUnknown)
	})
}
