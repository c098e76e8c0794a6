package store

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Codes of cancellation reasons. DynamoDB returns one for each action, in the order of the request (AWS, API reference
// of TransactionCanceledException). The last two are bugs of the caller.
const (
	ReasonNone       = "None"
	ReasonCondition  = "ConditionalCheckFailed"
	ReasonConflict   = "TransactionConflict"
	ReasonCapacity   = "ProvisionedThroughputExceeded"
	ReasonThrottled  = "ThrottlingError"
	ReasonInvalid    = "ValidationError"
	ReasonCollection = "ItemCollectionSizeLimitExceeded"
)

// meaning is the meaning of an error code beyond its HTTP status.
type meaning int

const (
	throttled meaning = iota + 1
	conflicting
	unproved  // the outcome of the request is unknown
	tableWide // an error of the table or of the caller's credentials
)

var meanings = map[string]meaning{
	"ProvisionedThroughputExceededException": throttled,
	"ThrottlingException":                    throttled,
	"RequestLimitExceeded":                   throttled,
	"TransactionConflictException":           conflicting,
	"ReplicatedWriteConflictException":       conflicting,
	"TransactionInProgressException":         unproved, // an earlier request with the same token
	"IdempotentParameterMismatchException":   unproved, // another request with the same token
	"TransactionCanceledException":           unproved, // unless it has reasons
	"RequestTimeout":                         unproved,
	"RequestTimeoutException":                unproved,
	"UnknownError":                           unproved, // the SDK's, of a reply without a code, such as a proxy's
	"AccessDeniedException":                  tableWide,
	"ResourceNotFoundException":              tableWide,
	"ExpiredTokenException":                  tableWide,
	"UnrecognizedClientException":            tableWide,
	"InvalidSignatureException":              tableWide,
	"IncompleteSignatureException":           tableWide,
}

// Ready returns ErrUnavailable if ctx has ended. Call it before a write: then its error proves that nothing was
// written.
func Ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	return nil
}

// ReadError translates the SDK's error of a read into ErrThrottled, ErrConflict (of a transactional read) or
// ErrUnavailable, which includes the end of ctx. Errors that are not retryable (no such table, access denied, a
// malformed request) are returned unchanged.
func ReadError(err error) error {
	if err == nil {
		return nil
	}
	if translated, ok := declined(err); ok {
		return translated
	}
	if refused(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// WriteError translates the SDK's error of a write. ErrThrottled, ErrConflict (also for a transaction with a
// failed condition) and ErrUnavailable mean that nothing was written. ErrUnknownOutcome means that the write may have
// been applied. The failed condition of a single write, and errors that are not retryable (no such table, access
// denied, a malformed request), are returned unchanged: nothing was written then, either.
func WriteError(err error) error {
	if err == nil {
		return nil
	}
	if translated, ok := declined(err); ok {
		return translated
	}
	switch {
	case refused(err):
		return err
	case notSent(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

// declined translates retryable errors. ok is false for others.
func declined(err error) (translated error, ok bool) {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		switch conflict, isThrottled, fault := Reasons(cancelled.CancellationReasons); {
		case errors.Is(fault, ErrUnknownOutcome):
			return nil, false
		case fault != nil:
			return err, true
		case conflict:
			return fmt.Errorf("%w: %w", ErrConflict, err), true
		case isThrottled:
			return fmt.Errorf("%w: %w", ErrThrottled, err), true
		}
	}
	switch meanings[code(err)] {
	case throttled:
		return fmt.Errorf("%w: %w", ErrThrottled, err), true
	case conflicting:
		return fmt.Errorf("%w: %w", ErrConflict, err), true
	}
	return nil, false
}

// Reasons reports why DynamoDB cancelled a transaction: by a failed condition or a conflict, and by throttling. Without
// a reason, or with an unknown one, the error is ErrUnknownOutcome. A bug of the caller takes precedence over all
// other reasons, because a retry would fail again. Its error does not wrap an error of package store.
func Reasons(all []types.CancellationReason) (conflict, throttled bool, err error) {
	for i, reason := range all {
		switch code := aws.ToString(reason.Code); code {
		case ReasonNone:
		case ReasonCondition, ReasonConflict:
			conflict = true
		case ReasonCapacity, ReasonThrottled:
			throttled = true
		case ReasonInvalid, ReasonCollection:
			return false, false, fmt.Errorf("action %d was refused: %s: %s", i, code, aws.ToString(reason.Message))
		default:
			err = fmt.Errorf("%w: action %d was cancelled for %q", ErrUnknownOutcome, i, code)
		}
	}
	if err == nil && !conflict && !throttled {
		err = fmt.Errorf("%w: cancelled for no reason in %d actions", ErrUnknownOutcome, len(all))
	}
	return conflict, throttled, err
}

// refused reports whether DynamoDB answered that it did not execute the request.
func refused(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	if api.ErrorCode() == "" || meanings[api.ErrorCode()] == unproved {
		return false
	}
	if api.ErrorFault() == smithy.FaultClient {
		return true
	}
	var reply *smithyhttp.ResponseError
	return errors.As(err, &reply) && reply.Response != nil && reply.Response.Response != nil &&
		400 <= reply.HTTPStatusCode() && reply.HTTPStatusCode() < 500
}

// notSent reports whether err proves that the request was not sent: there was no connection, or the SDK could not build
// the request.
func notSent(err error) bool {
	var (
		network   *net.OpError
		serialize *smithy.SerializationError
		invalid   *smithy.InvalidParamsError
	)
	switch {
	case errors.As(err, &network):
		return network.Op == "dial"
	case errors.As(err, &serialize), errors.As(err, &invalid):
		return true
	}
	return false
}

func code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return ""
	}
	return api.ErrorCode()
}

// IsTableWide reports whether an error is about the table or the caller's credentials, and not about one item: requests
// for other items would fail as well.
func IsTableWide(err error) bool {
	return meanings[code(err)] == tableWide || errors.Is(err, ErrUnavailable)
}
