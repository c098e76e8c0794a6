package console

import (
	"ledger.example/client"
	"ledger.example/events"
)

// preview is what a form would do, as the page shows it before it is done.
type preview struct {
	Title     string
	ExpiresAt string           // of what will be held
	Aside     []client.Posting // what payers set aside for a hold, or get back, without a sign
	Legs      []client.Posting // what will be posted; of a hold, when all of it is captured
	Moves     []move
}

// previewOf tells what a dry run was answered.
func previewOf(t client.Transaction) *preview {
	p := preview{Title: "What will be posted", Legs: t.AsPosted()}
	switch {
	case t.Status == client.StatusHeld:
		p.Title, p.Aside = "What will be held", aside(t.Postings)
	case t.Status == client.StatusReleased || t.Status == client.StatusExpired:
		p.Title, p.Aside, p.Legs = "What will be given back", aside(t.Postings), nil
	case t.Kind == string(events.KindReversal):
		p.Title = "What will be posted to take it back"
	}
	p.Moves = moves(p.Legs)
	return &p
}

// aside is what those who pay set aside for a hold.
func aside(planned []client.Posting) (all []client.Posting) {
	for _, p := range planned {
		if p.Quantity.Sign() < 0 {
			p.Quantity, p.Cost = p.Quantity.Abs(), p.Cost.Abs()
			all = append(all, p)
		}
	}
	return all
}
