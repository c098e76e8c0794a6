package events_test

import (
	"strings"
	"testing"

	"ledger.example/events"
)

// TestRatesFitTheAccount has events whose limits over time do not fit their other fields.
func TestRatesFitTheAccount(t *testing.T) {
	rate := func(zone string) events.Rate {
		return events.Rate{Asset: "EUR", Per: events.PerDay, Zone: zone, Quantity: events.NewAmount(1)}
	}
	opened := golden(t, "AccountOpened.v1.rates.json").(events.AccountOpened)
	unlimited, five := opened, opened
	unlimited.Overdraft = events.Overdraft{Unlimited: true}
	five.Rates = []events.Rate{rate("A"), rate("B"), rate("C"), rate("D"), rate("E")}
	placed := golden(t, "PostingRecorded.v1.counted.json").(events.PostingRecorded)
	credit, ended, reversal, backdated := placed, placed, placed, placed
	credit.Pending, ended.Phase, reversal.Kind = placed.Pending.Neg(), events.PhaseReleased, events.KindReversal
	backdated.Quantity, backdated.Pending, backdated.Phase, backdated.Backdated = placed.Pending, credit.Quantity, "", true
	for _, c := range []struct {
		name string
		of   events.Event
		want string
	}{
		{"rates of an unlimited account", unlimited, "Rates"},
		{"five rates of an asset", five, "Rates[4]"},
		{"a counted credit", credit, "Counted"},
		{"a counted end of a hold", ended, "Counted"},
		{"a counted reversal", reversal, "Counted"},
		{"a counted backdated debit", backdated, "Counted"},
	} {
		s := storedForm(c.of)
		if e, err := s.decode(); err == nil || !strings.Contains(err.Error(), ": "+c.want+" ") {
			t.Errorf("%s: %v, %v", c.name, e, err)
		}
	}
}
