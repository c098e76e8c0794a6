package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ledger.example/ledger"
)

// An atomic batch with a capture that comes too late writes the expiry and nothing else.
func TestAtomicBatchWithALateCapture(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(2, time.Minute)
		all := ledger.Part{}
		batch := []ledger.Request{transfer("t-1", "bank", "jane", "1"), capture("h-0", all), transfer("t-2", "jane", "fees", "1"), capture("h-1", all)}
		time.Sleep(time.Minute + time.Second)
		_, err := r.batch(true, batch...)
		r.refused(err, ledger.CodeOutcomeUnknown)
		_, err = r.batch(true, dryAll(batch)...)
		r.refused(err, ledger.CodeOutcomeUnknown)
		if len(r.journal.sent) != 0 {
			t.Errorf("sent %+v", r.journal.sent)
		}
		time.Sleep(5 * time.Second)
		for range 2 {
			r.checkDryBatch(true, batch...)
			_, err = r.batch(true, batch...)
			if e := r.refused(err, ledger.CodeHoldExpired); e.Request != 2 {
				t.Errorf("%+v", e)
			}
		}
		if len(r.journal.sent) != 1 || r.journal.sent[0].heads != 1 {
			t.Errorf("sent %+v", r.journal.sent)
		}
		r.status("h-0", ledger.StatusExpired)
		r.status("h-1", ledger.StatusHeld)
		r.stored("t-1", false)
	})
	// An earlier attempt, whose answer was lost, arrives before the expiry: all of the batch was carried out.
	inBubble(t, func(t *testing.T, r *rig) {
		r.holding(1, time.Second)
		batch := []ledger.Request{transfer("t-1", "bank", "jane", "1"), capture("h-0", ledger.Part{})}
		r.journal.steps = []appended{late(7 * time.Second), func(ctx context.Context, c commit) error {
			if c.heads != 1 {
				t.Errorf("sent %+v", c)
			}
			time.Sleep(time.Second)
			return c.apply(ctx)
		}}
		r.journal.fail = func(method string) error {
			if method == "Lifecycle" && len(r.journal.sent) == 1 {
				time.Sleep(1500 * time.Millisecond)
			}
			return nil
		}
		results, err := r.batch(true, batch...)
		var e *ledger.Error
		if err != nil && (!errors.As(err, &e) || e.Code != ledger.CodeOutcomeUnknown) {
			t.Errorf("%+v, %v", results, err)
		}
		time.Sleep(time.Minute)
		r.journal.fail = nil
		r.results(true, "replayed replayed", batch...)
	})
}
