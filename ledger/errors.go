package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Code is the stable name of a refusal or failure, as callers see it.
type Code string

// The codes of a command's errors. With CodeOutcomeUnknown and CodeInternal, the request may have been carried out.
// With any other code it wrote nothing.
const (
	CodeInvalidRequest      Code = "invalid_request"       // fields are at fault one by one
	CodeInvalidTransaction  Code = "invalid_transaction"   // fields don't go together
	CodeUnbalanced          Code = "unbalanced"            // quantities or costs don't sum to zero
	CodeAccountNotFound     Code = "account_not_found"     // Error.Fields name it, or the request's id
	CodeAssetNotFound       Code = "asset_not_found"       // likewise
	CodeTransactionNotFound Code = "transaction_not_found" // likewise
	CodeTransactionIDReused Code = "transaction_id_reused" // the id has another body
	CodeAssetExists         Code = "asset_exists"          // the id has another definition
	CodeAccountExists       Code = "account_exists"        // the id has another definition
	CodeGroupNotFound       Code = "group_not_found"       // the request's
	CodeGroupExists         Code = "group_exists"          // the id has another definition
	CodeTooManyGroups       Code = "too_many_groups"       // the account is in events.AccountGroupsMax
	CodeInsufficientFunds   Code = "insufficient_funds"    // Error.Funds has the figures
	CodeAccountFrozen       Code = "account_frozen"        // Error.Fields name the account that may not be debited
	CodeAccountClosed       Code = "account_closed"        // likewise: neither debited nor credited
	CodeVersionMismatch     Code = "version_mismatch"      // the account is not of the version that was named
	CodeInvalidChange       Code = "invalid_change"        // Error.Fields say what the account does not allow
	CodeNotAHold            Code = "not_a_hold"            // the transaction never was one
	CodeHoldEnded           Code = "hold_ended"            // in another way: Error.HoldStatus
	CodeHoldExpired         Code = "hold_expired"          // before it was captured
	CodeExceedsHold         Code = "exceeds_hold"          // more than was held
	CodeNothingCaptured     Code = "nothing_captured"      // a capture of nothing
	CodeNothingToReverse    Code = "nothing_to_reverse"    // a hold that was not captured
	CodeExceedsReversible   Code = "exceeds_reversible"    // Error.Left has what is left
	CodeBatchTooLarge       Code = "batch_too_large"       // for one transaction of the store, by Error.TooMany
	CodeThrottled           Code = "throttled"             // the store declines for its load
	CodeContention          Code = "contention"            // other writes kept coming first
	CodeUnavailable         Code = "unavailable"           // the store or a sound clock is not available
	CodeOutcomeUnknown      Code = "outcome_unknown"       // ask again with Error.Transaction
	CodeInternal            Code = "internal"              // a defect
)

// Error is every error that a command returns.
type Error struct {
	Code        Code
	Detail      string        // for people; shows no internals
	Request     int           // the request of an atomic batch that is refused, counted from 1; else 0
	TooMany     int           // with CodeBatchTooLarge only: how many writes beyond the most the batch has
	Fields      []FieldError  // all fields at fault; empty when a request has only an id, and names what is not there
	Funds       *Funds        // with CodeInsufficientFunds only
	HoldStatus  Status        // with CodeHoldEnded only: how the hold ended
	Left        []LegRequest  // with CodeExceedsReversible only: what may still be taken back of each leg
	Version     int64         // with CodeVersionMismatch only: what the account's is
	Transaction string        // the id to ask again with, with CodeOutcomeUnknown
	RetryAfter  time.Duration // with CodeThrottled, CodeContention and CodeUnavailable
	Err         error         // the cause, for the log alone
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

// FieldError names a field of a request and the rule that it breaks.
type FieldError struct {
	Field Field
	Rule  string // for people: "must be above zero"
}

// Field is the place of a value in a request.
type Field struct {
	Request int    // the request of a batch, counted from 1; 0: it is not one of a batch
	Leg     int    // the posting, counted from 1; 0: the field is not one of a posting
	Name    string // the field in lower case: "quantity"; "": the posting as a whole
	Entry   bool   // it is the entry Key of the map or JSON object Name
	Key     string // may be empty
}

// LegField returns a field of the posting with an index, counted from 0.
func LegField(index int, name string) Field { return Field{Leg: index + 1, Name: name} }

// EntryField returns an entry of a field that is a map or a JSON object.
func EntryField(name, key string) Field { return Field{Name: name, Entry: true, Key: key} }

// Funds are the figures of a refusal for insufficient funds, in the asset's smallest unit.
type Funds struct {
	Account   string
	Asset     string
	Available events.Amount // credits − spent + overdraft at the refusal
	Requested events.Amount // the transaction's net debit of account and asset
}

// retryAfter is how long callers are told to wait.
const retryAfter = time.Second

func invalidRequest(fields []FieldError) *Error {
	return &Error{Code: CodeInvalidRequest, Detail: "Some fields are out of range.", Fields: fields}
}

// invalidTransaction returns nil when no field is at fault.
func invalidTransaction(fields []FieldError) *Error {
	if fields == nil {
		return nil
	}
	return &Error{Code: CodeInvalidTransaction, Detail: "The transaction breaks a rule.", Fields: fields}
}

func idReused() *Error {
	return &Error{
		Code: CodeTransactionIDReused, Detail: "The id was used before for a transaction with another body.",
	}
}

func accountsNotFound(fields []FieldError) *Error {
	return &Error{Code: CodeAccountNotFound, Detail: "Some fields name accounts that are not opened.", Fields: fields}
}

func assetsNotFound(fields []FieldError) *Error {
	return &Error{Code: CodeAssetNotFound, Detail: "Some fields name assets that are not registered.", Fields: fields}
}

// storeError is the error of a command that wrote nothing and ends with an error of the store.
func storeError(err error) *Error {
	switch {
	case errors.Is(err, store.ErrThrottled):
		return &Error{Code: CodeThrottled, RetryAfter: retryAfter, Err: err,
			Detail: "The service is over its capacity at the moment. Nothing was written."}
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrOutdated):
		return &Error{Code: CodeContention, RetryAfter: retryAfter, Err: err,
			Detail: "Other requests kept coming first. Nothing was written."}
	case errors.Is(err, store.ErrUnavailable),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Code: CodeUnavailable, RetryAfter: retryAfter, Err: err,
			Detail: "The service is not available at the moment. Nothing was written."}
	}
	return internalError(err)
}

func internalError(err error) *Error {
	return &Error{Code: CodeInternal, Detail: "Something went wrong inside.", Err: err}
}

// unknownError is the error of a command that may have been carried out.
func unknownError(transaction string, err error) *Error {
	return &Error{Code: CodeOutcomeUnknown, Transaction: transaction, Err: err,
		Detail: "It is not known whether this was done. Send the same request again."}
}

// asError returns err as the *Error that it is; any other is a defect.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return internalError(err)
}
