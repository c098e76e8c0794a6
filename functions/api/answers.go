package api

import (
	"encoding/json"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// The answers, field by field in the order of the wire. A pointer is null where nothing is set.

type asset struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Scale       int     `json:"scale"`
	Currency    *string `json:"currency"`
	CreatedAt   string  `json:"created_at"`
}

func showAsset(e events.AssetRegistered) asset {
	return asset{e.ID, e.Name, e.Description, e.Scale, orNull(e.Currency), events.FormatTime(e.At)}
}

type account struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Profile   json.RawMessage `json:"profile"`
	Overdraft any             `json:"overdraft"` // null, "unlimited", or amounts by asset
	CreatedAt string          `json:"created_at"`
}

func showAccount(e events.AccountOpened) account {
	profile := e.Profile
	if profile == "" {
		profile = "{}"
	}
	return account{e.ID, e.Name, json.RawMessage(profile), showOverdraft(e.Overdraft), events.FormatTime(e.At)}
}

// listedAccount is an account in lists, which leave the profile out.
type listedAccount struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Overdraft any    `json:"overdraft"`
	CreatedAt string `json:"created_at"`
}

func showListedAccount(e events.AccountOpened) listedAccount {
	return listedAccount{e.ID, e.Name, showOverdraft(e.Overdraft), events.FormatTime(e.At)}
}

func showOverdraft(o events.Overdraft) any {
	switch {
	case o.Unlimited:
		return "unlimited"
	case len(o.Limits) > 0:
		return o.Limits
	}
	return nil
}

type membership struct {
	Account string  `json:"account"`
	User    string  `json:"user"`
	Role    *string `json:"role"`
}

func showMembership(m projections.Membership) membership {
	return membership{m.Account, m.User, orNull(string(m.Role))}
}

type transaction struct {
	ID          string            `json:"id"`
	Kind        events.Kind       `json:"kind"`
	PostedAt    string            `json:"posted_at"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata"`
	Postings    []leg             `json:"postings"`
}

// leg is a posting within its transaction.
type leg struct {
	ID       events.KSUID `json:"id"`
	Account  string       `json:"account"`
	Asset    string       `json:"asset"`
	Quantity string       `json:"quantity"`
	Cost     string       `json:"cost"`
}

// decimalChars is how many characters the two amounts of a leg have, roughly.
const decimalChars = 24

func showLeg(l events.Leg, d *events.Decimals) leg {
	return leg{l.ID, l.Account, l.Asset, d.Of(l.Quantity), d.Of(l.Cost)}
}

func showTransaction(e events.TransactionPosted) transaction {
	t := transaction{e.ID, e.Kind, events.FormatTime(e.PostedAt()), e.Description, e.Metadata, make([]leg, len(e.Legs))}
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	var d events.Decimals
	d.Grow(decimalChars * len(e.Legs))
	for i, l := range e.Legs {
		t.Postings[i] = showLeg(l, &d)
	}
	return t
}

// posting is a posting in a history.
type posting struct {
	leg
	Transaction string      `json:"transaction"`
	Kind        events.Kind `json:"kind"`
	Description string      `json:"description"`
	PostedAt    string      `json:"posted_at"`
}

func showPosting(e events.PostingRecorded) posting {
	return posting{showLeg(e.Leg, new(events.Decimals)), e.Transaction, e.Kind, e.Description, events.FormatTime(e.ID.Time())}
}

type balance struct {
	Account        string        `json:"account"`
	Asset          string        `json:"asset"`
	Quantity       events.Amount `json:"quantity"`
	NetExpenditure events.Amount `json:"net_expenditure"`
	Credits        events.Amount `json:"credits"`
	Debits         events.Amount `json:"debits"`
	Postings       int64         `json:"postings"`
	AsOf           *string       `json:"as_of"`
	AsOfTime       *string       `json:"as_of_time"`
	Consistency    string        `json:"consistency"`
}

// showBalance returns how balances are shown that were read in one way.
func showBalance(consistency string) func(projections.Balance) balance {
	return func(b projections.Balance) balance {
		h := b.Head
		return balance{
			b.Account, b.Asset, h.Quantity(), h.Expenditure, h.Credits, h.Debits, h.Count,
			orNull(string(h.Through)), timeOf(h.Through), consistency,
		}
	}
}

type summary struct {
	Holdings       int64   `json:"holdings"`
	Assets         int64   `json:"assets"`
	FirstPostingAt *string `json:"first_posting_at"`
	LastPostingAt  *string `json:"last_posting_at"`
}

// accountPage is what one needs to show an account.
type accountPage struct {
	Account  account       `json:"account"`
	Summary  summary       `json:"summary"`
	Balances page[balance] `json:"balances"`
	Postings page[posting] `json:"postings"`
}

type health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// orNull returns nil for an empty text.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// timeOf returns the time in a KSUID, nil when there is none.
func timeOf(id events.KSUID) *string {
	if t := id.Time(); t != (time.Time{}) {
		text := events.FormatTime(t)
		return &text
	}
	return nil
}
