package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
)

// The codes that only the API answers with; the others are the ledger's.
const (
	codeNotFound         ledger.Code = "not_found"
	codeMethodNotAllowed ledger.Code = "method_not_allowed"
	codeUnauthenticated  ledger.Code = "unauthenticated"
	codeUnsupportedMedia ledger.Code = "unsupported_media_type"
	codeBodyTooLarge     ledger.Code = "body_too_large"
	codeMalformedBody    ledger.Code = "malformed_body"
	codeInvalidCursor    ledger.Code = "invalid_cursor"
)

// kind is what is the same for every problem of one code.
type kind struct {
	code   ledger.Code
	status int
	title  string
}

// kinds returns every code that the API answers with, in the order in which requests are checked. What was not found is
// 404 when the path named it, 422 when the body did: then status is 422 here.
func kinds() []kind {
	return []kind{
		{codeNotFound, http.StatusNotFound, "Nothing is served at this path"},
		{codeMethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed at this path"},
		{codeUnauthenticated, http.StatusUnauthorized, "The caller is not known"},
		{codeUnsupportedMedia, http.StatusUnsupportedMediaType, "Body is not JSON"},
		{codeBodyTooLarge, http.StatusRequestEntityTooLarge, "Body is too large"},
		{codeMalformedBody, http.StatusBadRequest, "Body is malformed"},
		{ledger.CodeInvalidRequest, http.StatusBadRequest, "Request is invalid"},
		{codeInvalidCursor, http.StatusBadRequest, "Cursor is invalid"},
		{ledger.CodeInvalidTransaction, http.StatusUnprocessableEntity, "Transaction is invalid"},
		{ledger.CodeUnbalanced, http.StatusUnprocessableEntity, "Transaction does not balance"},
		{ledger.CodeAccountNotFound, http.StatusUnprocessableEntity, "Account does not exist"},
		{ledger.CodeAssetNotFound, http.StatusUnprocessableEntity, "Asset does not exist"},
		{ledger.CodeTransactionNotFound, http.StatusNotFound, "Transaction does not exist"},
		{ledger.CodeTransactionIDReused, http.StatusConflict, "Transaction id was used for another request"},
		{ledger.CodeAssetExists, http.StatusConflict, "Asset exists with another definition"},
		{ledger.CodeAccountExists, http.StatusConflict, "Account exists with another definition"},
		{ledger.CodeInsufficientFunds, http.StatusUnprocessableEntity, "Insufficient funds"},
		{ledger.CodeThrottled, http.StatusServiceUnavailable, "Too many requests for now"},
		{ledger.CodeContention, http.StatusServiceUnavailable, "Too many requests for the same account"},
		{ledger.CodeUnavailable, http.StatusServiceUnavailable, "Not available for now"},
		{ledger.CodeOutcomeUnknown, http.StatusGatewayTimeout, "Outcome is unknown"},
		{ledger.CodeInternal, http.StatusInternalServerError, "Internal error"},
	}
}

// kindOf returns the kind of a code, that of an internal error for one that is not known.
func kindOf(code ledger.Code) kind {
	all := kinds()
	for _, k := range all {
		if k.code == code {
			return k
		}
	}
	return all[len(all)-1]
}

// problem is an error as callers see it, of the media type application/problem+json. The fields are in RFC 9457's order,
// then ours.
type problem struct {
	Type        string              `json:"type"`
	Title       string              `json:"title"`
	Status      int                 `json:"status"`
	Detail      string              `json:"detail"`
	Code        ledger.Code         `json:"code"`
	RequestID   string              `json:"request_id"`
	Errors      []ledger.FieldError `json:"errors,omitempty"`
	Account     string              `json:"account,omitempty"`
	Asset       string              `json:"asset,omitempty"`
	Available   *events.Amount      `json:"available,omitempty"`
	Requested   *events.Amount      `json:"requested,omitempty"`
	Transaction string              `json:"transaction_id,omitempty"`

	allow      []string      // with codeMethodNotAllowed
	retryAfter time.Duration // with a status of 503
	cause      error         // for the log alone
}

// newProblem returns the problem of a code. The detail must show no internals.
func newProblem(code ledger.Code, detail string, fields ...ledger.FieldError) *problem {
	k := kindOf(code)
	fields = slices.Clone(fields[:min(len(fields), errorsMax)])
	for i, f := range fields {
		fields[i] = ledger.FieldError{Field: brief(f.Field), Rule: f.Rule}
	}
	return &problem{
		Type: "/problems/" + string(k.code), Title: k.title, Status: k.status, Detail: detail, Code: k.code, Errors: fields,
	}
}

func (p *problem) Error() string { return string(p.Code) + ": " + p.Detail }

func (p *problem) Unwrap() error { return p.cause }

// problemOf translates any error, once. What the ledger doesn't name is unavailable only if nothing can have been written.
func problemOf(err error, write bool) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	if e, ok := errors.AsType[*ledger.Error](err); ok {
		return problemOfLedger(e)
	}
	switch {
	case write:
		p = newProblem(ledger.CodeInternal, internalDetail)
	case errors.Is(err, table.ErrThrottled):
		p = newProblem(ledger.CodeThrottled, "The store declines requests for its load; try again shortly.")
	case errors.Is(err, table.ErrUnavailable), errors.Is(err, table.ErrConflict), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p = newProblem(ledger.CodeUnavailable, "The store could not be read; try again shortly.")
	default:
		p = newProblem(ledger.CodeInternal, internalDetail)
	}
	p.cause = err
	return p
}

func problemOfLedger(e *ledger.Error) *problem {
	p := newProblem(e.Code, e.Detail, e.Fields...)
	if p.Code == ledger.CodeInternal {
		p.Detail = internalDetail
	}
	p.cause = e.Err
	if e.Code == ledger.CodeInternal || p.Code != e.Code {
		p.cause = e
	}
	if e.OfPath {
		p.Status = http.StatusNotFound
	}
	if e.Funds != nil {
		p.Account, p.Asset, p.Available, p.Requested = e.Funds.Account, e.Funds.Asset, &e.Funds.Available, &e.Funds.Requested
	}
	p.Transaction, p.retryAfter = e.Transaction, e.RetryAfter
	return p
}

const internalDetail = "Something went wrong here; the log has it under this request id."

// missing returns the problem of something that the path names, or a filter, and that does not exist.
func missing(err error, fields ...ledger.FieldError) error {
	p := problemOf(err, false)
	switch p.Code {
	case ledger.CodeAccountNotFound, ledger.CodeAssetNotFound, ledger.CodeTransactionNotFound:
		p.Status, p.Errors = http.StatusNotFound, fields
	}
	return p
}

// errorsMax is the most fields that one problem names: all those of the largest transaction, and room for more. A body
// can have tens of thousands.
const errorsMax = 256

// briefChars is the most characters of a field's name that an error repeats: the caller chose it, and may have chosen
// it long.
const briefChars = 160

func brief(field string) string {
	n := 0
	for i := range field {
		if n++; n > briefChars {
			return field[:i] + "…"
		}
	}
	return field
}
