package wire

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ledger.example/ledger/table"
)

// Codes of the reasons for which the store cancels a transaction, one for each action in the order of the request
// (AWS, API reference of TransactionCanceledException). Any other is a fault of ours.
const (
	ReasonNone      = "None"
	ReasonCondition = "ConditionalCheckFailed"
	ReasonConflict  = "TransactionConflict"
	ReasonCapacity  = "ProvisionedThroughputExceeded"
	ReasonThrottled = "ThrottlingError"
)

// Codes of errors whose meaning for us is not in their HTTP status.
const (
	codeCapacity     = "ProvisionedThroughputExceededException"
	codeThrottling   = "ThrottlingException"
	codeRequestLimit = "RequestLimitExceeded"

	codeConflict           = "TransactionConflictException"
	codeReplicatedConflict = "ReplicatedWriteConflictException"

	// An earlier request with the same token is being carried out, or was another one: they say nothing of it.
	codeInProgress    = "TransactionInProgressException"
	codeOtherRequest  = "IdempotentParameterMismatchException"
	codeTimeout       = "RequestTimeout"
	codeTimedOut      = "RequestTimeoutException"
	codeNotOfTheStore = "UnknownError" // the SDK's, for a reply without a code: a proxy's
)

// Ready returns ErrUnavailable when ctx has ended: asked before a write is sent, that proves that it wasn't.
func Ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", table.ErrUnavailable, context.Cause(ctx))
	}
	return nil
}

// ReadError translates the SDK's error of a read: ErrThrottled, ErrConflict (a transactional read) or ErrUnavailable,
// ctx's own end included. What no repetition would cure (no such table, access denied, a malformed request) is
// returned as it is.
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
	return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
}

// WriteError translates the SDK's error of a write: ErrThrottled, ErrConflict (also for a cancelled transaction, one of
// whose conditions failed) and ErrUnavailable when the store declined or could not be reached, so that nothing was
// written; ErrUnknownOutcome for everything that proves nothing. A failed condition of a single write, and what no
// repetition would cure (no such table, access denied, a malformed request), are returned as they are: nothing was
// written there, either.
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
		return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", table.ErrUnknownOutcome, err)
}

// declined translates the refusals that another attempt may cure.
func declined(err error) (error, bool) {
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) {
		return cancellation(cancelled, err), true
	}
	switch code(err) {
	case codeCapacity, codeThrottling, codeRequestLimit:
		return fmt.Errorf("%w: %w", table.ErrThrottled, err), true
	case codeConflict, codeReplicatedConflict:
		return fmt.Errorf("%w: %w", table.ErrConflict, err), true
	}
	return nil, false
}

// cancellation translates a cancelled transaction by its reasons: a fault of ours hides the others, as another attempt
// would meet it again.
func cancellation(c *types.TransactionCanceledException, err error) error {
	var conflict, throttled bool
	for _, reason := range c.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case ReasonNone:
		case ReasonCondition, ReasonConflict:
			conflict = true
		case ReasonCapacity, ReasonThrottled:
			throttled = true
		default:
			return err
		}
	}
	switch {
	case conflict:
		return fmt.Errorf("%w: %w", table.ErrConflict, err)
	case throttled:
		return fmt.Errorf("%w: %w", table.ErrThrottled, err)
	}
	return err
}

// refused tells whether the store itself answered that it carried out nothing of the request.
func refused(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case codeInProgress, codeOtherRequest, codeTimeout, codeTimedOut, codeNotOfTheStore, "":
		return false
	}
	if api.ErrorFault() == smithy.FaultClient {
		return true
	}
	var reply *smithyhttp.ResponseError
	return errors.As(err, &reply) && reply.Response != nil && reply.Response.Response != nil &&
		400 <= reply.HTTPStatusCode() && reply.HTTPStatusCode() < 500
}

// notSent tells whether err proves that the request never left: no connection could be made, or the SDK could not make
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
