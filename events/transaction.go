package events

import (
	"fmt"
	"time"
)

// TransactionPosted is the header of a transaction. It has all legs. With ExpiresAt the transaction is a hold, stored
// as TransactionHeld: its legs are pending until HoldEnded. With RecordedAt it has an effective date, which is the time
// of its KSUIDs. Times are in UTC and of whole microseconds.
type TransactionPosted struct {
	ID   string `stored:"id"`   // set by the caller, or a KSUID of the command
	Kind Kind   `stored:"kind"` // of the request
	Annotation
	Legs        []Leg     `stored:"legs"`            // as requested; KSUIDs increase, of one instant
	Fingerprint string    `stored:"fingerprint"`     // of the request: a rule's number, a colon, a hash
	Actor       string    `stored:"actor"`           // who posted it, 1 to ActorChars characters
	ExpiresAt   time.Time `stored:"time,optional"`   // of a hold; else zero
	Reverses    string    `stored:"id,optional"`     // id of the transaction that this one reverses
	RecordedAt  time.Time `stored:"time,optional"`   // when it was posted, if backdated; else zero
	Period      int64     `stored:"period,optional"` // newest PeriodClosed if backdated; 0 for none
}

// Annotation is what a caller says of a transaction. It moves nothing. Requests have the fields under their names in
// JSON. An event has all of them: Metadata is never nil there.
type Annotation struct {
	Description string            `json:"description,omitempty" is:"Text" stored:"description,optional"`
	Metadata    map[string]string `json:"metadata,omitempty" is:"Metadata" stored:"metadata,optional"`
}

// Transaction is a transaction as of its events: its header, and its end if it is a hold that has ended. Its reversals
// are transactions of their own.
type Transaction struct {
	Header TransactionPosted
	Ended  *HoldEnded // nil of what is no hold, and while a hold is open
}

// Status is the state of a transaction.
type Status string

// The statuses. A hold is held until it ends; every other transaction is posted. Its status then is its outcome.
const (
	StatusPosted   Status = "posted"
	StatusHeld     Status = "held"
	StatusCaptured        = Status(OutcomeCaptured)
	StatusReleased        = Status(OutcomeReleased)
	StatusExpired         = Status(OutcomeExpired)
)

// Status returns the state of the transaction.
func (t Transaction) Status() Status {
	switch {
	case !t.Header.IsHold():
		return StatusPosted
	case t.Ended == nil:
		return StatusHeld
	}
	return Status(t.Ended.Outcome)
}

// Posted returns the posted legs: for a captured hold, the captured amounts; for a hold that was not captured, nil.
func (t Transaction) Posted() []Leg {
	switch t.Status() {
	case StatusPosted:
		return t.Header.Legs
	case StatusCaptured:
		return t.Ended.Legs
	}
	return nil
}

// Leg is one posting in a header.
type Leg struct {
	ID       KSUID  `stored:"ksuid"`
	Account  string `stored:"id"`
	Asset    string `stored:"id"`
	Quantity Amount `stored:"amount"` // signed minor units of the asset, at most PostedDigits digits
	Cost     Amount `stored:"amount"` // signed minor units of the asset's currency, at most PostedDigits digits

	// Counted has the limits over time that counted a debit, as CountedBy has them: "day@Europe/Berlin month@UTC". It
	// is empty in credits, in reversals, in backdated transactions, and in the ends of holds.
	Counted string `stored:"counted,optional"`
}

// Kind is the kind of request that made a transaction.
type Kind string

// The kinds of transaction.
const (
	KindTransaction Kind = "transaction"
	KindTransfer    Kind = "transfer"
	KindTrade       Kind = "trade"
	KindReversal    Kind = "reversal"
)

// EventName implements Event.
func (t TransactionPosted) EventName() string {
	if t.IsHold() {
		return "TransactionHeld"
	}
	return "TransactionPosted"
}

// IsHold reports whether t is a hold.
func (t TransactionPosted) IsHold() bool { return !t.ExpiresAt.IsZero() }

// IsBackdated reports whether t has an effective date: the time in its KSUIDs is before RecordedAt.
func (t TransactionPosted) IsBackdated() bool { return !t.RecordedAt.IsZero() }

// PostedAt returns the instant of the transaction, in UTC. All KSUIDs of the legs have it. It panics without legs.
func (t TransactionPosted) PostedAt() time.Time { return t.Legs[0].ID.Time() }

// Recorded returns when t was posted, in UTC, regardless of an effective date: RecordedAt, or else PostedAt.
func (t TransactionPosted) Recorded() time.Time {
	if t.IsBackdated() {
		return t.RecordedAt
	}
	return t.PostedAt()
}

// Postings returns the legs of t as separate events, in order.
func (t TransactionPosted) Postings() []PostingRecorded {
	postings := make([]PostingRecorded, len(t.Legs))
	for i, leg := range t.Legs {
		postings[i] = PostingRecorded{
			Leg: leg, Transaction: t.ID, Kind: t.Kind, Description: t.Description,
			Backdated: t.IsBackdated(), RecordedAt: t.RecordedAt,
		}
		if t.IsHold() {
			postings[i].Phase, postings[i].Pending = PhasePlaced, leg.Quantity
			postings[i].Quantity, postings[i].Cost = Amount{}, Amount{}
		}
	}
	return postings
}

func (t TransactionPosted) check() (field, rule string) {
	if field, rule := checkMetadata(t.Metadata); rule != "" {
		return field, rule
	}
	switch {
	case t.IsBackdated() && (t.IsHold() || !t.RecordedAt.After(t.PostedAt())):
		return "RecordedAt", ruleRecorded
	case t.Period != 0 && !t.IsBackdated():
		return "Period", "is that of a transaction without an effective date"
	case (t.Kind == KindReversal) != (t.Reverses != ""):
		return "Reverses", ruleMissing
	}
	if field, rule := t.checkCounted(); rule != "" {
		return field, rule
	}
	return checkLegs(t.Legs)
}

// checkMetadata checks the size of metadata.
func checkMetadata(metadata map[string]string) (field, rule string) {
	size := 0
	for key, value := range metadata {
		size += len(key) + len(value)
	}
	if size > MetadataBytes {
		return "Metadata", ruleRange
	}
	return "", ""
}

// checkLegs checks that the KSUIDs of legs increase and are of one instant. It does not check that the legs balance:
// the audit does.
func checkLegs(legs []Leg) (field, rule string) {
	for i := 1; i < len(legs); i++ {
		switch {
		case legs[i].ID <= legs[i-1].ID:
			rule = ruleIncrease
		case !legs[i].ID.Time().Equal(legs[0].ID.Time()):
			rule = "does not have the instant of the first one"
		default:
			continue
		}
		return fmt.Sprintf("Legs[%d].ID", i), rule
	}
	return "", ""
}
