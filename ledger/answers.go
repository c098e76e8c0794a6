package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/ledger/table"
)

// retryAfter is what callers are told to wait.
const retryAfter = time.Second

const (
	ruleAsset   = "names no registered asset"
	ruleAccount = "names no opened account"
)

func invalidRequest(fields []FieldError) *Error {
	return &Error{Code: CodeInvalidRequest, Detail: "Some fields are out of range.", Fields: fields}
}

func assetsNotFound(fields []FieldError) *Error {
	return &Error{Code: CodeAssetNotFound, Detail: "Some fields name assets that are not registered.", Fields: fields}
}

func accountsNotFound(fields []FieldError) *Error {
	return &Error{Code: CodeAccountNotFound, Detail: "Some fields name accounts that are not opened.", Fields: fields}
}

// storeError is the answer to a command that ends with an error of the store, having written nothing.
func storeError(err error) *Error {
	switch {
	case errors.Is(err, table.ErrThrottled):
		return &Error{Code: CodeThrottled, Detail: "The service is over its capacity at the moment. Nothing was written.", RetryAfter: retryAfter, Err: err}
	case errors.Is(err, table.ErrConflict):
		return &Error{Code: CodeContention, Detail: "Other requests kept coming first. Nothing was written.", RetryAfter: retryAfter, Err: err}
	case errors.Is(err, table.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Code: CodeUnavailable, Detail: "The service is not available at the moment. Nothing was written.", RetryAfter: retryAfter, Err: err}
	}
	return internalError(err)
}

func internalError(err error) *Error {
	return &Error{Code: CodeInternal, Detail: "Something went wrong inside.", Err: err}
}

// unknownError is the answer to a command that may have been applied.
func unknownError(transaction string, err error) *Error {
	return &Error{
		Code:        CodeOutcomeUnknown,
		Detail:      "It is not known whether this was done. Send the same request again.",
		Transaction: transaction,
		Err:         err,
	}
}

// actorError guards against a caller that forgot to say who acts: an event without an actor could not be read again.
func actorError(actor string) *Error {
	f := faults{}
	if f.text("actor", actor, 1, actorChars); len(f) > 0 {
		return internalError(errors.New("actor " + f[0].Rule))
	}
	return nil
}
