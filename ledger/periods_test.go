package ledger_test

import (
	"context"
	"reflect"
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
		if !again.Replayed || again.Header.Legs[0] != first.Header.Legs[0] || len(r.journal.visible) > 0 {
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

// A request that was posted before is replayed even if its date is in the future by the clock of this process. A process
// whose clock is off posts nothing.
func TestEffectiveDateByAnotherClock(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		request := backdated("late", "bank", "shop", "1", ledger.EffectiveAge)
		r.mustPost(request)
		_, err := r.post(backdated("young", "bank", "shop", "1", ledger.EffectiveAge-time.Microsecond))
		r.refused(err, ledger.CodeInvalidRequest)
		r.skew = -2 * time.Second
		if again := r.mustPost(request); !again.Replayed {
			t.Errorf("%+v", again)
		}
		_, err = r.post(backdated("behind", "bank", "shop", "1", ledger.EffectiveAge+time.Second))
		r.refused(err, ledger.CodeInvalidRequest)
		r.skew = 10 * time.Second
		_, err = r.post(backdated("ahead", "bank", "shop", "1", time.Hour))
		r.refused(err, ledger.CodeUnavailable)
		r.stored("ahead", false)
	})
}

// A reversal at the instant of what it reverses has later KSUIDs, also if the clock of its process is behind.
func TestReversalFollowsWhatItReversesByAnotherClock(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "5")
		request := backdated("t-1", "jane", "bank", "5", time.Hour)
		r.skew = 2 * time.Second
		posted := r.mustPost(request).Header.Legs
		r.restart()
		r.skew = -2 * time.Second
		back := reversal("r-1", "t-1", ledger.Part{})
		back.EffectiveAt = request.EffectiveAt
		legs := r.mustPost(back).Header.Legs
		if first, last := legs[0].ID, posted[1].ID; !first.Time().Equal(last.Time()) || first <= last {
			t.Errorf("%s at %v reverses %s at %v", first, first.Time(), last, last.Time())
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
		r.project("jane", posted.Header)
		r.mustPost(transfer("b-2", "jane", "shop", "56"))
		short("0", "1", 1, transfer("b-3", "jane", "shop", "1"))
	})
}

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

// Nothing is posted with an effective date in a closed period, alone or in a batch. A later closing with an earlier time
// opens the period again. Other requests do not read the closings. The acceptance suite has the rest.
func TestClosedPeriods(t *testing.T) {
	const day = 24 * time.Hour
	inBubble(t, func(t *testing.T, r *rig) {
		first := backdated("first", "bank", "jane", "5", 10*day)
		r.mustPost(first)
		closed := r.closeBooks(closing(1, 2*day))
		if closed.Number != 1 || !closed.At.Equal(storeNow()) || !closed.FinalAt().Equal(storeNow().Add(5*time.Minute)) {
			t.Errorf("%+v", closed)
		}
		late := backdated("late", "bank", "jane", "1", 2*day+time.Microsecond)
		_, err := r.batch(true, transfer("in-1", "bank", "jane", "1"), late)
		e := r.refused(err, ledger.CodePeriodClosed)
		if e.Request != 2 || e.Fields[0].Field.Name != "effective_at" ||
			e.Fields[0].Rule != "must not be before "+events.FormatTime(closed.Before) {
			t.Errorf("%+v", e)
		}
		r.stored("in-1", false)
		r.results(false, "replayed period_closed posted", first, late, transfer("in-3", "bank", "jane", "1"))
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
		r.mustPost(late)
		if header := r.stored("late", true); header.Period != 2 {
			t.Errorf("%+v", header)
		}
	})
}

// A closing whose number is used, perhaps while it is read, is answered by what is stored. Its time must be over for
// five minutes, by the store's clock.
func TestClosings(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		asked := closing(1, time.Hour)
		r.journal.fail = func(request string) error {
			if request == "Newest" {
				r.journal.fail = nil
				for _, c := range []ledger.ClosePeriod{asked, closing(2, 5*time.Minute)} {
					if _, _, err := r.another().ClosePeriod(t.Context(), c); err != nil {
						t.Error(err)
					}
				}
			}
			return nil
		}
		closed, created, err := r.ClosePeriod(t.Context(), asked)
		if err != nil || created || closed.Number != 1 {
			t.Errorf("%+v, %v, %v", closed, created, err)
		}
		asked.Reason = "other"
		_, _, err = r.ClosePeriod(t.Context(), asked)
		if e := r.refused(err, ledger.CodePeriodExists); len(e.Fields) != 1 || e.Fields[0].Field.Name != "reason" {
			t.Errorf("%+v", e)
		}
		_, _, err = r.ClosePeriod(t.Context(), closing(3, 5*time.Minute-time.Microsecond))
		r.refused(err, ledger.CodeInvalidPeriod)
		r.skew = 10 * time.Second // the process's clock is wrong
		_, _, err = r.ClosePeriod(t.Context(), closing(3, time.Hour))
		r.refused(err, ledger.CodeUnavailable)
	})
}

