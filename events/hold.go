package events

import (
	"fmt"
	"time"
)

// HoldEnded: a hold was captured, released or expired. A hold has at most one. Its stored name depends on its outcome.
type HoldEnded struct {
	Transaction string  `stored:"id"`                   // id of the hold
	Outcome     Outcome `stored:"-"`                    // how it ended; it follows from the stored name
	Legs        []Leg   `stored:"legs"`                 // those of the hold with the posted amounts, and later KSUIDs
	Description string  `stored:"description,optional"` // why it was released, 0 to DescriptionChars characters
	Actor       string  `stored:"actor"`                // who ended it, 1 to ActorChars characters
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
		return "HoldCaptured"
	case OutcomeReleased:
		return "HoldReleased"
	}
	return "HoldExpired"
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

func (e HoldEnded) check() (field, rule string) {
	for i, leg := range e.Legs {
		if leg.Counted != "" {
			return fmt.Sprintf("Legs[%d].Counted", i), ruleCounted
		}
	}
	return checkLegs(e.Legs)
}
