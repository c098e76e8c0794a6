package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"ledger.example/events"
)

// Error is a problem that the API answered (RFC 9457). If its status is 4xx or 503, the request wrote nothing. The
// API's document lists all codes: GET /problems.
type Error struct {
	Status    int          `json:"-"`
	Code      string       `json:"code"`
	Detail    string       `json:"detail"`
	RequestID string       `json:"request_id"`
	Fields    []FieldError `json:"errors"`

	// With insufficient_funds: the first account and asset whose debit is not covered. With rate_exceeded: those whose
	// limit over time does not allow the debit. Amounts are in minor units. If a split takes from several accounts,
	// Account is the last, and with insufficient_funds the amounts are those of all together.
	Account   string        `json:"account"`
	Asset     string        `json:"asset"`
	Available events.Amount `json:"available"`
	Requested events.Amount `json:"requested"`

	// With rate_exceeded: the limit, what is used of it, and when the next day, week or month begins.
	Per     string        `json:"per"`
	Zone    Zone          `json:"zone"`
	Limit   events.Amount `json:"limit"`
	Used    events.Amount `json:"used"`
	OpensAt string        `json:"opens_at"` // "" if the request is above the limit by itself

	HoldStatus    string `json:"hold_status"`    // with hold_ended: how the hold ended
	Left          []Leg  `json:"left"`           // with exceeds_reversible: what can still be reversed of each posting
	Version       int64  `json:"version"`        // with version_mismatch: the current version of the account
	Role          string `json:"role"`           // with forbidden: the weakest role that suffices
	TransactionID string `json:"transaction_id"` // with outcome_unknown: the id to send again

	Raw json.RawMessage `json:"-"` // the problem as the API answered it
}

// Codes that callers often handle.
const (
	CodeInsufficientFunds   = "insufficient_funds" // with Account, Asset, Available and Requested
	CodeRateExceeded        = "rate_exceeded"      // also with Per, Zone, Limit, Used and OpensAt
	CodeMalformedBody       = "malformed_body"     // not a JSON object, or a field is unknown or repeated
	CodeHoldEnded           = "hold_ended"         // the hold already ended in another way
	CodeHoldExpired         = "hold_expired"
	CodeExceedsHold         = "exceeds_hold"
	CodeCostRequired        = "cost_required"
	CodeExceedsReversible   = "exceeds_reversible"
	CodeAccountNotFound     = "account_not_found" // does not exist, or the user has no role on it
	CodeTransactionNotFound = "transaction_not_found"
	CodeTransactionIDReused = "transaction_id_reused"
	CodeGroupNotFound       = "group_not_found"
	CodeForbidden           = "forbidden" // the user's role is too weak
	CodeVersionMismatch     = "version_mismatch"
	CodePreconditionFailed  = "precondition_failed" // it exists: see Client.IfAbsent
	CodeInvalidChange       = "invalid_change"      // the account does not allow the change
)

// FieldError names a field of the request and the rule that it breaks.
type FieldError struct {
	Field string `json:"field"`
	Rule  string `json:"rule"`
}

// Error returns the code and the detail, then one indented line for each field at fault. Amounts are in minor units.
func (e *Error) Error() string {
	minor := func(_ string, a events.Amount) string { return a.String() }
	return e.text(minor, minor, FieldError.inMinorUnits, " (minor units)")
}

// Text returns the text of Error with its amounts formatted by quantity and cost, and the rules of fields by rule.
func (e *Error) Text(quantity, cost func(asset string, a events.Amount) string, rule func(FieldError) string) string {
	return e.text(quantity, cost, rule, "")
}

// ruleWithAmount matches the rules of fields that end in an amount.
var ruleWithAmount = regexp.MustCompile(
	`^(?:the (quantities|costs) of (\S+) must sum to 0, not to|must not exceed|.*; too much:|.*; left:) (-?[0-9]+)$`)

// Amount returns the amount at the end of the rule, in minor units. isCost says whether it is a cost. asset is "" if
// the rule does not name it: it is the asset of the field then. ok is false if there is none.
func (f FieldError) Amount() (amount events.Amount, asset string, isCost, ok bool) {
	m := ruleWithAmount.FindStringSubmatch(f.Rule)
	if m == nil {
		return amount, "", false, false
	}
	amount, err := events.ParseAmount(m[3], events.FoldedDigits)
	return amount, m[2], m[1] == "costs" || strings.HasSuffix(f.Field, "cost"), err == nil
}

