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
// and no posting ids.
type Transaction struct {
	ID         string `json:"id" names:"transaction"`
	Kind       string `json:"kind" is:"Kind"`
	PostedAt   string `json:"posted_at" is:"Time"`   // RFC 3339; the effective date, if it has one
	RecordedAt string `json:"recorded_at" is:"Time"` // RFC 3339; when the ledger stored it
	Actor      string `json:"actor" is:"Actor"`      // who posted it
	ShownAnnotation
	Postings []Posting `json:"postings"`        // as planned if it is a hold
	Hidden   int       `json:"hidden_postings"` // number of postings omitted because the user has no role
	Status   string    `json:"status" is:"Status"`

	// Fields of a hold. Times are RFC 3339. All but ExpiresAt are empty until the hold has ended.
	ExpiresAt      string    `json:"expires_at" is:"Time"`
	EndedAt        string    `json:"ended_at" is:"Time"`
	EndedBy        string    `json:"ended_by" is:"Actor"`
	EndDescription string    `json:"end_description" is:"Text"` // of a release
	Captured       []Posting `json:"captured"`                  // the postings of the capture

	// The id of the transaction that this one reverses, "" for none.
	Reverses string `json:"reverses" names:"transaction"`
	// How much of each posting was reversed, with its sign; nil for nothing.
	Reversed []Leg `json:"reversed"`

	// Reversals are the ids of the newest ReversalsShown reversals, newest first: of those that Reversals lists. It is
	// empty if there are none, and nil in lists and in answers to writes.
	Reversals []string `json:"reversals" names:"transaction"`
	DryRun    bool     `json:"dry_run"` // nothing was written
}

// ShownAnnotation is an Annotation as answers show it: they have its fields also where nothing was said.
type ShownAnnotation struct {
	Description string            `json:"description" is:"Text"`
	Metadata    map[string]string `json:"metadata,omitzero" is:"Metadata"`
}

// ReversalsShown is the maximum number of reversals that a transaction names.
const ReversalsShown = 10

// AsPosted returns Captured if t is a captured hold, otherwise Postings.
func (t Transaction) AsPosted() []Posting {
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
