package client

import (
	"encoding/json"
	"time"

	"ledger.example/events"
)

// Transfer asks to move a quantity of an asset from one account to another. Its ID is the transaction's: sent again
// with the same, it is answered as the first time.
type Transfer struct {
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	From        string            `json:"from"`
	To          string            `json:"to"`
	Asset       string            `json:"asset"`
	Quantity    events.Amount     `json:"quantity"`
	Hold        *Hold             `json:"hold,omitempty"`        // nil: it is posted at once
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a past time to post for; zero: now
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
	Settle      bool              `json:"settle"`                // whether cash moves too
	Hold        *Hold             `json:"hold,omitempty"`        // nil: it is posted at once
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a past time to post for; zero: now
}

// TransactionRequest asks for a transaction of any legs. For each asset, quantities and costs sum to zero.
type TransactionRequest struct {
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Postings    []Leg             `json:"postings"`
	Hold        *Hold             `json:"hold,omitempty"`        // nil: it is posted at once
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a past time to post for; zero: now
}

// Hold makes a request a hold: its money is set aside, until the hold is captured or released, or expires.
type Hold struct {
	// ExpiresAt is when it ends by itself, at most 31 days ahead. The zero time means in 7 days. A request that is sent
	// again must ask for the same time.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Part names what a capture or a reversal takes of a transaction. The zero Part takes all that there is.
type Part struct {
	Quantity *events.Amount `json:"quantity,omitempty"` // of a transfer or a trade
	Cost     *events.Amount `json:"cost,omitempty"`     // of a trade, with Quantity; nil: 0
	Postings []Taken        `json:"postings,omitempty"` // of another transaction: one for each leg, in the legs' order
}

// Taken is what is taken of one leg, with the leg's sign; zeros take nothing of it.
type Taken struct {
	Quantity events.Amount `json:"quantity"`
	Cost     events.Amount `json:"cost"`
}

// Capture asks to post what a hold has set aside, in whole or in part. What is not captured is given back. A hold ends
// once: the same capture again is answered as the first. Errors: *Error has hold_ended with HoldStatus, hold_expired,
// exceeds_hold, not_a_hold, nothing_captured.
type Capture struct {
	Transaction string `json:"-"` // id of the hold
	Part
}

// Release asks to give back what a hold has set aside, once. Errors: *Error has hold_ended with HoldStatus, not_a_hold.
type Release struct {
	Transaction string `json:"-"` // id of the hold
	Description string `json:"description,omitempty"`
}

// Reversal asks for a transaction that takes back another one, in whole or in part. Errors: *Error has
// exceeds_reversible with Left, nothing_to_reverse.
type Reversal struct {
	Transaction string            `json:"-"`  // id of what is taken back
	ID          string            `json:"id"` // of the reversing transaction
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a past time to post for; zero: now
	Part
}

// Request is a request of a batch: a Transfer, a Trade, a TransactionRequest, or the Command of one.
type Request interface {
	// Command returns the request as it is sent.
	Command() (Command, error)
}

// Post is a request that posts money, sets it aside or gives it back: a Request, a Capture, a Release, a Reversal.
type Post interface {
	call() (call, error)
}

// Command returns the command of the transfer.
func (t Transfer) Command() (Command, error) { return command(KindTransfer, t.ID, t) }

// Command returns the command of the trade.
func (t Trade) Command() (Command, error) { return command(KindTrade, t.ID, t) }

// Command returns the command of the transaction.
func (t TransactionRequest) Command() (Command, error) { return command(KindTransaction, t.ID, t) }

// Command returns the command itself.
func (cmd Command) Command() (Command, error) { return cmd, nil }

func command(kind Kind, id string, request any) (Command, error) {
	body, err := json.Marshal(request)
	return Command{Kind: kind, ID: id, Body: body}, err
}

// Sent returns to which path a request is posted, and what: for those who show it.
func Sent(p Post) (path string, body []byte, err error) {
	k, err := p.call()
	return k.path, k.body, err
}

func (t Transfer) call() (call, error)           { return callOf(t) }
func (t Trade) call() (call, error)              { return callOf(t) }
func (t TransactionRequest) call() (call, error) { return callOf(t) }
func (cmd Command) call() (call, error)          { return callOf(cmd) }

func (r Capture) call() (call, error) { return callOn(r.Transaction, "capture", r.Transaction, r) }
func (r Release) call() (call, error) { return callOn(r.Transaction, "release", r.Transaction, r) }
func (r Reversal) call() (call, error) {
	return callOn(r.Transaction, "reversals", r.ID, r)
}
