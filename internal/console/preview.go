package console

import (
	"ledger.example/client"
	"ledger.example/events"
)

// preview describes the effect of a form before it is sent.
type preview struct {
	Title     string
	ExpiresAt string           // of the hold to place
	Reserved  []client.Posting // amounts that a hold reserves or gives back, unsigned
	Legs      []client.Posting // postings; of a hold, those of a full capture
	Moves     []move
}

// previewOf returns the preview of a dry run.
func previewOf(t client.Transaction) *preview {
	p := preview{Title: "What will be posted", Legs: t.AsPosted()}
	switch {
	case t.Status == client.StatusHeld:
		p.Title, p.Reserved = "What will be held", reserved(t.Postings)
	case t.Status == client.StatusReleased || t.Status == client.StatusExpired:
		p.Title, p.Reserved, p.Legs = "What will be released", reserved(t.Postings), nil
	case t.Kind == string(events.KindReversal):
		p.Title = "What the reversal will post"
	}
	p.Moves = moves(p.Legs)
	return &p
}

// reserved returns the debits among the planned postings, unsigned.
func reserved(planned []client.Posting) (all []client.Posting) {
	for _, p := range planned {
		if p.Quantity.Sign() < 0 {
			p.Quantity, p.Cost = p.Quantity.Abs(), p.Cost.Abs()
			all = append(all, p)
		}
	}
	return all
}
