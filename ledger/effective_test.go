package ledger_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// backdated returns a transfer with an effective date that long ago.
func backdated(id, from, to, quantity string, ago time.Duration) ledger.PostTransfer {
	r := transfer(id, from, to, quantity)
	r.EffectiveAt = new(storeNow().Add(-ago))
	return r
}

// A backdated transaction is posted at its effective date, has a recording time, needs the current funds, and needs no
// EnsureVisible, by a first answer or a replay. It makes as many requests as any other.
func TestEffectiveDate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		const year = 365 * 24 * time.Hour
		r.mustPost(transfer("warm", "jane", "shop", "1"))
		r.journal.forget()
		r.mustPost(transfer("now", "jane", "shop", "1"))
		want := slices.Clone(r.journal.calls)
		r.journal.forget()
		request := backdated("t-1", "jane", "shop", "60", year)
		request.EffectiveAt = new(request.EffectiveAt.Add(789).In(time.FixedZone("", 3600)))
		first := r.mustPost(request)
		if !slices.Equal(r.journal.calls, want) || len(r.journal.visible) > 0 {
			t.Errorf("calls %v, of any other %v; made sure of %v", r.journal.calls, want, r.journal.visible)
		}
		at := storeNow()
		header := r.stored("t-1", true)
		if !header.PostedAt().Equal(at.Add(-year)) || !header.RecordedAt.Equal(at) || !header.Recorded().Equal(at) ||
			header.RecordedAt.Location() != time.UTC {
			t.Errorf("posted at %v, recorded at %v; it is %v", header.PostedAt(), header.RecordedAt, at)
		}
		time.Sleep(time.Minute)
		again := r.mustPost(request)
		if !again.Replayed || again.Transaction.Legs[0] != first.Transaction.Legs[0] || len(r.journal.visible) > 0 {
			t.Errorf("%+v; made sure of %v", again, r.journal.visible)
		}
		for _, other := range []*time.Time{nil, new(request.EffectiveAt.Add(time.Microsecond))} {
			request.EffectiveAt = other
			_, err := r.post(request)
			r.refused(err, ledger.CodeTransactionIDReused)
		}
		_, err := r.post(backdated("t-2", "jane", "shop", "39", 2*year))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("38") {
			t.Errorf("%+v", *e.Funds)
		}
		r.mustPost(transfer("t-3", "jane", "shop", "38"))
		if now := r.stored("t-3", true); now.IsBackdated() || !now.Recorded().Equal(now.PostedAt()) {
			t.Errorf("%+v", now)
		}
	})
}

// An effective date is at least EffectiveAge in the past, after the epoch of KSUIDs, and not for holds. A request that was posted before is
// replayed even if its date is in the future by the clock of this process.
func TestInvalidEffectiveDates(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		epoch := time.Date(2014, 5, 13, 16, 53, 20, 0, time.UTC)
		for id, c := range map[string]struct {
			at   time.Time
			hold bool
			rule string // "": posted
		}{
			"epoch": {at: epoch}, "just": {at: storeNow().Add(-15 * time.Second)},
			"before": {at: epoch.Add(-1), rule: "2014-05-13T16:53:20Z"}, "zero": {rule: "2014-05-13T16:53:20Z"},
			"young": {at: storeNow().Add(-15*time.Second + time.Microsecond), rule: "at least 15 seconds in the past"},
			"now":   {at: storeNow(), rule: "past"}, "future": {at: storeNow().Add(time.Hour), rule: "past"},
			"hold": {at: epoch, hold: true, rule: "hold"},
		} {
			request := transfer(id, "bank", "shop", "1")
			request.EffectiveAt = &c.at
			if c.hold {
				request.Hold = &ledger.HoldRequest{}
			}
			checked, dryErr := r.post(dry(request))
			posted, err := r.post(request)
			if c.rule == "" {
				if err != nil || dryErr != nil || !posted.Transaction.PostedAt().Equal(c.at) || checked.Transaction.Legs[0].ID != "" {
					t.Errorf("%s: %v, %v, %v", id, posted, err, dryErr)
				}
				continue
			}
			for _, err := range []error{err, dryErr} {
				e := r.refused(err, ledger.CodeInvalidRequest)
				if names := ledger.Names(e.Fields); !slices.Equal(names, []string{"effective_at"}) ||
					!strings.Contains(e.Fields[0].Rule, c.rule) {
					t.Errorf("%s: %+v", id, e.Fields)
				}
			}
			r.stored(id, false)
		}
		request := backdated("late", "bank", "shop", "1", ledger.EffectiveAge+time.Second)
		r.mustPost(request)
		r.skew = -2 * time.Second
		if again := r.mustPost(request); !again.Replayed {
			t.Errorf("%+v", again)
		}
		_, err := r.post(backdated("behind", "bank", "shop", "1", ledger.EffectiveAge+time.Second))
		r.refused(err, ledger.CodeInvalidRequest)
	})
}

// If the clock goes back after the check, no recording time is stored that is too close to the effective date.
func TestEffectiveDateWhenTheClockGoesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.journal.steps = []appended{func(_ context.Context, _ commit) error {
			r.skew = -2 * time.Second
			return errThrottled
		}}
		_, err := r.post(backdated("t-1", "bank", "shop", "1", ledger.EffectiveAge+time.Second))
		r.refused(err, ledger.CodeUnavailable)
		r.stored("t-1", false)
	})
}

