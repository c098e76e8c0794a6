package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/ledger"
)

// backdated returns a transfer with an effective date that long ago.
func backdated(id, from, to, quantity string, ago time.Duration) ledger.PostTransfer {
	r := transfer(id, from, to, quantity)
	r.EffectiveAt = new(storeNow().Add(-ago))
	return r
}

// A backdated transaction is posted at its effective date, has a recording time, needs the current funds, and needs no
// EnsureVisible, by a first answer or a replay. It makes one more request than any other.
func TestEffectiveDate(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		const year = 365 * 24 * time.Hour
		r.mustPost(transfer("warm", "jane", "shop", "1"))
		r.journal.forget()
		r.mustPost(transfer("now", "jane", "shop", "1"))
		want := append([]string{"Newest"}, r.journal.calls...) // the newest closing of the books
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
