package api

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// problem is an error for callers, of the media type application/problem+json. It has the fields of RFC 9457 and some
// of this API.
type problem struct {
	Type        string         `json:"type"`
	Title       string         `json:"title"`
	Status      int            `json:"status"`
	Detail      string         `json:"detail"`
	Code        ledger.Code    `json:"code"`
	RequestID   string         `json:"request_id"`
	Errors      []fieldError   `json:"errors,omitempty"`
	Role        string         `json:"role,omitempty"` // the role that the caller needs
	Account     string         `json:"account,omitempty"`
	Asset       string         `json:"asset,omitempty"`
	Per         events.Per     `json:"per,omitempty"` // like zone, limit, used and opens_at: of a limit over time
	Zone        string         `json:"zone,omitempty"`
	Limit       *events.Amount `json:"limit,omitempty"`
	Used        *events.Amount `json:"used,omitempty"`
	Available   *events.Amount `json:"available,omitempty"`
	Requested   *events.Amount `json:"requested,omitempty"`
	OpensAt     any            `json:"opens_at,omitempty"` // a text, or null as JSON
	HoldStatus  events.Status  `json:"hold_status,omitempty"`
	Version     int64          `json:"version,omitempty"` // of the account
	Left        []client.Leg   `json:"left,omitempty"`    // what can still be reversed of each leg
	Transaction string         `json:"transaction_id,omitempty"`

	allow      []string      // with codeMethodNotAllowed
	retryAfter time.Duration // with a status of 503
	cause      error         // for the log only
}

// fieldError names a field of the request, a parameter or a header, and the rule that it breaks.
type fieldError = client.FieldError

// fieldErrors converts faults. The fields get their full names: "postings[1].quantity", "metadata.order".
func fieldErrors(faults []ledger.FieldError) []fieldError {
	fields := make([]fieldError, len(faults))
	for i, f := range faults {
		name := f.Field.Name
		if f.Field.Leg > 0 {
			list := cmp.Or(f.Field.List, "postings")
			name = strings.TrimSuffix(list+"["+strconv.Itoa(f.Field.Leg-1)+"]."+name, ".")
		}
		if f.Field.Entry {
			name += "." + f.Field.Key
		}
		fields[i] = fieldError{Field: name, Rule: f.Rule}
	}
	return fields
}

// newProblem returns a problem with a code. The detail must not reveal internals.
func newProblem(code ledger.Code, detail string, fields ...fieldError) *problem {
	k := kindOf(code)
	fields = slices.Clone(fields[:min(len(fields), errorsMax)])
	for i, f := range fields {
		fields[i] = fieldError{Field: truncate(f.Field), Rule: f.Rule}
	}
	return &problem{
		Type: problemsPath + string(k.Code), Title: k.Title, Status: k.Status,
		Detail: detail, Code: k.Code, Errors: fields,
	}
}

// Error implements error. Handlers return problems as errors.
func (p *problem) Error() string { return string(p.Code) + ": " + p.Detail }

// Unwrap returns the cause, which is for the log only.
func (p *problem) Unwrap() error { return p.cause }

// problemOf returns the problem of an error. After a write, an error that is not a *ledger.Error is internal, because
// only the ledger knows that nothing was written.
func problemOf(err error, write bool) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	if e, ok := errors.AsType[*ledger.Error](err); ok {
		return problemOfLedger(e, write)
	}
	switch {
	case write:
		p = newProblem(ledger.CodeInternal, internalDetail)
	case errors.Is(err, table.ErrThrottled):
		p = newProblem(ledger.CodeThrottled, "The table throttles requests; try again shortly.")
	case errors.Is(err, table.ErrUnavailable), errors.Is(err, table.ErrConflict),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p = newProblem(ledger.CodeUnavailable, "The table could not be read; try again shortly.")
	default:
		p = newProblem(ledger.CodeInternal, internalDetail)
	}
	p.cause = err
	return p
}

