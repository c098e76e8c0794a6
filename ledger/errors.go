package ledger

import (
	"time"

	"ledger.example/events"
)

// Code is the stable name of a refusal or failure, as callers see it.
type Code string

// The codes that commands answer with. A 4xx-like code or one of throttled, contention and unavailable means that
// nothing was written by the request; CodeOutcomeUnknown and CodeInternal mean that it may have been.
const (
	CodeInvalidRequest      Code = "invalid_request"
	CodeInvalidTransaction  Code = "invalid_transaction"
	CodeUnbalanced          Code = "unbalanced"
	CodeAccountNotFound     Code = "account_not_found"
	CodeAssetNotFound       Code = "asset_not_found"
	CodeTransactionNotFound Code = "transaction_not_found"
	CodeTransactionIDReused Code = "transaction_id_reused"
	CodeAssetExists         Code = "asset_exists"
	CodeAccountExists       Code = "account_exists"
	CodeInsufficientFunds   Code = "insufficient_funds"
	CodeThrottled           Code = "throttled"
	CodeContention          Code = "contention"
	CodeUnavailable         Code = "unavailable"
	CodeOutcomeUnknown      Code = "outcome_unknown"
	CodeInternal            Code = "internal"
)

// FieldError names a field of the request, as the caller wrote it ("postings[1].quantity"), and the rule it broke.
type FieldError struct {
	Field string `json:"field"`
	Rule  string `json:"rule"`
}

// Funds are the figures of a refusal for insufficient funds.
type Funds struct {
	Account   string
	Asset     string
	Available events.Amount // credits − spent + overdraft at the refusal
	Requested events.Amount // the transaction's net debit of account and asset
}

// Error is every error that a command returns.
type Error struct {
	Code        Code
	Detail      string        // for people; shows no internals
	Fields      []FieldError  // all fields at fault, in the order of the request
	OfPath      bool          // what is missing was named by the path, not by the body
	Funds       *Funds        // with CodeInsufficientFunds only
	Transaction string        // id to ask again with, with CodeOutcomeUnknown
	RetryAfter  time.Duration // with CodeThrottled, CodeContention, CodeUnavailable
	Err         error         // the cause, for the log alone
}

func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Detail
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