// All attempts of a command go by the closing that was the newest when it began. So none is refused while another may
// still be applied.
func TestClosingDuringAnUnknownOutcome(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		request := backdated("t-1", "bank", "jane", "1", time.Hour)
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			if _, _, err := r.another().ClosePeriod(t.Context(), closing(1, time.Minute*30)); err != nil {
				t.Error(err)
			}
			r.journal.forget()
			return late(20*time.Second)(ctx, c)
		}}
		posted := r.mustPost(request)
		if n := r.journal.count("Newest"); n != 0 {
			t.Errorf("the newest closing was read %d times more", n)
		}
		time.Sleep(time.Minute)
		again := r.mustPost(request)
		if posted.Replayed || posted.Header.Period != 0 || !again.Replayed || again.Header.ID != posted.Header.ID {
			t.Errorf("%+v, then %+v", posted, again)
		}
	})
}

// A process whose clock is off mints no KSUIDs. The store's Date is cut to seconds, so that an error of up to 5 s is
// tolerated. Replays and reused ids need no KSUIDs, so they are answered.
func TestClockOff(t *testing.T) {
	for skew, ok := range map[time.Duration]bool{
		4900 * time.Millisecond: true, -4900 * time.Millisecond: true,
		6100 * time.Millisecond: false, -6100 * time.Millisecond: false,
		-40 * 365 * 24 * time.Hour: false, // KSUIDs can't hold it
	} {
		t.Run(skew.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				first := r.mustPost(transfer("t-1", "bank", "jane", "1"))
				r.journal.forget()
				r.skew = skew
				time.Sleep(300 * time.Millisecond)
				for range 2 { // warm, and then cold
					_, err := r.post(transfer("", "bank", "jane", "1"))
					if ok && err != nil {
						t.Error(err)
					} else if !ok {
						r.refused(err, ledger.CodeUnavailable)
						if log := r.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "clock=") {
							t.Errorf("log: %s", log)
						}
					}
					again := r.mustPost(transfer("t-1", "bank", "jane", "1"))
					if !again.Replayed || !reflect.DeepEqual(again.Header, first.Header) || r.journal.count("VerifyComplete") == 0 {
						t.Errorf("%+v; calls %v", again, r.journal.calls)
					}
					_, err = r.post(transfer("t-1", "bank", "jane", "2"))
					r.refused(err, ledger.CodeTransactionIDReused)
					r.restart()
				}
				if !ok && len(r.journal.Headers()) != 1 {
					t.Error("something was appended")
				}
			})
		})
	}
}

// Clocks may be set while a process runs. The newest time of the store in any reply counts, and the store is asked
// again before a refusal.
func TestClockIsSetWhileTheProcessRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
		time.Sleep(ledger.DebitAge - time.Second) // after that the account is read again
		r.journal.forget()
		r.mustPost(transfer("t-2", "bank", "jane", "1"))
		if r.journal.count("Lookup") != 0 {
			t.Errorf("a minute later the store was asked again: %v", r.journal.calls)
		}
		r.skew = time.Minute
		_, err := r.post(transfer("t-3", "bank", "jane", "1"))
		r.refused(err, ledger.CodeUnavailable)
		r.skew = 0
		r.mustPost(transfer("t-3", "bank", "jane", "1"))
		_, err = r.post(transfer("t-1", "jane", "bob", "9")) // caches what the next needs
		r.refused(err, ledger.CodeTransactionIDReused)
		time.Sleep(time.Minute)
		r.storeSkew = 10 * time.Second
		_, err = r.post(transfer("t-4", "jane", "bob", "9"))
		r.refused(err, ledger.CodeInsufficientFunds)
		_, err = r.post(transfer("t-4", "bank", "jane", "1"))
		r.refused(err, ledger.CodeUnavailable)
	})
}
