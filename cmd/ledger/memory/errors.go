package memory

import (
	"context"
	"fmt"
	"net/http"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// validation is the store's answer to a request that breaks a rule. The SDK has no type for it.
func validation(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

// unsupported is the answer to what AWS takes and this store doesn't.
func unsupported(what string) error {
	return validation("%s: not supported in memory", what)
}

// An option is a field of a request that this store doesn't support, and whether it is given.
type option struct {
	name  string
	given bool
}

// refuse returns a ValidationException that names the first option given, if any.
func refuse(options ...option) error {
	for _, o := range options {
		if o.given {
			return unsupported(o.name)
		}
	}
	return nil
}

// reply returns a reply without a body whose Date is the store's clock.
func reply(status int, clock time.Time) *smithyhttp.Response {
	return &smithyhttp.Response{Response: &http.Response{
		StatusCode: status,
		Header:     http.Header{"Date": {clock.UTC().Format(http.TimeFormat)}},
		Body:       http.NoBody,
	}}
}

// refused wraps an error of the service as the SDK does.
func refused(err error, clock time.Time) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: reply(http.StatusBadRequest, clock), Err: err,
	}}
}

// answered returns the metadata of a reply of that clock as the SDK has it.
func answered(ctx context.Context, clock time.Time) middleware.Metadata {
	_, metadata, _ := awsmiddleware.RecordResponseTiming{}.HandleDeserialize(ctx, middleware.DeserializeInput{},
		middleware.DeserializeHandlerFunc(func(context.Context, middleware.DeserializeInput) (out middleware.DeserializeOutput, m middleware.Metadata, err error) {
			out.RawResponse = reply(http.StatusOK, clock)
			return out, m, nil
		}))
	return metadata
}