// Reversals and batches may be backdated. The requests of an atomic batch may have different dates.
func TestEffectiveDatesOfReversalsAndBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		const day = 24 * time.Hour
		r.fund("jane", "USD", "100")
		paid := r.mustPost(backdated("t-1", "jane", "shop", "60", 9*day))
		r.project("shop", paid.Transaction)
		back := reversal("r-1", "t-1", ledger.Part{})
		back.EffectiveAt = new(storeNow().Add(-9 * day))
		early := reversal("r-early", "t-1", ledger.Part{})
		early.EffectiveAt = new(back.EffectiveAt.Add(-time.Microsecond))
		for _, request := range []ledger.ReverseRequest{early, dry(early)} {
			_, err := r.Post(t.Context(), request)
			if e := r.refused(err, ledger.CodeInvalidRequest); e.Fields[0].Field.Name != "effective_at" ||
				e.Fields[0].Rule != "must not be before "+events.FormatTime(*back.EffectiveAt)+", the time of what it reverses" {
				t.Errorf("%+v", e.Fields)
			}
		}
		r.stored("r-early", false)
		early.ID = "t-1" // the id is judged first
		_, err := r.Post(t.Context(), early)
		r.refused(err, ledger.CodeTransactionIDReused)
		if checked, err := r.Post(t.Context(), dry(back)); err != nil || checked.Replayed {
			t.Fatal(checked, err)
		}
		for n := range 2 {
			posted, err := r.Post(t.Context(), back)
			if err != nil || posted.Replayed != (n == 1) || !posted.Transaction.PostedAt().Equal(*back.EffectiveAt) {
				t.Fatal(posted, err)
			}
		}
		r.mustPost(transfer("t-2", "jane", "shop", "1"))
		future := reversal("t-1", "t-2", ledger.Part{}) // the id is judged first
		future.EffectiveAt = new(storeNow().Add(day))
		_, err = r.Post(t.Context(), future)
		r.refused(err, ledger.CodeTransactionIDReused)
		future.ID = "r-2"
		_, err = r.Post(t.Context(), future)
		r.refused(err, ledger.CodeInvalidRequest)

		requests := []ledger.Request{
			backdated("b-1", "bank", "jane", "5", 3*day), transfer("b-2", "jane", "shop", "2"),
			backdated("b-3", "jane", "shop", "3", 7*day),
		}
		for _, atomic := range []bool{true, false, true} {
			results, err := r.PostBatch(t.Context(), requests, atomic)
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range []*time.Time{requests[0].(ledger.PostTransfer).EffectiveAt, new(storeNow()),
				requests[2].(ledger.PostTransfer).EffectiveAt} {
				header := results[i].Posted.Transaction
				if results[i].Err != nil || header.PostedAt().Sub(*at).Abs() > time.Microsecond ||
					storeNow().Sub(header.Recorded()) > time.Microsecond {
					t.Errorf("atomic %v: %+v", atomic, results[i])
				}
			}
		}
		requests = append(requests, backdated("b-4", "bank", "jane", "5", -day))
		_, err = r.PostBatch(t.Context(), requests, true)
		e := r.refused(err, ledger.CodeInvalidRequest)
		if e.Request != 4 || e.Fields[0].Field.Name != "effective_at" {
			t.Errorf("%+v", e)
		}
		if len(r.journal.visible) > 0 {
			t.Errorf("made sure of %v", r.journal.visible)
		}
	})
}

// G7: backdated credits can be spent only once they are projected: neither in their own transaction, nor by another one
// of an atomic batch, nor later. Strong reads do not show them before.
func TestBackdatedCreditsRaiseNoBound(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "10")
		short := func(available, requested string, request int, requests ...ledger.Request) {
			t.Helper()
			_, err := r.PostBatch(t.Context(), requests, true)
			_, dryErr := r.PostBatch(t.Context(), dryAll(requests), true)
			for _, err := range []error{err, dryErr} {
				if e := r.refused(err, ledger.CodeInsufficientFunds); e.Request != request ||
					e.Funds.Available != amount(available) || e.Funds.Requested != amount(requested) {
					t.Errorf("%+v, %+v", e, *e.Funds)
				}
			}
		}
		credit := backdated("b-1", "bank", "jane", "5", time.Hour)
		short("10", "11", 2, credit, transfer("b-2", "jane", "shop", "11"))
		both := func(spent string) ledger.PostTransaction {
			return ledger.PostTransaction{Annotation: credit.Annotation, Postings: []ledger.LegRequest{
				{Account: "bank", Asset: "USD", Quantity: amount("-50")},
				{Account: "jane", Asset: "USD", Quantity: amount("50")},
				{Account: "jane", Asset: "USD", Quantity: amount(spent).Neg()},
				{Account: "shop", Asset: "USD", Quantity: amount(spent)},
			}}
		}
		short("10", "11", 1, both("11"))
		short("6", "7", 2, both("4"), transfer("b-2", "jane", "shop", "7"))
		short("10", "11", 1, transfer("b-2", "jane", "shop", "11"), credit)
		posted := r.mustPost(both("4"))
		short("6", "7", 1, transfer("b-2", "jane", "shop", "7"))
		r.project("jane", posted.Transaction)
		r.mustPost(transfer("b-2", "jane", "shop", "56"))
		short("0", "1", 1, transfer("b-3", "jane", "shop", "1"))
	})
}

// A process whose clock is far behind does not refuse a past date as a future one.
func TestEffectiveDateWithAWrongClock(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("warm", "bank", "shop", "1"))
		r.skew = -time.Minute
		_, err := r.post(backdated("t-1", "bank", "shop", "1", 30*time.Second))
		r.refused(err, ledger.CodeUnavailable)
	})
}
