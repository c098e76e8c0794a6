package cost

import (
	"errors"
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// A debit of an account with limits over time takes what any debit takes: one write, of as many items and units. The
// lookup of a cold process has the guard anyway, and that has what the limits have counted. A refusal takes one read.
func TestCostOfADebitWithRates(t *testing.T) {
	t.Parallel()
	b := newLimitedBank(t)
	post := func(l *ledger.Ledger) {
		t.Helper()
		if _, err := l.Post(t.Context(), ledger.PostTransfer{
			Annotation: b.note(false), From: holder, To: outside, Asset: "USD", Quantity: events.NewAmount(100),
		}); err != nil {
			t.Fatal(err)
		}
	}
	debits := func() (warm, fresh measured) {
		l := b.coldLedger()
		post(l)
		warm = b.measure(func() { post(l) })
		other := b.coldLedger()
		return warm, b.measure(func() { post(other) })
	}
	change := func(c ledger.ChangeAccount) {
		c.ID, c.Actor = holder, "tester"
		if _, err := b.warm.ChangeAccount(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	change(ledger.ChangeAccount{Name: new("Jane")}) // an account that was changed has one more item
	warm, fresh := debits()
	var rates []events.Rate
	for _, per := range []events.Per{events.PerDay, events.PerMonth} {
		rates = append(rates, events.Rate{Asset: "USD", Per: per, Zone: "Europe/Berlin", Quantity: events.NewAmount(1_000_000)})
	}
	change(ledger.ChangeAccount{Rates: &rates})
	warmRated, freshRated := debits()
	for name, is := range map[string][2]measured{"warm": {warm, warmRated}, "cold": {fresh, freshRated}} {
		without, with := is[0], is[1]
		if with.reads != without.reads || with.writes != without.writes ||
			costText(with.Tally) != costText(without.Tally) {
			t.Errorf("a %s debit with rates takes %s, without %s:\n%q", name, costText(with.Tally), costText(without.Tally), with.lines)
		}
	}
	refusal := b.measure(func() {
		_, err := b.warm.Post(t.Context(), ledger.PostTransfer{
			Annotation: b.note(false), From: holder, To: outside, Asset: "USD", Quantity: events.NewAmount(999_999),
		})
		if e, ok := errors.AsType[*ledger.Error](err); !ok || e.Code != ledger.CodeRateExceeded {
			t.Errorf("%v", err)
		}
	})
	if refusal.writes != 1 || refusal.reads != 1 { // the header is read
		t.Errorf("a refusal takes %q", refusal.lines)
	}
	if len(warmRated.lines) != 1 || len(freshRated.lines) != 2 || slices.Equal(warm.lines, warmRated.lines) {
		t.Errorf("%q, %q", warmRated.lines, freshRated.lines)
	}
}
