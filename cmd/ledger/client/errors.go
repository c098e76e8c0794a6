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
}

// CodeInsufficientFunds is the one code that brings figures.
const CodeInsufficientFunds = "insufficient_funds"

// FieldError names a field of the request and the rule it broke.
type FieldError struct {
	Field string `json:"field"`
	Rule  string `json:"rule"`
}

// Error gives the code and the detail, then one indented line for each field at fault. Amounts are in minor units.
func (e *Error) Error() string {
	return e.text(func(a events.Amount) string { return a.String() }, " (minor units)")
}

// Shown is the error with its amounts, which are of e.Asset, as format shows them.
func (e *Error) Shown(format func(events.Amount) string) error { return &shownError{e, format} }

type shownError struct {
	err    *Error
	format func(events.Amount) string
}

func (e *shownError) Error() string { return e.err.text(e.format, "") }
func (e *shownError) Unwrap() error { return e.err }

func (e *Error) text(format func(events.Amount) string, unit string) string {
	var b strings.Builder
	b.WriteString(e.Code + ": " + e.Detail)
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID) // to be found in the log
	}
	if e.Code == CodeInsufficientFunds {
		fmt.Fprintf(&b, "\n  %s has %s of %s available, and %s were asked for%s", e.Account, format(e.Available), e.Asset, format(e.Requested), unit)
	}
	for _, f := range e.Fields {
		b.WriteString("\n  " + f.Field + ": " + f.Rule)
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
	return fmt.Sprintf("the answer was %d %s, without a code of the ledger's API: it comes from a gateway, or another program listens there",
		e.Status, said)
}

// UnknownError says that a write may have been applied or not, after as many attempts as patience allowed. The same
// request may be sent again with the same id: it has one effect at most.
type UnknownError struct {
	ID       string // of the transaction, asset or account
	Attempts int
	Err      error // of the last attempt
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("it is not known whether %q was written; the same request with the same id can be sent again safely (after %d attempts: %v)",
		e.ID, e.Attempts, e.Err)
}

func (e *UnknownError) Unwrap() error { return e.Err }

// UnreachableError says that nothing listens at the address, or that no connection can be made.
type UnreachableError struct {
	URL string
	Err error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no ledger answers at %s: start one with `ledger up`, or name another with --url or LEDGER_URL (%v)", e.URL, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }
