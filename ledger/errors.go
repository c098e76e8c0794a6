package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Code is the stable name of a refusal or failure, as callers see it.
type Code string

// The codes of a command's errors. With CodeOutcomeUnknown and CodeInternal, the request may have been carried out.
// With any other code it wrote nothing, except that a closing refused with CodeInvalidChange may have frozen the
// account and opened it again.
const (
	CodeInvalidRequest      Code = "invalid_request"       // single fields are invalid
	CodeInvalidTransaction  Code = "invalid_transaction"   // fields contradict each other
	CodeUnbalanced          Code = "unbalanced"            // quantities or costs do not sum to zero
	CodeAccountNotFound     Code = "account_not_found"     // Error.Fields name it; if empty, the request's own id
	CodeAssetNotFound       Code = "asset_not_found"       // likewise
	CodeTransactionNotFound Code = "transaction_not_found" // likewise
	CodeTransactionIDReused Code = "transaction_id_reused" // the id was used with another body
	CodeAssetExists         Code = "asset_exists"          // the id was used with another body: Error.Fields differ
	CodeAccountExists       Code = "account_exists"        // likewise
	CodeGroupNotFound       Code = "group_not_found"       // the request's group
	CodeGroupExists         Code = "group_exists"          // the id was used with another body: Error.Fields differ
	CodeTooManyGroups       Code = "too_many_groups"       // the account is in events.AccountGroupsMax groups
	CodeInsufficientFunds   Code = "insufficient_funds"    // Error.Funds has the amounts
	CodeRateExceeded        Code = "rate_exceeded"         // Error.Rate has the figures
	CodeAccountFrozen       Code = "account_frozen"        // Error.Fields name the account: it cannot be debited
	CodeAccountClosed       Code = "account_closed"        // Error.Fields name the account
	CodePreconditionFailed  Code = "precondition_failed"   // the request is only for what does not exist
	CodeVersionMismatch     Code = "version_mismatch"      // the account does not have the requested version
	CodeInvalidChange       Code = "invalid_change"        // the account does not allow the change of Error.Fields
	CodePeriodClosed        Code = "period_closed"         // the effective date is in a closed period
	CodePeriodExists        Code = "period_exists"         // the number was used with another body: Error.Fields differ
	CodeInvalidPeriod       Code = "invalid_period"        // the period cannot be closed because of Error.Fields
	CodeNotAHold            Code = "not_a_hold"            // the transaction was posted at once
	CodeHoldEnded           Code = "hold_ended"            // the hold ended differently: Error.HoldStatus
	CodeHoldExpired         Code = "hold_expired"          // the hold expired before the capture
	CodeExceedsHold         Code = "exceeds_hold"          // the capture is for more than the hold
	CodeCostRequired        Code = "cost_required"         // the part of a capture or reversal does not name its cost
	CodeNothingCaptured     Code = "nothing_captured"      // the capture is for zero
	CodeNothingToReverse    Code = "nothing_to_reverse"    // the hold was not captured
	CodeExceedsReversible   Code = "exceeds_reversible"    // Error.Left has what is left to reverse
	CodeBatchTooLarge       Code = "batch_too_large"       // of its postings or, atomic, Error.TooMany of its writes
	CodeThrottled           Code = "throttled"             // the store throttled the requests
	CodeContention          Code = "contention"            // concurrent writes kept coming first
	CodeUnavailable         Code = "unavailable"           // the store, or a correct clock, is not available
	CodeOutcomeUnknown      Code = "outcome_unknown"       // send the request again, with the id Error.Transaction
	CodeInternal            Code = "internal"              // a defect
)

// Error is every error that a command returns.
type Error struct {
	Code        Code
	Detail      string        // for people; shows no internals
	Account     string        // the account that Detail and Funds are about; "" for none
	Request     int           // the refused request of an atomic batch, counted from 1; else 0
	TooMany     int           // with CodeBatchTooLarge of an atomic batch only: writes over the limit
	Fields      []FieldError  // all invalid fields
	Funds       *Funds        // with CodeInsufficientFunds only
	Rate        *RateExceeded // with CodeRateExceeded only
	HoldStatus  events.Status // with CodeHoldEnded only: how the hold ended
	Left        []LegRequest  // with CodeExceedsReversible only: what is left to reverse of each leg
	Version     int64         // with CodeVersionMismatch only: the account's current version
	Transaction string        // with CodeOutcomeUnknown: the transaction id for a retry
	RetryAfter  time.Duration // with CodeThrottled, CodeContention and CodeUnavailable
	Err         error         // the cause, for logs only
}

func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Detail
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// isTemporary reports whether e is no answer: the same request, sent again, may be carried out, or may have been.
func (e *Error) isTemporary() bool {
	switch e.Code {
	case CodeContention, CodeThrottled, CodeUnavailable, CodeOutcomeUnknown:
		return true
	}
	return false
}

// FieldError names a field of a request and the rule that it breaks.
type FieldError struct {
	Field    Field
	Rule     string   // for people: "must be above zero"
	Accounts []string // the accounts whose stored postings Rule tells of; nil if it tells of the request alone
}

// Field is the place of a value in a request.
type Field struct {
	Request int    // the request of a batch, counted from 1; 0 outside a batch
	Leg     int    // the posting, counted from 1; 0 outside a posting
	List    string // the list that Leg counts in; "" for the postings
	Name    string // the field in lower case: "quantity"; "" for the posting itself
	Entry   bool   // the field is the entry Key of the map or JSON object Name
	Key     string // may be empty
}

// LegField returns a field of the posting with an index, counted from 0.
func LegField(index int, name string) Field { return Field{Leg: index + 1, Name: name} }

// EntryField returns an entry of a field that is a map or a JSON object.
func EntryField(name, key string) Field { return Field{Name: name, Entry: true, Key: key} }

// Funds are the amounts of a refusal for insufficient funds, in the asset's smallest unit.
type Funds struct {
	Asset     string
	Available events.Amount // credits − spent + overdraft at the refusal; of a fit, that of all its sources
	Requested events.Amount // the transaction's net debit of account and asset; of a fit, the least that it needs
}

// retryAfter is how long callers should wait before a retry.
const retryAfter = time.Second

// refuse returns a refusal.
func refuse(code Code, detail string, fields ...FieldError) *Error {
	return &Error{Code: code, Detail: detail, Fields: fields}
}

// refusal returns a refusal for these fields, nil if there are none.
func (f faults) refusal(code Code, detail string) *Error {
	if f == nil {
		return nil
	}
	return refuse(code, detail, f...)
}

func invalidRequest(fields ...FieldError) *Error {
	return refuse(CodeInvalidRequest, "Some fields are invalid.", fields...)
}

// The refusals for fields return nil if there are none.
func invalidTransaction(f faults) *Error {
	return f.refusal(CodeInvalidTransaction, "The transaction breaks a rule.")
}

func accountsNotFound(f faults) *Error {
	return f.refusal(CodeAccountNotFound, "Some fields name accounts that do not exist.")
}

func assetsNotFound(f faults) *Error {
	return f.refusal(CodeAssetNotFound, "Some fields name assets that are not registered.")
}

// AccountNotFound is the error of a request for an account that does not exist.
func AccountNotFound() *Error { return refuse(CodeAccountNotFound, "There is no such account.") }

// GroupNotFound is the error of a request for a group that does not exist.
func GroupNotFound() *Error { return refuse(CodeGroupNotFound, "There is no such group.") }

// TransactionNotFound is the error of a request for a transaction that does not exist.
func TransactionNotFound() *Error {
	return refuse(CodeTransactionNotFound, "There is no such transaction.")
}

// PreconditionFailed is the error of a request that is only for what does not exist.
func PreconditionFailed() *Error {
	return refuse(CodePreconditionFailed,
		"This exists. The request wrote nothing, but an earlier one without an answer may have written it.")
}

// busy returns the error of a command that wrote nothing because of the store, and may succeed later.
func busy(code Code, detail string, err error) *Error {
	return &Error{Code: code, Detail: detail + " Nothing was written.", RetryAfter: retryAfter, Err: err}
}

// asError returns the *Error in err. If there is none, err is an error of the store, because of which a command wrote
// nothing. Any other error is a defect.
func asError(err error) *Error {
	e, isError := errors.AsType[*Error](err)
	switch {
	case isError:
		return e
	case errors.Is(err, table.ErrThrottled):
		return busy(CodeThrottled, "The service is over its capacity at the moment.", err)
	case errors.Is(err, table.ErrConflict), errors.Is(err, table.ErrOutdated):
		return busy(CodeContention, "Other requests kept coming first.", err)
	case errors.Is(err, table.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return busy(CodeUnavailable, "The service is not available at the moment.", err)
	}
	return internalError(err)
}

func internalError(err error) *Error {
	return &Error{Code: CodeInternal, Detail: "An internal error occurred.", Err: err}
}

// unknownError returns the error of a command whose outcome is unknown.
func unknownError(transaction string, err error) *Error {
	return &Error{Code: CodeOutcomeUnknown, Transaction: transaction, Err: err,
		Detail: "It is not known whether this was done. Send the same request again."}
}
