package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

func perDay(quantity string) events.Rate {
	return events.Rate{Asset: "USD", Per: events.PerDay, Zone: "Europe/Berlin", Quantity: amount(quantity)}
}

// setRates replaces the rates of an account.
func (r *rig) setRates(account string, rates ...events.Rate) {
	r.t.Helper()
	if _, err := r.ChangeAccount(r.t.Context(), ledger.ChangeAccount{ID: account, Rates: &rates, Actor: "tester"}); err != nil {
		r.t.Fatal(err)
	}
}

// exceeds fails the test unless a request is refused by a rate with these figures.
func (r *rig) exceeds(request ledger.Request, used, available, requested, opensAt string) {
	r.t.Helper()
	_, err := r.post(request)
	e := r.refused(err, ledger.CodeRateExceeded)
	opens := ""
	if !e.Rate.OpensAt.IsZero() {
		opens = e.Rate.OpensAt.Format(time.RFC3339)
	}
	got := fmt.Sprint(e.Rate.Used, e.Rate.Available, e.Rate.Requested, opens)
	if want := fmt.Sprint(amount(used), amount(available), amount(requested), opensAt); got != want {
		r.t.Errorf("refused with used, available, requested, opens %s; want %s", got, want)
	}
}

// nextDay waits until a day begins in Berlin, and returns when it ends.
func (r *rig) nextDay() (ends string) {
	in, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		r.t.Fatal(err)
	}
	y, m, d := storeNow().In(in).Date()
	time.Sleep(time.Date(y, m, d+1, 0, 0, 1, 0, in).Sub(storeNow()))
	return time.Date(y, m, d+2, 0, 0, 0, 0, in).UTC().Format(time.RFC3339)
}

func TestRateOfADay(t *testing.T) {
	inBubble(t, func(_ *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		ends := r.nextDay()
		r.mustPost(transfer("a", "jane", "shop", "60"))
		r.exceeds(transfer("b", "jane", "shop", "41"), "60", "40", "41", ends)
		r.exceeds(transfer("c", "jane", "shop", "101"), "60", "40", "101", "") // it never fits
		r.mustPost(transfer("d", "jane", "shop", "40"))
		if _, err := r.another().Post(t.Context(), transfer("e", "jane", "shop", "1")); err == nil {
			t.Error("another process posted more than the rate")
		}
		if leg := r.stored("a", true).Legs[0]; leg.Counted != "day@Europe/Berlin" {
			t.Errorf("counted by %q", leg.Counted)
		}
		ends = r.nextDay()
		r.mustPost(transfer("f", "jane", "shop", "100"))
		r.exceeds(transfer("g", "jane", "shop", "1"), "100", "0", "1", ends)
		r.setRates("jane", perDay("50")) // lowered inside the day
		r.exceeds(transfer("h", "jane", "shop", "1"), "100", "0", "1", ends)
		r.setRates("jane")
		r.mustPost(transfer("i", "jane", "shop", "1000"))
	})
}

// A hold counts when it is placed. What its end does not post is given back, if the day is not over.
func TestRatesOfHolds(t *testing.T) {
	inBubble(t, func(_ *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		ends := r.nextDay()
		hold := func(id, quantity string) ledger.Request {
			h := transfer(id, "jane", "shop", quantity)
			h.Hold = &ledger.HoldRequest{}
			return h
		}
		r.mustPost(hold("h", "80"))
		r.mustPost(hold("late", "20"))
		r.exceeds(transfer("a", "jane", "shop", "1"), "100", "0", "1", ends)
		r.mustPost(ledger.CaptureRequest{Transaction: "h", Part: ledger.Part{Quantity: new(amount("30"))}, Actor: "tester"})
		r.exceeds(transfer("b", "jane", "shop", "51"), "50", "50", "51", ends)
		r.mustPost(transfer("c", "jane", "shop", "50"))
		ends = r.nextDay()
		r.mustPost(transfer("d", "jane", "shop", "100"))
		r.restart()                                                             // it does not know the guard
		r.mustPost(ledger.ReleaseRequest{Transaction: "late", Actor: "tester"}) // of the day before
		r.exceeds(transfer("e", "jane", "shop", "1"), "100", "0", "1", ends)
	})
}

