package client

import (
	"encoding/json"

	"ledger.example/events"
)

// Asset is an asset as the API answers it.
type Asset struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Scale       int    `json:"scale"`              // decimal places
	Currency    string `json:"currency,omitempty"` // "": its costs are always zero
	CreatedAt   string `json:"created_at"`
	Actor       string `json:"actor,omitempty"` // who registered it; not in lists
}

// Account is an account as the API answers it.
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
	StateFrozen = "frozen" // it pays nothing, but what is held already
	StateClosed = "closed" // for ever
)

// Overdraft says how far below zero an account's balances may fall. The zero value means not at all.
type Overdraft struct {
	Unlimited bool
	Limits    map[string]events.Amount // by asset, in minor units, not negative; ignored when Unlimited
}

// unlimited is the JSON of an Overdraft without a limit. Others are an object.
const unlimited = `"unlimited"`

// MarshalJSON writes the overdraft as the API has it.
func (o Overdraft) MarshalJSON() ([]byte, error) {
	switch {
	case o.Unlimited:
		return []byte(unlimited), nil
	case o.Limits == nil:
		return []byte("{}"), nil
	}
	return json.Marshal(o.Limits)
}

// UnmarshalJSON reads an overdraft of the API's.
func (o *Overdraft) UnmarshalJSON(text []byte) error {
	*o = Overdraft{Unlimited: string(text) == unlimited}
	if o.Unlimited {
		return nil
	}
	return json.Unmarshal(text, &o.Limits)
}

// Posting is one leg of a transaction. In a history the fields of its transaction stand with it.
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

	Pending events.Amount `json:"pending"` // signed: what the entry adds to what is pending; 0 but for holds
	Status  string        `json:"status"`  // of the entry, for ever: StatusPosted, StatusHeld, or how the hold ended
}

// Leg is one leg of a transaction, as a request asks for it, or what was taken back, or may still be, of one.
type Leg struct {
	Account  string        `json:"account"`
	Asset    string        `json:"asset"`
	Quantity events.Amount `json:"quantity"` // signed
	Cost     events.Amount `json:"cost"`     // signed
}

// Legs returns what postings move, as a request asks for it.
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

// Transaction is a transaction with all its postings, and what became of it. The answer to a dry run has no times and
// no ids of postings.
type Transaction struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	PostedAt    string            `json:"posted_at"`   // RFC 3339; the effective date, if it has one
	RecordedAt  string            `json:"recorded_at"` // RFC 3339: when it was really posted
	Actor       string            `json:"actor"`       // who posted it
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	Postings    []Posting         `json:"postings"`        // of a hold: as planned
	Hidden      int               `json:"hidden_postings"` // those of accounts on which the user has no role
	Status      string            `json:"status"`

	// Of a hold. Times are RFC 3339; the others but ExpiresAt are empty until it has ended.
	ExpiresAt      string    `json:"expires_at"`
	EndedAt        string    `json:"ended_at"`
	EndedBy        string    `json:"ended_by"`
	EndDescription string    `json:"end_description"` // of a release
	Captured       []Posting `json:"captured"`        // as they were posted

	Reverses string `json:"reverses"` // of a reversal: the id of what it takes back
	Reversed []Leg  `json:"reversed"` // what reversals took back of each posting, with its sign; nil: nothing
	DryRun   bool   `json:"dry_run"`  // nothing was written
}

// AsPosted returns the postings of a captured hold as they were captured, else Postings.
func (t Transaction) AsPosted() []Posting {
	if t.Status == StatusCaptured {
		return t.Captured
	}
	return t.Postings
}

// Balance is what one account holds of one asset.
type Balance struct {
	Account        string         `json:"account"`
	Asset          string         `json:"asset"`
	Quantity       events.Amount  `json:"quantity"`
	NetExpenditure events.Amount  `json:"net_expenditure"` // in the minor units of the asset's currency
	Credits        events.Amount  `json:"credits"`
	Debits         events.Amount  `json:"debits"`          // not negative
	PendingDebits  events.Amount  `json:"pending_debits"`  // what open holds may take; not negative
	PendingCredits events.Amount  `json:"pending_credits"` // what open holds may bring; not negative
	Available      *events.Amount `json:"available"`       // what may be spent, overdraft included; nil: no limit
	Postings       int64          `json:"postings"`        // entries, those of holds included
	AsOf           *string        `json:"as_of"`           // KSUID of the newest posting counted; nil: none
	AsOfTime       *string        `json:"as_of_time"`
	Consistency    string         `json:"consistency"`
}

// Sums are what an account's postings of one asset add up to.
type Sums struct {
	Quantity       events.Amount `json:"quantity"`
	NetExpenditure events.Amount `json:"net_expenditure"` // in the minor units of the asset's currency
	Credits        events.Amount `json:"credits"`
	Debits         events.Amount `json:"debits"`          // not negative
	PendingDebits  events.Amount `json:"pending_debits"`  // what holds that were open might take
	PendingCredits events.Amount `json:"pending_credits"` // what holds that were open might bring
	Postings       int64         `json:"postings"`        // entries, those of holds included
}

// PastBalance is what one account held of one asset at a time.
type PastBalance struct {
	Account string `json:"account"`
	Asset   string `json:"asset"`
	Sums
	AsOf        *string `json:"as_of"` // KSUID of the newest posting counted; nil: none
	AsOfTime    *string `json:"as_of_time"`
	At          string  `json:"at"`
	Settled     bool    `json:"settled"`  // at is over for ten seconds: only late postings can change it
	Revision    int64   `json:"revision"` // an equal one means an equal balance
	Consistency string  `json:"consistency"`
}

// Statement is one page of what an account had of an asset, what changed it and what it had then. The closing is right
// on the last page: on others it is as of when the first page was read.
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

// Summary is what an account's balances come to.
type Summary struct {
	Holdings       int64   `json:"holdings"` // balances whose quantity is not zero
	Assets         int64   `json:"assets"`   // balances
	FirstPostingAt *string `json:"first_posting_at"`
	LastPostingAt  *string `json:"last_posting_at"`
}

// List is one page of a list. To go on, ask for the page from NextCursor.
type List[T any] struct {
	Data       []T     `json:"data"`
	NextCursor *string `json:"next_cursor"` // nil at the end only
}

// Page is an account's page.
type Page struct {
	Account  Account       `json:"account"`
	Summary  Summary       `json:"summary"`
	Balances List[Balance] `json:"balances"`
	Postings List[Posting] `json:"postings"`
}

// Me is who the caller is taken for, and as what.
type Me struct {
	As      string  `json:"as"` // administrator, who may do everything, or user, who may do what roles allow
	User    *string `json:"user"`
	Service string  `json:"service"` // what authenticated; of a user's token its issuer
	Actor   string  `json:"actor"`   // the name under which events record the caller
}
