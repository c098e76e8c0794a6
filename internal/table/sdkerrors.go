package table

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

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

// causes are what the reasons mean, but for the bugs of the caller.
var causes = map[string]Cause{
	ReasonNone: CauseNone, ReasonCondition: CauseCondition, ReasonConflict: CauseConflict,
	ReasonCapacity: CauseThrottled, ReasonThrottled: CauseThrottled,
}

// errTableWide is the meaning of an error of the table or of the caller's credentials.
var errTableWide = errors.New("an error of the whole table")

// meanings are what error codes mean beyond their HTTP status.
var meanings = map[string]error{
	"ProvisionedThroughputExceededException": ErrThrottled,
	"ThrottlingException":                    ErrThrottled,
	"RequestLimitExceeded":                   ErrThrottled,
	"TransactionConflictException":           ErrConflict,
	"ReplicatedWriteConflictException":       ErrConflict,
	"TransactionInProgressException":         ErrUnknownOutcome, // an earlier request with the same token
	"IdempotentParameterMismatchException":   ErrUnknownOutcome, // another request with the same token
	"RequestTimeout":                         ErrUnknownOutcome,
	"RequestTimeoutException":                ErrUnknownOutcome,
	"UnknownError":                           ErrUnknownOutcome, // the SDK's, of a reply without a code: a proxy's
	"AccessDeniedException":                  errTableWide,
	"ResourceNotFoundException":              errTableWide,
	"ExpiredTokenException":                  errTableWide,
	"UnrecognizedClientException":            errTableWide,
	"InvalidSignatureException":              errTableWide,
	"IncompleteSignatureException":           errTableWide,
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
func ReadError(err error) error { return translate(err, ErrUnavailable) }

// WriteError translates the SDK's error of a write. ErrThrottled, ErrConflict (also for a transaction with a
// failed condition) and ErrUnavailable mean that nothing was written. ErrUnknownOutcome means that the write may have
// been applied. The failed condition of a single write, and errors that are not retryable (no such table, access
// denied, a malformed request), are returned unchanged: nothing was written then, either.
func WriteError(err error) error { return translate(err, ErrUnknownOutcome) }

// translate wraps an error in its meaning, or in unproved if nothing proves that the request was not executed.
func translate(err, unproved error) error {
	if err == nil {
		return nil
	}
	switch is := meaningOf(err); is {
	case nil, errTableWide:
		return err
	case ErrUnknownOutcome:
		return fmt.Errorf("%w: %w", unproved, err)
	default:
		return fmt.Errorf("%w: %w%s", is, err, reported(err))
	}
}

// reported returns what AWS says of an error beyond the text of the SDK: which table or index was throttled and by
// which limit (the format is in AWS's API reference, ThrottlingReason), or why each action was cancelled.
func reported(err error) string {
	var reasons []types.ThrottlingReason
	if is, ok := errors.AsType[*types.ThrottlingException](err); ok {
		reasons = is.ThrottlingReasons
	} else if is, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		reasons = is.ThrottlingReasons
	} else if is, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		reasons = is.ThrottlingReasons
	} else if is, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		all, _ := reasonsOf(is)
		return whyOf(all)
	}
	var b strings.Builder
	for _, r := range reasons {
		fmt.Fprintf(&b, "; %s of %s", aws.ToString(r.Reason), aws.ToString(r.Resource))
	}
	return b.String()
}

// meaningOf returns ErrThrottled, ErrConflict, ErrUnavailable if the request was not sent, ErrUnknownOutcome if nothing
// proves that it was not executed, and errTableWide or nil if it was refused for another reason.
func meaningOf(err error) error {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		switch reasons, fault := reasonsOf(cancelled); {
		case errors.Is(fault, ErrUnknownOutcome):
			return ErrUnknownOutcome
		case fault != nil:
			return nil
		default:
			return (&Cancelled{Reasons: reasons}).Unwrap()
		}
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != "" {
		if is, isKnown := meanings[api.ErrorCode()]; isKnown {
			return is
		}
		reply, ok := errors.AsType[*smithyhttp.ResponseError](err)
		answered := ok && reply.Response != nil && reply.Response.Response != nil
		if api.ErrorFault() == smithy.FaultClient || answered && reply.HTTPStatusCode()/100 == 4 {
			return nil
		}
	}
	// There was no connection, or the SDK could not build the request.
	network, isNetwork := errors.AsType[*net.OpError](err)
	_, isUnserialized := errors.AsType[*smithy.SerializationError](err)
	_, isInvalid := errors.AsType[*smithy.InvalidParamsError](err)
	if isNetwork && network.Op == "dial" || isUnserialized || isInvalid {
		return ErrUnavailable
	}
	return ErrUnknownOutcome
}

// reasonsOf returns why DynamoDB cancelled each action of a transaction. Without a reason, or with an unknown one, the
// error is ErrUnknownOutcome. A bug of the caller takes precedence over all other reasons, because a retry would fail
// again. Its error does not wrap an error of package table.
func reasonsOf(cancelled *types.TransactionCanceledException) (all []Reason, err error) {
	err = fmt.Errorf("%w: cancelled for no reason", ErrUnknownOutcome)
	isUnknown := false
	for i, reason := range cancelled.CancellationReasons {
		code := aws.ToString(reason.Code)
		cause, isKnown := causes[code]
		switch {
		case code == ReasonInvalid, code == ReasonCollection:
			return nil, fmt.Errorf("action %d was refused: %s: %s", i, code, aws.ToString(reason.Message))
		case !isKnown:
			isUnknown, err = true, fmt.Errorf("%w: action %d was cancelled for %q", ErrUnknownOutcome, i, code)
		case cause != CauseNone && !isUnknown:
			err = nil
		}
		why := ""
		if cause != CauseNone {
			why = strings.TrimSuffix(code+": "+aws.ToString(reason.Message), ": ")
		}
		all = append(all, Reason{Is: cause, Old: present(reason.Item), Why: why})
	}
	return all, err
}

// IsTableWide reports whether an error is about the table or the caller's credentials, and not about one item: requests
// for other items would fail as well.
func IsTableWide(err error) bool {
	return err != nil && meaningOf(err) == errTableWide || errors.Is(err, ErrUnavailable)
}