// problemOfLedger returns the problem of an error of the ledger.
func problemOfLedger(e *ledger.Error, write bool) *problem {
	p := newProblem(e.Code, e.Detail, fieldErrors(e.Fields)...)
	if p.Code == ledger.CodeInternal {
		p.Detail = internalDetail
	}
	p.cause = e.Err
	if e.Code == ledger.CodeInternal || p.Code != e.Code {
		p.cause = e
	}
	switch e.Code {
	case ledger.CodeAccountNotFound, ledger.CodeAssetNotFound, ledger.CodeTransactionNotFound,
		ledger.CodeGroupNotFound:
		if !write || len(e.Fields) == 0 { // the path names it, not the body
			p.Status = http.StatusNotFound
		}
	}
	if e.Funds != nil {
		p.Account, p.Asset = e.Account, e.Funds.Asset
		p.Available, p.Requested = &e.Funds.Available, &e.Funds.Requested
	}
	if of := e.Rate; of != nil {
		p.Account, p.Asset, p.Per, p.Zone = e.Account, of.Asset, of.Per, of.Zone
		p.Limit, p.Used, p.Available, p.Requested = &of.Quantity, &of.Used, &of.Available, &of.Requested
		p.OpensAt = json.RawMessage("null")
		if !of.OpensAt.IsZero() {
			p.OpensAt = events.FormatTime(of.OpensAt)
		}
	}
	for _, of := range e.Left {
		p.Left = append(p.Left, client.Leg{Account: of.Account, Asset: of.Asset, Quantity: of.Quantity, Cost: of.Cost})
	}
	p.Version = e.Version
	p.HoldStatus, p.Transaction, p.retryAfter = e.HoldStatus, e.Transaction, e.RetryAfter
	return p
}

// internalDetail is the detail of all internal errors. The cause is only in the log.
const internalDetail = "An internal error occurred; the log has the cause under this request id."

// errorsMax is the most fields that a problem lists. The largest valid transaction has fewer fields, but a body can
// have tens of thousands of faults.
const errorsMax = 256

// fieldChars is the most characters of a field's name that an error repeats: the caller chose it, and it may be long.
const fieldChars = 160

// truncate cuts a field's name to fieldChars.
func truncate(field string) string {
	n := 0
	for i := range field {
		if n++; n > fieldChars {
			return field[:i] + "…"
		}
	}
	return field
}

// The codes of the API. Package ledger has the other codes.
const (
	codeNotFound         ledger.Code = "not_found"
	codeMethodNotAllowed ledger.Code = "method_not_allowed"
	codeUnauthenticated  ledger.Code = "unauthenticated"
	codeForbidden        ledger.Code = "forbidden"
	codeUnsupportedMedia ledger.Code = "unsupported_media_type"
	codeBodyTooLarge     ledger.Code = "body_too_large"
	codeMalformedBody    ledger.Code = "malformed_body"
	codeInvalidCursor    ledger.Code = "invalid_cursor"
)

// codeForeignHost is the code of a local ledger for requests with the host name of another machine. No function in AWS
// answers with it, so it is not in openapi.json.
const codeForeignHost ledger.Code = "foreign_host"

// kind is what all problems with the same code have in common.
type kind struct {
	Code    ledger.Code
	Status  int
	Title   string
	Meaning string // what happened
	Advice  string // what the caller can do
}

//go:embed problems.json
var kindsJSON []byte

// kinds returns the kinds of all codes, in the order of the checks. A problem about something that does not exist has
// the status 404 if the path names it, and the status of its kind if the body does.
var kinds = sync.OnceValue(func() (all []kind) {
	if err := json.Unmarshal(kindsJSON, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
})

// kindOf returns the kind of a code. An unknown code is an internal error.
func kindOf(code ledger.Code) kind {
	all := kinds()
	for _, k := range all {
		if k.Code == code {
			return k
		}
	}
	return all[len(all)-1]
}
