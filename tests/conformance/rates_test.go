package conformance

import (
	"errors"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/tests/harness/setup"
)

// DynamoDB takes the updates of guards with limits over time, and both stores answer them alike: a slot is opened, and
// counts; an older one gives way to a newer one; what a hold gives back counts; and a debit that is too much is refused.
func TestGuardsCountRates(t *testing.T) {
	for name, store := range map[string]setup.Store{
		"in memory": setup.Memory(memdb.Options{}), "DynamoDB Local": setup.DynamoDBLocal(t),
	} {
		t.Run(name, func(t *testing.T) {
			const books = "rates"
			client := store.Client()
			setup.Table(t, client, books)
			items := table.NewTable(client, books)
			l := ledger.New(ledger.Config{Table: items, Projections: projections.NewReader(items, nil)})
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := l.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: "EUR", Name: "Euro", Actor: "tester"})
			must(err)
			_, _, err = l.OpenAccount(t.Context(), ledger.OpenAccount{ID: "bank", Actor: "tester",
				Overdraft: events.Overdraft{Unlimited: true}})
			must(err)
			var rates []events.Rate
			for _, per := range []events.Per{events.PerDay, events.PerMonth} {
				rates = append(rates, events.Rate{Asset: "EUR", Per: per, Zone: "Pacific/Kiritimati", Quantity: events.NewAmount(100)})
			}
			_, _, err = l.OpenAccount(t.Context(), ledger.OpenAccount{ID: "jane", Rates: rates, Actor: "tester"})
			must(err)
			request := func(id, from, to string, n int64) ledger.PostTransfer {
				return ledger.PostTransfer{Annotation: ledger.Annotation{ID: id, Actor: "tester"}, From: from, To: to,
					Asset: "EUR", Quantity: events.NewAmount(n)}
			}
			post := func(r ledger.Request) error { _, err := l.Post(t.Context(), r); return err }
			counts := func(slot int64, counted, back string) {
				t.Helper()
				item, _, err := items.Get(t.Context(), table.Spend.Key("jane", "EUR"), table.Strong)
				must(err)
				r := table.Read(item)
				for _, rate := range []string{"Rate:day@Pacific/Kiritimati:", "Rate:month@Pacific/Kiritimati:"} {
					if got := r.Amount(rate + "Counted").String(); got != counted || r.Amount(rate+"Back").String() != back ||
						r.Integer(rate+"Slot") <= slot {
						t.Errorf("%s: slot %d, counted %s, back %s", rate, r.Integer(rate+"Slot"), got, r.Amount(rate+"Back"))
					}
				}
			}
			must(post(request("in", "bank", "jane", 1000)))
			must(post(request("a", "jane", "bank", 30)))
			counts(0, "30", "0")
			hold := request("h", "jane", "bank", 60)
			hold.Hold = &ledger.HoldRequest{}
			must(post(hold))
			counts(0, "90", "0")
			if e, ok := errors.AsType[*ledger.Error](post(request("b", "jane", "bank", 11))); !ok || e.Code != ledger.CodeRateExceeded {
				t.Errorf("%v", e)
			}
			must(post(ledger.CaptureRequest{Transaction: "h", Actor: "tester",
				Part: ledger.Part{Quantity: new(events.NewAmount(20))}}))
			counts(0, "90", "40")
			must(post(request("c", "jane", "bank", 50)))
			counts(0, "140", "40")
			older := table.Write{Key: table.Spend.Key("jane", "EUR"), If: "attribute_exists(#d)", Update: "SET #d = :d, #m = :m",
				Names:  map[string]string{"#d": "Rate:day@Pacific/Kiritimati:Slot", "#m": "Rate:month@Pacific/Kiritimati:Slot"},
				Values: table.Item{":d": table.Integer(20_260_101), ":m": table.Integer(202_601)}}
			_, err = items.Write(t.Context(), older)
			must(err)
			must(post(request("d", "jane", "bank", 100)))
			counts(202_601, "100", "0")
			if e, ok := errors.AsType[*ledger.Error](post(request("e", "jane", "bank", 1))); !ok || e.Code != ledger.CodeRateExceeded {
				t.Errorf("%v", e)
			}
		})
	}
}