// Reversals and backdated debits are not counted.
func TestWhatRatesDoNotCount(t *testing.T) {
	inBubble(t, func(_ *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		r.nextDay()
		r.mustPost(transfer("in", "bank", "jane", "500"))
		r.mustPost(ledger.ReverseRequest{Annotation: ledger.Annotation{ID: "rev", Actor: "tester"}, Transaction: "in"})
		old := transfer("old", "jane", "shop", "700")
		at := storeNow().Add(-time.Hour)
		old.EffectiveAt = &at
		r.mustPost(old)
		r.mustPost(transfer("a", "jane", "shop", "100"))
		for _, id := range []string{"rev", "old"} {
			for _, leg := range r.stored(id, true).Legs {
				if leg.Counted != "" {
					t.Errorf("%s is counted by %s", id, leg.Counted)
				}
			}
		}
	})
}

// A process whose clock is behind mints again after the start of the day that another one opened, within the tolerance.
func TestRateOfAnotherClock(t *testing.T) {
	inBubble(t, func(_ *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		r.nextDay()
		if _, err := r.another().Post(t.Context(), transfer("a", "jane", "shop", "60")); err != nil {
			t.Fatal(err)
		}
		r.skew = -3 * time.Second // it is the day before, by this clock
		posted := r.mustPost(transfer("b", "jane", "shop", "40"))
		if at := posted.Header.PostedAt(); at.Before(storeNow().Add(-2 * time.Second)) {
			t.Errorf("posted at %v, before the day of the guard began", at)
		}
		_, err := r.post(transfer("c", "jane", "shop", "1"))
		r.refused(err, ledger.CodeRateExceeded)
	})
}

// In an atomic batch, each request counts on top of those before it, and what the end of a hold gives back counts, too.
// Independent requests that do not fit together are judged alone, in their order.
func TestRatesInBatches(t *testing.T) {
	inBubble(t, func(_ *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		ends := r.nextDay()
		_, err := r.PostBatch(t.Context(), []ledger.Request{
			transfer("a", "jane", "shop", "60"), transfer("b", "jane", "shop", "41"),
		}, true)
		e := r.refused(err, ledger.CodeRateExceeded)
		if opens := e.Rate.OpensAt.Format(time.RFC3339); e.Request != 2 || e.Rate.Available != amount("40") || opens != ends {
			t.Errorf("request %d, %+v", e.Request, e.Rate)
		}
		results, err := r.PostBatch(t.Context(), []ledger.Request{
			transfer("c", "jane", "shop", "60"), transfer("d", "jane", "shop", "41"), transfer("e", "jane", "shop", "40"),
		}, false)
		if err != nil || results[0].Err != nil || results[1].Err == nil || results[2].Err != nil {
			t.Fatalf("%v, %+v", err, results)
		}
		r.refused(results[1].Err, ledger.CodeRateExceeded)
		r.nextDay()
		hold := transfer("h", "jane", "shop", "100")
		hold.Hold = &ledger.HoldRequest{}
		r.mustPost(hold)
		release := ledger.ReleaseRequest{Transaction: "h", Actor: "tester"}
		_, err = r.PostBatch(t.Context(), []ledger.Request{
			transfer("f", "jane", "shop", "50"), release, transfer("last", "jane", "shop", "1"),
		}, true)
		r.refused(err, ledger.CodeRateExceeded) // the debit comes first
		_, err = r.PostBatch(t.Context(), []ledger.Request{release, transfer("g", "jane", "shop", "100")}, true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.post(transfer("i", "jane", "shop", "1"))
		r.refused(err, ledger.CodeRateExceeded)
		r.nextDay() // less is needed than is given back, so a batch may pass although too much was used
		r.mustPost(held("h2", "jane", "shop", "90", time.Hour))
		r.setRates("jane", perDay("60"))
		endH2 := ledger.ReleaseRequest{Transaction: "h2", Actor: "tester"}
		if _, err = r.PostBatch(t.Context(), []ledger.Request{endH2, transfer("j", "jane", "shop", "60")}, true); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRatesInDryRuns(t *testing.T) {
	inBubble(t, func(_ *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		ends := r.nextDay()
		r.mustPost(transfer("a", "jane", "shop", "60"))
		dry := transfer("b", "jane", "shop", "41")
		dry.DryRun = true
		r.exceeds(dry, "60", "40", "41", ends)
		dry.Quantity = amount("40")
		r.mustPost(dry)
		r.mustPost(dry)
	})
}

// A clock that is behind by more than the tolerance cannot mint after the start of the guard's day.
func TestRateBehindAClockThatIsOff(t *testing.T) {
	inBubble(t, func(_ *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		r.nextDay()
		if _, err := r.another().Post(t.Context(), transfer("a", "jane", "shop", "60")); err != nil {
			t.Fatal(err)
		}
		r.skew = -time.Minute
		_, err := r.post(transfer("b", "jane", "shop", "40"))
		r.refused(err, ledger.CodeUnavailable)
		r.stored("b", false)
	})
}
