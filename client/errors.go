package client

import (
	"fmt"
	"net/http"
	"strings"

	"ledger.example/events"
)

// Error is a refusal or failure in the API's own words (RFC 9457).
type Error struct {
	Status    int          `json:"-"`
	Code      string       `json:"code"`
	Detail    string       `json:"detail"`
	RequestID string       `json:"request_id"`
	Fields    []FieldError `json:"errors"`

	// With insufficient_funds: the first account and asset that were not covered, in minor units.
	Account   string        `json:"account"`
	Asset     string        `json:"asset"`
	Available events.Amount `json:"available"`
	Requested events.Amount `json:"requested"`

	HoldStatus    string `json:"hold_status"`    // with hold_ended: how the hold ended
	Left          []Leg  `json:"left"`           // with exceeds_reversible: what may yet be taken back of each posting
	Version       int64  `json:"version"`        // with version_mismatch: what the account has
	Role          string `json:"role"`           // with forbidden: the weakest that is enough
	TransactionID string `json:"transaction_id"` // with outcome_unknown
}

// Codes that callers tell apart.
const (
	CodeInsufficientFunds   = "insufficient_funds" // it brings figures
	CodeMalformedBody       = "malformed_body"     // among others: a field that the ledger does not know
	CodeHoldEnded           = "hold_ended"         // the hold has ended in another way
	CodeHoldExpired         = "hold_expired"
	CodeExceedsHold         = "exceeds_hold"
	CodeExceedsReversible   = "exceeds_reversible"
	CodeAccountNotFound     = "account_not_found" // or the user has no role on it
	CodeTransactionNotFound = "transaction_not_found"
	CodeGroupNotFound       = "group_not_found"
	CodeForbidden           = "forbidden" // the user's role is too weak
	CodeVersionMismatch     = "version_mismatch"
)

// FieldError names a field of the request and the rule it broke.
type FieldError struct {
	Field string `json:"field"`
	Rule  string `json:"rule"`
}

// Error gives the code and the detail, then one indented line for each field at fault. Amounts are in minor units.
func (e *Error) Error() string {
	return e.text(func(_ string, a events.Amount) string { return a.String() },
		func(_ string, a events.Amount) string { return a.String() }, " (minor units)")
}

// Text is the text of Error with its figures as quantity and cost write amounts and costs of an asset. The rules of
// fields stay as they are.
func (e *Error) Text(quantity, cost func(asset string, a events.Amount) string) string {
	return e.text(quantity, cost, "")
}

func (e *Error) text(quantity, cost func(asset string, a events.Amount) string, unit string) string {
	var b strings.Builder
	b.WriteString(e.Code + ": " + e.Detail)
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID) // to be found in the log
	}
	if e.Code == CodeInsufficientFunds {
		fmt.Fprintf(&b, "\n  %s has %s of %s available, and %s were asked for%s", e.Account,
			quantity(e.Asset, e.Available), e.Asset, quantity(e.Asset, e.Requested), unit)
	}
	for _, l := range e.Left {
		fmt.Fprintf(&b, "\n  left: %s of %s at %s, cost %s%s", quantity(l.Asset, l.Quantity), l.Asset, l.Account,
			cost(l.Asset, l.Cost), unit)
	}
	of := ""
	if e.Code == CodeExceedsHold || e.Code == CodeExceedsReversible { // rules with figures, which stay as they are
		of = " (minor units)"
	}
	for _, f := range e.Fields {
		b.WriteString("\n  " + f.Field + ": " + f.Rule + of)
	}
	return b.String()
}

// StatusError is a reply without one of the API's codes: something else answered, such as a gateway.
type StatusError struct {
	Status  int
	Message string // the gateway's own, "" when it said nothing
}

func (e *StatusError) Error() string {
	said := http.StatusText(e.Status)
	if e.Message != "" {
		said += fmt.Sprintf(" (%s)", e.Message)
	}
	text := fmt.Sprintf("the answer was %d %s, without a code of the ledger's API: ", e.Status, said)
	switch {
	case e.Status == http.StatusTooManyRequests:
		return text + "the gateway takes no more requests for now; wait a moment, and ask again"
	case e.Status >= http.StatusInternalServerError:
		return text + "it comes from a gateway, or another program listens there"
	}
	return text + "it comes from a gateway, or another program listens there; check the address of the API"
}

// UnknownError says that a write may have been applied or not, after as many attempts as the timeout allowed. The same
// request may be sent again with the same id: it has one effect at most.
type UnknownError struct {
	ID       string // of the transaction, asset or account
	Attempts int
	Err      error // of the last attempt
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("it is not known whether %q was written; the same request with the same id can be sent again "+
		"safely, and a refusal is final once %s have passed (after %d attempts: %v)", e.ID, commandTimeout,
		e.Attempts, e.Err)
}

func (e *UnknownError) Unwrap() error { return e.Err }

// UnreachableError says that nothing listens at the address, or that no connection can be made.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no ledger answers at %s: start one with `ledger up`, or name another with --url or "+
		"LEDGER_URL (%v)", e.URL, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }
