package events_test

import (
	"errors"
	"testing"

	"ledger.example/events"
)

// The figures are those of the whole event, under the names by which it is stored.
func TestDecodeFigures(t *testing.T) {
	q, c := events.NewAmount(-2500), events.NewAmount(150)
	e := events.PostingRecorded{Leg: events.Leg{Quantity: q, Cost: c}}
	name, version := e.EventName()
	stored := events.Encode(e)
	quantity, cost := stored[events.FigureQuantity].(events.Number), stored[events.FigureCost].(events.Number)

	gotQ, gotC, err := events.DecodeFigures(name, version, quantity, cost)
	if err != nil || gotQ != q || gotC != c {
		t.Errorf("%v, %v, %v", gotQ, gotC, err)
	}
	const tooLong = "10000000000000000000000000000" // 29 digits
	for _, bad := range []struct {
		name           string
		version        int
		quantity, cost events.Number
		wanted         error
	}{
		{"TransactionPosted", version, quantity, cost, events.ErrUnknownEvent},
		{name, version + 1, quantity, cost, events.ErrUnknownEvent},
		{name, version, "", cost, events.ErrMalformedEvent},
		{name, version, quantity, "1.5", events.ErrMalformedEvent},
		{name, version, tooLong, cost, events.ErrMalformedEvent},
		{name, version, quantity, tooLong, events.ErrMalformedEvent},
	} {
		if _, _, err := events.DecodeFigures(bad.name, bad.version, bad.quantity, bad.cost); !errors.Is(err, bad.wanted) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