func (f FieldError) inMinorUnits() string {
	if _, _, _, ok := f.Amount(); ok {
		return f.Rule + " (minor units)"
	}
	return f.Rule
}

func (e *Error) text(
	quantity, cost func(asset string, a events.Amount) string, rule func(FieldError) string, unit string,
) string {
	var b strings.Builder
	b.WriteString(e.Code + ": " + e.Detail)
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID) // the server's log has the cause under this id
	}
	if e.Code == CodeInsufficientFunds {
		who := e.Account + " has"
		if strings.Contains(e.Detail, "together") { // of several accounts, it is the last
			who = "they have"
		}
		fmt.Fprintf(&b, "\n  %s %s of %s available, and %s were requested%s", who,
			quantity(e.Asset, e.Available), e.Asset, quantity(e.Asset, e.Requested), unit)
	}
	if e.Code == CodeRateExceeded && e.Account != "" {
		fmt.Fprintf(&b, "\n  %s may debit %s of %s a %s (%s): %s are used, %s are available, and %s were requested%s",
			e.Account, quantity(e.Asset, e.Limit), e.Asset, e.Per, e.Zone, quantity(e.Asset, e.Used),
			quantity(e.Asset, e.Available), quantity(e.Asset, e.Requested), unit)
		b.WriteString("\n  " + e.Opens())
	}
	for _, l := range e.Left {
		fmt.Fprintf(&b, "\n  left: %s of %s at %s, cost %s%s", quantity(l.Asset, l.Quantity), l.Asset, l.Account,
			cost(l.Asset, l.Cost), unit)
	}
	for _, f := range e.Fields {
		b.WriteString("\n  " + f.Field + ": " + rule(f))
	}
	return b.String()
}

// Opens says when a limit over time allows the request again, in the limit's own zone: "it opens again at …".
func (e *Error) Opens() string {
	at, err := time.Parse(time.RFC3339, e.OpensAt)
	if err != nil {
		return "the request is above the limit by itself"
	}
	return "it opens again at " + e.Zone.Text(at)
}

// StatusError is a reply with an error status and without a code of the API. A gateway or another program sent it.
type StatusError struct {
	Status  int
	Message string // the message in the reply, "" if it has none
}

// Error returns the status, the message, and what to do.
func (e *StatusError) Error() string {
	status := http.StatusText(e.Status)
	if e.Message != "" {
		status += fmt.Sprintf(" (%s)", e.Message)
	}
	text := fmt.Sprintf("the answer was %d %s, without a code of the ledger's API: ", e.Status, status)
	switch {
	case e.Status == http.StatusTooManyRequests:
		return text + "the gateway limits the rate of requests; wait a moment and try again"
	case e.Status >= http.StatusInternalServerError:
		return text + "a gateway or another program sent it"
	}
	return text + "a gateway or another program sent it; check the address of the API"
}

// UnknownError means that the outcome of a write is unknown: it may have been applied, and may still be. Send the same
// request again with the same id. It never has a second effect.
type UnknownError struct {
	ID       string // of the transaction, asset, account, group or user
	Attempts int    // how often the request was sent
	Err      error  // the error of the last attempt
}

// Error says how to find out the outcome, and includes the error of the last attempt.
func (e *UnknownError) Error() string {
	if isPrecondition(e.Err) {
		return fmt.Sprintf("it is not known whether %q was written by an attempt without an answer: read what is "+
			"there (after %d attempts: %v)", e.ID, e.Attempts, e.Err)
	}
	return fmt.Sprintf("it is not known whether %q was written; the same request with the same id can be sent again "+
		"safely, and a refusal is final once %s have passed (after %d attempts: %v)", e.ID, commandTimeout,
		e.Attempts, e.Err)
}

// Unwrap returns the error of the last attempt.
func (e *UnknownError) Unwrap() error { return e.Err }

// UnreachableError means that no connection to the API can be made. Nothing was sent.
type UnreachableError struct {
	URL string
	Err error
}

// Error returns the address and the error of the connection.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no ledger answers at %s: %v", e.URL, e.Err)
}

// Unwrap returns the error of the connection.
func (e *UnreachableError) Unwrap() error { return e.Err }
