package console

import (
	"net/url"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// noHold is the choice of a form that posts at once.
const noHold = "no"

// terms are how long money may be held. The API takes at most 31 days.
var (
	termNames = []string{"1 hour", "1 day", "7 days", "30 days"}
	terms     = map[string]time.Duration{
		"1 hour": time.Hour, "1 day": 24 * time.Hour, "7 days": 7 * 24 * time.Hour, "30 days": 30 * 24 * time.Hour,
	}
)

var (
	termField = field{Name: "hold", Label: "Expires in", Kind: "choice", Choices: termNames, Value: "7 days",
		Hint: "from when this form was opened"}
	holdField = field{Name: "hold", Label: "Hold it for", Kind: "choice", Value: noHold,
		Choices: append([]string{noHold}, termNames...), Hint: "no: it is posted at once"}
)

// holdOf returns the hold that a form asks for, nil for none. Its term is counted from the time in the form's id, so
// that the form asks for the same when it is sent again.
func holdOf(v url.Values) (*client.Hold, error) {
	term, ok := terms[v.Get("hold")]
	if !ok {
		return nil, nil //nolint:nilnil // it has no such field, or asks for none
	}
	id, err := events.ParseKSUID(v.Get("id"))
	if err != nil {
		return nil, err
	}
	return &client.Hold{ExpiresAt: id.Time().Add(term)}, nil
}

// whole is the part of a transfer or a trade that is all of it, as the form of a capture has it. The assets were loaded
// before. Of other transactions no part can be named by one quantity.
func (c *Console) whole(t client.Transaction) url.Values {
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
