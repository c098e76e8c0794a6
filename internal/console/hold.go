package console

import (
	"net/url"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// noHold is the choice that posts a trade without a hold.
const noHold = "no"

// terms are the offered durations of a hold. The API accepts up to 31 days.
var (
	termNames = []string{"1 hour", "1 day", "7 days", "30 days"}
	terms     = map[string]time.Duration{
		"1 hour": time.Hour, "1 day": 24 * time.Hour, "7 days": 7 * 24 * time.Hour, "30 days": 30 * 24 * time.Hour,
	}
)

var (
	termField = field{Name: "hold", Label: "Expires in", Kind: "choice", Choices: termNames, Value: "7 days",
		Hint: "counted from when this form was opened"}
	holdField = field{Name: "hold", Label: "Hold for", Kind: "choice", Value: noHold,
		Choices: append([]string{noHold}, termNames...), Hint: "no: post at once"}
)

// holdOf returns the hold that a form requests, nil for none. Its term starts at the time in the form's transaction id,
// so that a form that is sent again makes the same request.
func holdOf(v url.Values) (*client.Hold, error) {
	term, ok := terms[v.Get("hold")]
	if !ok {
		return nil, nil //nolint:nilnil // the form has no hold field, or noHold is chosen
	}
	id, err := events.ParseKSUID(v.Get("id"))
	if err != nil {
		return nil, err
	}
	return &client.Hold{ExpiresAt: id.Time().Add(term)}, nil
}

// fullCapture returns the form values that capture all of a held transfer or trade, nil for other transactions. c.units
// must have loaded the assets.
func (c *Console) fullCapture(t client.Transaction) url.Values {
	if len(t.Postings) == 0 || !hasParts(t) {
		return nil
	}
	first := t.Postings[0]
	v := url.Values{"quantity": {c.units.Quantity(first.Asset, first.Quantity.Abs())}}
	if !first.Cost.IsZero() {
		cost, _ := c.units.Cost(first.Asset, first.Cost.Abs())
		v.Set("cost", cost)
	}
	return v
}
