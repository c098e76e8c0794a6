package table

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Observe returns an option for clients that calls saw for each request after its last attempt. in and out are those of
// the SDK, such as *dynamodb.QueryInput and *dynamodb.QueryOutput; out is nil after an error. saw must not change them,
// and must be safe for concurrent use. Observers of one client need different names.
func Observe(name string, saw func(ctx context.Context, in, out any, err error)) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc(name,
				func(ctx context.Context, in middleware.InitializeInput,
					next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
					out, metadata, err := next.HandleInitialize(ctx, in)
					saw(ctx, in.Parameters, out.Result, err)
					return out, metadata, err
				}), middleware.After)
		})
	}
}
