package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// closing returns the request to close the books before that long ago.
func closing(number int64, ago time.Duration) ledger.ClosePeriod {
	return ledger.ClosePeriod{Number: number, Before: storeNow().Add(-ago), Reason: "audited", Actor: "tester"}
}

func (r *rig) closeBooks(c ledger.ClosePeriod) events.PeriodClosed {
	r.t.Helper()
	closed, created, err := r.ClosePeriod(r.t.Context(), c)
	if err != nil || !created {
		r.t.Fatalf("closed %v: %v", created, err)
	}
	return closed
}

// Nothing is posted with an effective date in a closed period, whatever the process has cached. What was posted before
// is replayed. A later closing with an earlier time opens the period again. All other requests pass, and do not read
// the closings.
func TestClosedPeriods(t *testing.T) {
	const day = 24 * time.Hour
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(backdated("before", "bank", "jane", "5", 3*day))
		first := backdated("first", "bank", "jane", "5", 10*day)
		r.mustPost(first)
		closed := r.closeBooks(closing(1, 2*day))
		if closed.Number != 1 || !closed.At.Equal(storeNow()) || !closed.FinalAt().Equal(storeNow().Add(5*time.Minute)) || closed.Actor != "tester" {
			t.Errorf("%+v", closed)
		}
		if again := r.mustPost(first); !again.Replayed || again.Transaction.Period != 0 {
			t.Errorf("%+v", again)
		}
		refused := backdated("late", "bank", "jane", "1", 2*day+time.Microsecond)
		for _, dry := range []bool{true, false} {
			refused.DryRun = dry
			_, err := r.post(refused)
			e := r.refused(err, ledger.CodePeriodClosed)
			if len(e.Fields) != 1 || e.Fields[0].Field.Name != "effective_at" || e.Fields[0].Rule != "must not be before "+events.FormatTime(closed.Before) {
				t.Errorf("%+v", e)
			}
		}
		_, err := r.batch(true, transfer("in-1", "bank", "jane", "1"), refused)
		if e := r.refused(err, ledger.CodePeriodClosed); e.Request != 2 {
			t.Errorf("%+v", e)
		}
		for _, id := range []string{"late", "in-1"} {
			r.stored(id, false)
		}
		results, err := r.batch(false, transfer("in-2", "bank", "jane", "1"), refused, transfer("in-3", "bank", "jane", "1"))
		if err != nil || results[0].Err != nil || results[2].Err != nil {
			t.Fatal(results, err)
		}
		r.refused(results[1].Err, ledger.CodePeriodClosed)

		r.mustPost(backdated("after", "bank", "jane", "1", 2*day))
		if header := r.stored("after", true); header.Period != 1 {
			t.Errorf("%+v", header)
		}
		r.journal.forget()
		r.mustPost(transfer("now", "bank", "jane", "1"))
		r.mustPost(reversal("back", "now", ledger.Part{}))
		if n := r.journal.count("Newest"); n != 0 {
			t.Errorf("%d reads: %v", n, r.journal.calls)
		}

		r.closeBooks(closing(2, 20*day))
		r.mustPost(refused)
		if header := r.stored("late", true); header.Period != 2 {
			t.Errorf("%+v", header)
		}
	})
}

// A closing is sent again safely. Its number must be the next one, and its time over for five minutes by the store's
// clock.
func TestClosings(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		asked := closing(1, 5*time.Minute)
		closed := r.closeBooks(asked)
		again, created, err := r.ClosePeriod(t.Context(), asked)
		if err != nil || created || again != closed {
			t.Errorf("%+v, %v, %v", again, created, err)
		}
		for name, c := range map[string]struct {
			change func(*ledger.ClosePeriod)
			code   ledger.Code
			field  string
		}{
			"other time":   {func(c *ledger.ClosePeriod) { c.Before = c.Before.Add(-time.Hour) }, ledger.CodePeriodExists, "closed_before"},
			"other reason": {func(c *ledger.ClosePeriod) { c.Reason = "other" }, ledger.CodePeriodExists, "reason"},
			"not the next": {func(c *ledger.ClosePeriod) { c.Number = 3 }, ledger.CodeInvalidPeriod, "number"},
			"too early": {func(c *ledger.ClosePeriod) {
				c.Number, c.Before = 2, storeNow().Add(-5*time.Minute+time.Microsecond)
			}, ledger.CodeInvalidPeriod, "closed_before"},
			"no reason":    {func(c *ledger.ClosePeriod) { c.Reason = "" }, ledger.CodeInvalidRequest, "reason"},
			"no number":    {func(c *ledger.ClosePeriod) { c.Number = 0 }, ledger.CodeInvalidRequest, "number"},
			"before KSUID": {func(c *ledger.ClosePeriod) { c.Before = time.Time{} }, ledger.CodeInvalidRequest, "closed_before"},
		} {
			asked := asked
			c.change(&asked)
			_, _, err := r.ClosePeriod(t.Context(), asked)
			if e := r.refused(err, c.code); len(e.Fields) != 1 || e.Fields[0].Field.Name != c.field {
				t.Errorf("%s: %+v", name, e)
			}
		}
		r.skew = 10 * time.Second // the process's clock is wrong
		_, _, err = r.ClosePeriod(t.Context(), closing(2, time.Hour))
		r.refused(err, ledger.CodeUnavailable)
	})
}

// While an attempt may still be applied, a closing is no proof that the request was refused.
func TestClosingDuringAnUnknownOutcome(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		request := backdated("t-1", "bank", "jane", "1", time.Hour)
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			if _, _, err := r.another().ClosePeriod(t.Context(), closing(1, time.Minute*30)); err != nil {
				t.Error(err)
			}
			return late(20*time.Second)(ctx, c)
		}}
		_, err := r.post(request)
		r.refused(err, ledger.CodeOutcomeUnknown)
		time.Sleep(time.Minute)
		if posted := r.mustPost(request); !posted.Replayed || posted.Transaction.Period != 0 {
			t.Errorf("%+v", posted)
		}
		if calls := r.journal.calls; !slices.Contains(calls, "Newest") {
			t.Errorf("%v", calls)
		}
	})
}
