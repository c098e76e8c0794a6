package client

import (
	"encoding/json"

	"ledger.example/events"
)

// Overdraft is how far below zero an account's balances may fall. The zero value means not at all.
type Overdraft struct {
	Unlimited bool
	Limits    map[string]events.Amount // by asset, in minor units, not negative; ignored when Unlimited
}

// unlimited is the JSON of an unlimited Overdraft. With limits, the JSON is an object.
const unlimited = `"unlimited"`

// MarshalJSON returns the overdraft in the API's format.
func (o Overdraft) MarshalJSON() ([]byte, error) {
	switch {
	case o.Unlimited:
		return []byte(unlimited), nil
	case o.Limits == nil:
		return []byte("{}"), nil
	}
	return json.Marshal(o.Limits)
}

// UnmarshalJSON parses an overdraft in the API's format.
func (o *Overdraft) UnmarshalJSON(text []byte) error {
	*o = Overdraft{Unlimited: string(text) == unlimited}
	if o.Unlimited {
		return nil
	}
	return json.Unmarshal(text, &o.Limits)
}

// The statuses of a transaction. A hold is held until it ends; every other transaction is posted.
const (
	StatusPosted   = "posted"
	StatusHeld     = "held"
	StatusCaptured = "captured"
	StatusReleased = "released"
	StatusExpired  = "expired"
)

// Transaction is a transaction with its postings, its status and its reversals. The answer to a dry run has no times
// and no posting ids. Texts are "" and lists nil where the answer has none.
type Transaction = TransactionOf[Posting]

// TransactionOf is a transaction of any kind, with its status, its end if it is a hold, and what was reversed of it.
// Times are RFC 3339. P is the type of its postings: Posting, or PostedLegOf in the ledger's answers.
type TransactionOf[P any] struct {
	ID     string `json:"id,omitempty" names:"transaction" absent:"in a dry run without an id"`
	Kind   string `json:"kind" is:"Kind"`
	Status string `json:"status" is:"Status"`
	// The time in the postings' ids. It is the effective date if the transaction has one.
	PostedAt string `json:"posted_at,omitempty" is:"Time" absent:"in a dry run"`
	// When the ledger stored it. It is equal to `posted_at` unless the transaction has an effective date.
	RecordedAt string `json:"recorded_at,omitempty" is:"Time" absent:"in a dry run"`
	Actor      string `json:"actor" is:"Actor"` // who posted it
	ShownAnnotation
	// The transaction that a reversal reverses. Absent for other kinds.
	Reverses string `json:"reverses,omitempty" names:"transaction"`
	// When a hold expires. Absent if the transaction is not a hold.
	ExpiresAt string `json:"expires_at,omitempty" is:"Time"`
	// For a hold, the planned postings.
	Postings []P `json:"postings,omitzero" is:"Leg" least:"1" most:"48" absent:"in a large batch"`
	// The number of postings that are omitted because the user has no role on their accounts.
	Hidden int `json:"hidden_postings,omitempty" least:"1" most:"48" of:"reads"`

	// When a hold ended, which is the time in the ids of its ending entries. Absent while the hold is open.
	EndedAt string `json:"ended_at,omitempty" is:"Time"`
	// Who ended a hold. It is `expiry` if the hold expired.
	EndedBy string `json:"ended_by,omitempty" is:"Actor"`
	// The description of the release.
	EndDescription string `json:"end_description,omitempty" is:"Text"`
	// For a hold that has ended: the postings of its capture. Empty if it was not captured.
	Captured []P `json:"captured,omitzero" is:"Leg" most:"48"`

	// The part of each posting that was reversed, in the order of the postings and with their signs. Absent if there
	// are no reversals, and in lists.
	Reversed []Leg `json:"reversed,omitempty" is:"LegPart" least:"1" most:"48" of:"reads"`
	// The ids of the newest reversals, newest first: of those that `/reversals` lists. Empty if there are none, absent
	// in lists.
	Reversals []string `json:"reversals,omitzero" names:"transaction" most:"10" of:"reads"`
	// `true` in a dry run, in which nothing is written. Absent otherwise.
	DryRun bool `json:"dry_run,omitempty" of:"writes"`
}

// ShownAnnotation is an Annotation as answers show it: they have its fields also where nothing was said.
type ShownAnnotation struct {
	Description string            `json:"description" is:"Text"`
	Metadata    map[string]string `json:"metadata,omitzero" is:"Metadata" absent:"in a large batch"`
}

// Annotation returns what was said, for a request that says the same.
func (a ShownAnnotation) Annotation() Annotation { return Annotation(a) }

// ReversalsShown is the maximum number of reversals that a transaction names.
const ReversalsShown = 10

// AsPosted returns Captured if t is a captured hold, otherwise Postings.
func (t TransactionOf[P]) AsPosted() []P {
	if t.Status == StatusCaptured {
		return t.Captured
	}
	return t.Postings
}

// List is one page of a list.
type List[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor" is:"NextCursor"` // of the next page; nil only at the end of the list
}
