package wire

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"

	"ledger.example/ledger/table"
)

// Codes of errors that are about the table or who asks, whatever is asked for.
const (
	codeDenied       = "AccessDeniedException"
	codeNoResource   = "ResourceNotFoundException"
	codeExpired      = "ExpiredTokenException"
	codeUnrecognized = "UnrecognizedClientException"
	codeSignature    = "InvalidSignatureException"
	codeIncomplete   = "IncompleteSignatureException"
)

// Unserved tells whether an error is about the table or who asks, and not about one item: the store can't be reached, or refuses.
// Who works through a table may as well stop.
func Unserved(err error) bool {
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case codeDenied, codeNoResource, codeExpired, codeUnrecognized, codeSignature, codeIncomplete:
			return true
		}
	}
	return errors.Is(err, table.ErrUnavailable)
}

// Pause waits before what failed so often is tried again, a random time. Error: ErrUnavailable when ctx ends.
func Pause(ctx context.Context, failed int) error { return sleep(ctx, backoff(failed)) }
