package ledger_test

import (
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// A guard whose day is too far ahead, by the zones of another program or after a restore, stops its own account only.
// The process still mints KSUIDs of now for all others.
func TestRateOfADayThatIsFarAhead(t *testing.T) {
	inDay(t, func(_ *testing.T, r *rig, _ string) {
		r.fund("bob", "USD", "1000")
		r.mustPost(transfer("a", "jane", "shop", "60"))
		r.setGuard("jane", table.Item{
			daySlot: table.Integer(20991231), dayCounted: table.Integer(0), dayBack: table.Integer(0),
		})
		_, err := r.post(transfer("b", "jane", "shop", "1"))
		r.refused(err, ledger.CodeUnavailable)
		r.stored("b", false)
		r.mustPost(transfer("c", "bob", "shop", "1"))
	})
}

// What never fits one of several rates never fits. It is refused by that one, also if the first exceeds it, too.
func TestWhatNeverFitsOneOfSeveralRates(t *testing.T) {
	inDay(t, func(_ *testing.T, r *rig, _ string) {
		month := events.Rate{Asset: "USD", Per: events.PerMonth, Zone: "Europe/Berlin", Quantity: amount("90")}
		r.setRates("jane", perDay("100"), month)
		r.mustPost(transfer("a", "jane", "shop", "50"))
		r.exceeds(transfer("b", "jane", "shop", "95"), "50", "40", "95", "")
		r.exceeds(sweep("c", "jane", "shop", "", "", "95"), "50", "40", "95", "")
	})
}

// Of several rates that a request exceeds, the one that opens last is named: before it opens, the request is refused.
func TestRateThatOpensLast(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, ends string) {
		month := events.Rate{Asset: "USD", Per: events.PerMonth, Zone: "Europe/Berlin", Quantity: amount("100")}
		r.setRates("jane", perDay("100"), month)
		r.mustPost(transfer("a", "jane", "shop", "60"))
		in, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		today := storeNow().In(in)
		opens := time.Date(today.Year(), today.Month()+1, 1, 0, 0, 0, 0, in).UTC().Format(time.RFC3339)
		if opens <= ends {
			t.Fatalf("the month ends at %s, the day at %s", opens, ends)
		}
		r.exceeds(transfer("b", "jane", "shop", "50"), "60", "40", "50", opens)
		r.exceeds(sweep("c", "jane", "shop", "", "", "50"), "60", "40", "50", opens)
	})
}

// Whether a fit of several sources ever fits depends on the rates of all of them.
func TestWhatSeveralSourcesNeverFit(t *testing.T) {
	inDay(t, func(_ *testing.T, r *rig, ends string) {
		r.fund("bob", "USD", "1000")
		r.setRates("bob", perDay("100"))
		r.mustPost(pays("a", "jane bob", "shop=rest", "150", ""))
		r.exceeds(pays("b", "jane bob", "shop=rest", "", "200"), "50", "50", "200", ends)
		r.exceeds(pays("c", "jane bob", "shop=rest", "", "201"), "50", "50", "201", "")
		r.nextDay()
		r.mustPost(pays("b", "jane bob", "shop=rest", "", "200"))
	})
}
