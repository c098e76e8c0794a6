package client

import (
	"encoding/json"

	"ledger.example/events"
)

// Asset is something that accounts hold amounts of, for example a currency or a share.
type Asset struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Scale       int    `json:"scale"`              // decimal places
	Currency    string `json:"currency,omitempty"` // the asset in which its costs are counted; "" if it has no costs
	CreatedAt   string `json:"created_at"`
	Actor       string `json:"actor,omitempty"` // who registered it; not in lists
}

// Account is a holder of assets.
type Account struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Profile   json.RawMessage `json:"profile,omitempty"` // an object; not in lists
	Overdraft Overdraft       `json:"overdraft,omitzero"`
	State     string          `json:"state"`   // StateOpen, StateFrozen or StateClosed
	Version   int64           `json:"version"` // 1 when it was opened; each change adds 1
	CreatedAt string          `json:"created_at"`
	Actor     string          `json:"actor,omitempty"` // who opened it; not in lists
}

// The states of an account.
const (
	StateOpen   = "open"
	StateFrozen = "frozen" // it cannot be debited, except by holds that were placed before
	StateClosed = "closed" // it can never be debited or credited again
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

// Posting is one leg of a transaction. The fields from Transaction on are set only in an account's history.
type Posting struct {
	ID       string        `json:"id"` // KSUID
	Account  string        `json:"account"`
	Asset    string        `json:"asset"`
	Quantity events.Amount `json:"quantity"` // signed, in the asset's minor units
	Cost     events.Amount `json:"cost"`     // signed, in the minor units of the asset's currency

	Transaction string `json:"transaction"`
	Kind        string `json:"kind"`
	Description string `json:"description"`
	PostedAt    string `json:"posted_at"`

	Pending events.Amount `json:"pending"` // signed change of the pending amount; 0 unless it belongs to a hold
	Status  string        `json:"status"`  // StatusPosted, StatusHeld, or how the hold ended; it never changes
}

// Leg is one leg of a transaction in a request. It is also used for the part of a posting that was reversed, or can
// still be.
type Leg struct {
	Account  string        `json:"account" is:"ID" in:"required"`
	Asset    string        `json:"asset" is:"ID" in:"required"`
	Quantity events.Amount `json:"quantity" in:"required"` // signed
	Cost     events.Amount `json:"cost"`                   // signed
}

// Legs returns the legs of a request that posts the same as postings.
func Legs(postings []Posting) []Leg {
	legs := make([]Leg, len(postings))
	for i, p := range postings {
		legs[i] = Leg{Account: p.Account, Asset: p.Asset, Quantity: p.Quantity, Cost: p.Cost}
	}
	return legs
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
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	PostedAt    string            `json:"posted_at"`   // RFC 3339; the effective date, if it has one
	RecordedAt  string            `json:"recorded_at"` // RFC 3339; when the ledger stored it
	Actor       string            `json:"actor"`       // who posted it
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	Postings    []Posting         `json:"postings"`        // as planned if it is a hold
	Hidden      int               `json:"hidden_postings"` // number of postings omitted because the user has no role
	Status      string            `json:"status"`

	// Fields of a hold. Times are RFC 3339. All but ExpiresAt are empty until the hold has ended.
	ExpiresAt      string    `json:"expires_at"`
	EndedAt        string    `json:"ended_at"`
	EndedBy        string    `json:"ended_by"`
	EndDescription string    `json:"end_description"` // of a release
	Captured       []Posting `json:"captured"`        // the postings of the capture

	Reverses string `json:"reverses"` // the id of the transaction that this one reverses, "" for none
	Reversed []Leg  `json:"reversed"` // how much of each posting was reversed, with its sign; nil for nothing
	DryRun   bool   `json:"dry_run"`  // nothing was written
}

// AsPosted returns Captured if t is a captured hold, otherwise Postings.
func (t Transaction) AsPosted() []Posting {
	if t.Status == StatusCaptured {
		return t.Captured
	}
	return t.Postings
}

// Balance is what one account holds of one asset.
type Balance struct {
	Account string `json:"account"`
	Asset   string `json:"asset"`
	Sums
	Available   *events.Amount `json:"available"`   // what can be spent, overdraft included; nil for no limit
	AsOf        *string        `json:"as_of"`       // KSUID of the newest posting included; nil for none
	AsOfTime    *string        `json:"as_of_time"`  // RFC 3339; the time of that posting
	Consistency string         `json:"consistency"` // "strong" or "eventual"
}

// Sums are the sums of postings of one asset.
type Sums struct {
	Quantity       events.Amount `json:"quantity"`
	NetExpenditure events.Amount `json:"net_expenditure"` // in the minor units of the asset's currency
	Credits        events.Amount `json:"credits"`
	Debits         events.Amount `json:"debits"`          // not negative
	PendingDebits  events.Amount `json:"pending_debits"`  // debits reserved by open holds; not negative
	PendingCredits events.Amount `json:"pending_credits"` // credits planned by open holds; not negative
	Postings       int64         `json:"postings"`        // number of postings, those of holds included
}

// PastBalance is what one account held of one asset at a past time.
type PastBalance struct {
	Account string `json:"account"`
	Asset   string `json:"asset"`
	Sums
	AsOf        *string `json:"as_of"`       // KSUID of the newest posting included; nil for none
	AsOfTime    *string `json:"as_of_time"`  // RFC 3339; the time of that posting
	At          string  `json:"at"`          // RFC 3339; the requested time
	Settled     bool    `json:"settled"`     // At is ten seconds past: only postings with an effective date change it
	Revision    int64   `json:"revision"`    // equal revisions mean equal balances
	Consistency string  `json:"consistency"` // "strong" or "eventual"
}

// Statement is one page of a statement: an account's postings of one asset in a period, between its opening and its
// closing balance. Opening and Closing are those of the whole statement, on every page. Closing is final on the last
// page; on earlier pages it is as of the read of the first page.
type Statement struct {
	Account    string          `json:"account"`
	Asset      string          `json:"asset"`
	From       string          `json:"from"` // included
	To         string          `json:"to"`   // excluded
	Opening    Sums            `json:"opening"`
	Closing    Sums            `json:"closing"`
	Settled    bool            `json:"settled"` // see PastBalance
	Data       []StatementLine `json:"data"`    // oldest first
	NextCursor *string         `json:"next_cursor"`
}

// StatementLine is a posting with the balance after it.
type StatementLine struct {
	Posting
	BalanceAfter events.Amount `json:"balance_after"` // posted quantity
}

// Summary counts an account's balances.
type Summary struct {
	Holdings       int64   `json:"holdings"` // number of balances whose quantity is not zero
	Assets         int64   `json:"assets"`   // number of balances
	FirstPostingAt *string `json:"first_posting_at"`
	LastPostingAt  *string `json:"last_posting_at"`
}

// List is one page of a list.
type List[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"` // the cursor of the next page; nil only at the end of the list
}

// AccountPage is an account with its summary, its first balances and its newest postings.
type AccountPage struct {
	Account  Account       `json:"account"`
	Summary  Summary       `json:"summary"`
	Balances List[Balance] `json:"balances"`
	Postings List[Posting] `json:"postings"`
}

// Me is the identity of the caller, as the API sees it.
type Me struct {
	As      string  `json:"as"`      // "administrator", who may do everything, or "user", who needs roles
	User    *string `json:"user"`    // the user's id; nil for an administrator
	Service string  `json:"service"` // who authenticated; for a user's token, its issuer
	Actor   string  `json:"actor"`   // the name of the caller in events
}
