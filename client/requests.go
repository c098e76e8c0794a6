package client

import (
	"encoding/json"
	"time"

	"ledger.example/events"
)

// Transfer moves a quantity of an asset from one account to another. ID is the id of the transaction. The same transfer
// with the same ID gets the first answer again.
type Transfer struct {
	ID          string            `json:"id" is:"ID"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	From        string            `json:"from" is:"ID" in:"required"`
	To          string            `json:"to" is:"ID" in:"required"`
	Asset       string            `json:"asset" is:"ID" in:"required"`
	Quantity    events.Amount     `json:"quantity" in:"required"`
	Hold        *Hold             `json:"hold,omitempty"`        // nil: it is posted at once
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a time to post for, at least 15 s ago; zero: now
}

// Trade moves a quantity of an asset from seller to buyer, for a cost in the asset's currency.
type Trade struct {
	ID          string            `json:"id" is:"ID"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Asset       string            `json:"asset" is:"ID" in:"required"`
	Buyer       string            `json:"buyer" is:"ID" in:"required"`
	Seller      string            `json:"seller" is:"ID" in:"required"`
	Quantity    events.Amount     `json:"quantity" in:"required"`
	Cost        events.Amount     `json:"cost" in:"required"`
	Settle      bool              `json:"settle"`                // also move the cost from buyer to seller
	Hold        *Hold             `json:"hold,omitempty"`        // nil: it is posted at once
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a time to post for, at least 15 s ago; zero: now
}

// TransactionRequest posts a transaction with any legs. For each asset, the quantities sum to zero. So do the costs.
type TransactionRequest struct {
	ID          string            `json:"id" is:"ID"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Postings    []Leg             `json:"postings" in:"required"`
	Hold        *Hold             `json:"hold,omitempty"`        // nil: it is posted at once
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a time to post for, at least 15 s ago; zero: now
}

// Hold makes a request a hold: it reserves its debits until the hold is captured or released, or expires.
type Hold struct {
	// ExpiresAt is when the hold expires, at most 31 days ahead. The zero time means in 7 days. A retry must have the
	// same time.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Part selects how much of a transaction a capture or a reversal takes. The zero Part takes all that is left.
type Part struct {
	Quantity *events.Amount `json:"quantity,omitempty"` // of a transfer or a trade
	Cost     *events.Amount `json:"cost,omitempty"`     // of a trade, with Quantity; nil for 0
	Postings []Taken        `json:"postings,omitempty"` // of a transaction: one for each leg, in the order of the legs
}

// Taken is the part of one leg that is captured or reversed. It has the sign of the leg; zero takes nothing of it.
type Taken struct {
	Quantity events.Amount `json:"quantity" in:"required"`
	Cost     events.Amount `json:"cost"`
}

// Capture posts what a hold reserved, in whole or in part. What is not captured becomes available again. A hold ends
// once. The same capture sent again gets the first answer. Codes of *Error: hold_ended (with HoldStatus), hold_expired,
// exceeds_hold, not_a_hold, nothing_captured.
type Capture struct {
	Transaction string `path:"id" json:"-" batch:"transaction" is:"ID" in:"required"` // id of the hold
	Part
}

// Release ends a hold without posting anything. What it reserved becomes available again. Codes of *Error: hold_ended
// (with HoldStatus), not_a_hold.
type Release struct {
	Transaction string `path:"id" json:"-" batch:"transaction" is:"ID" in:"required"` // id of the hold
	Description string `json:"description,omitempty"`
}

// Reversal posts a transaction that reverses another one, in whole or in part. Codes of *Error: exceeds_reversible
// (with Left), nothing_to_reverse.
type Reversal struct {
	// The transaction to reverse.
	Transaction string            `path:"id" json:"-" batch:"transaction" is:"ID" in:"required"`
	ID          string            `json:"id" is:"ID"` // of the reversing transaction
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	EffectiveAt time.Time         `json:"effective_at,omitzero"` // a time to post for, at least 15 s ago; zero: now
	Part
}

// Request is a request that Client.Post can send, alone or in a batch: a Transfer, a Trade, a TransactionRequest, a
// Capture, a Release, a Reversal, or a Command of one of these kinds.
type Request interface {
	// Command returns the request with its JSON body.
	Command() (Command, error)
}

// Command returns the command of the transfer.
func (t Transfer) Command() (Command, error) { return command(KindTransfer, t.ID, t) }

// Command returns the command of the trade.
func (t Trade) Command() (Command, error) { return command(KindTrade, t.ID, t) }

// Command returns the command of the transaction.
func (t TransactionRequest) Command() (Command, error) { return command(KindTransaction, t.ID, t) }

// Command returns the command of the capture.
func (r Capture) Command() (Command, error) {
	return commandOn(r.Transaction, KindCapture, r.Transaction, r)
}

// Command returns the command of the release.
func (r Release) Command() (Command, error) {
	return commandOn(r.Transaction, KindRelease, r.Transaction, r)
}

// Command returns the command of the reversal.
func (r Reversal) Command() (Command, error) { return commandOn(r.Transaction, KindReversal, r.ID, r) }

// Command returns the command itself.
func (cmd Command) Command() (Command, error) { return cmd, nil }

func command(kind Kind, id string, request any) (Command, error) {
	return commandOn("", kind, id, request)
}

func commandOn(of string, kind Kind, id string, request any) (Command, error) {
	body, err := json.Marshal(request)
	return Command{Kind: kind, ID: id, Of: of, Body: body}, err
}

// Sent returns the path and the JSON body that Client.Post sends for a request. It sends nothing.
func Sent(r Request) (path string, body []byte, err error) {
	k, err := callOf(r)
	return k.path, k.body, err
}
