package client

import (
	"encoding/json"

	"ledger.example/events"
)

// Asset is an asset as the API answers it.
type Asset struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Scale       int     `json:"scale"`    // decimal places
	Currency    *string `json:"currency"` // nil: its costs are always zero
	CreatedAt   string  `json:"created_at"`
}

// Account is an account as the API answers it.
type Account struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Profile   json.RawMessage `json:"profile"`   // an object
	Overdraft json.RawMessage `json:"overdraft"` // null, "unlimited" or an amount for each asset
	CreatedAt string          `json:"created_at"`
}

// Unlimited tells whether the account may owe without limit.
func (a Account) Unlimited() bool { return Unlimited(a.Overdraft) }

// Unlimited tells whether an overdraft policy in JSON is "unlimited".
func Unlimited(overdraft json.RawMessage) bool {
	var policy string
	return json.Unmarshal(overdraft, &policy) == nil && policy == "unlimited"
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
}

// Transaction is a posted transaction with all its postings.
type Transaction struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	PostedAt    string            `json:"posted_at"` // RFC 3339
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	Postings    []Posting         `json:"postings"`
}

// Balance is what one account holds of one asset.
type Balance struct {
	Account        string        `json:"account"`
	Asset          string        `json:"asset"`
	Quantity       events.Amount `json:"quantity"`
	NetExpenditure events.Amount `json:"net_expenditure"` // in the minor units of the asset's currency
	Credits        events.Amount `json:"credits"`
	Debits         events.Amount `json:"debits"` // not negative
	Postings       int64         `json:"postings"`
	AsOf           *string       `json:"as_of"` // KSUID of the newest posting counted; nil: none
	AsOfTime       *string       `json:"as_of_time"`
	Consistency    string        `json:"consistency"`
}

// Summary is what an account's balances come to.
type Summary struct {
	Holdings       int64   `json:"holdings"` // balances whose quantity is not zero
	Assets         int64   `json:"assets"`   // balances
	FirstPostingAt *string `json:"first_posting_at"`
	LastPostingAt  *string `json:"last_posting_at"`
}

// List is one page of a list.
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

// Transfer asks to move a quantity of an asset from one account to another.
type Transfer struct {
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	From        string            `json:"from"`
	To          string            `json:"to"`
	Asset       string            `json:"asset"`
	Quantity    events.Amount     `json:"quantity"`
}

// Trade asks to move a quantity of an asset from seller to buyer for a cost in the asset's currency.
type Trade struct {
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Asset       string            `json:"asset"`
	Buyer       string            `json:"buyer"`
	Seller      string            `json:"seller"`
	Quantity    events.Amount     `json:"quantity"`
	Cost        events.Amount     `json:"cost"`
	Settle      bool              `json:"settle"` // whether cash moves too
}
