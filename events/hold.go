package events

import "time"

const (
	holdCaptured = "HoldCaptured"
	holdReleased = "HoldReleased"
	holdExpired  = "HoldExpired"
)

// HoldEnded: a hold was captured, released or expired. A hold has at most one. Its stored name depends on its outcome.
type HoldEnded struct {
	Transaction string  // id of the hold
	Outcome     Outcome // how it ended
	Legs        []Leg   // the hold's legs in their order with the posted amounts; KSUIDs after those of the hold
	Description string  // why it was released, 0 to DescriptionChars characters
	Actor       string  // who ended it, 1 to ActorChars characters
}

// Outcome is how a hold ended.
type Outcome string

// The outcomes.
const (
	OutcomeCaptured Outcome = "captured" // in whole or in part
	OutcomeReleased Outcome = "released"
	OutcomeExpired  Outcome = "expired"
)

// EventName implements Event.
func (e HoldEnded) EventName() string {
	switch e.Outcome {
	case OutcomeCaptured:
		return holdCaptured
	case OutcomeReleased:
		return holdReleased
	}
	return holdExpired
}

// EndedAt returns the instant of the end, in UTC. All KSUIDs of the legs have it.
func (e HoldEnded) EndedAt() time.Time { return e.Legs[0].ID.Time() }

// Postings returns the postings that end the hold, whose header is given, in the order of its legs.
func (e HoldEnded) Postings(hold TransactionPosted) []PostingRecorded {
	postings := make([]PostingRecorded, len(e.Legs))
	for i, leg := range e.Legs {
		postings[i] = PostingRecorded{
			Leg: leg, Phase: Phase(e.Outcome), Pending: hold.Legs[i].Quantity.Neg(),
			Transaction: hold.ID, Kind: hold.Kind, Description: hold.Description,
		}
	}
	return postings
}

func (e HoldEnded) write(f FieldEncoder) { e.fields(&coder{out: f}) }

// fields leaves out the outcome, which follows from the name.
func (e *HoldEnded) fields(c *coder) {
	text(c, "Actor", &e.Actor, actor)
	text(c, "Description", &e.Description, description)
	c.legs("Legs", &e.Legs)
	text(c, "Transaction", &e.Transaction, requiredID)
}
