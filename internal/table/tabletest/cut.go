package tabletest

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/table"
)

// cutMark is in the LastEvaluatedKey of an empty page, beside the key after which the next page begins.
const cutMark = "Cut"

// Cut makes a client's queries come in pages of one item, each after an empty one: as DynamoDB may cut them.
func Cut(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("CutPages",
			func(ctx context.Context, in middleware.InitializeInput,
				next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				query, ok := in.Parameters.(*dynamodb.QueryInput)
				if !ok {
					return next.HandleInitialize(ctx, in)
				}
				start := maps.Clone(query.ExclusiveStartKey)
				if start[cutMark] == nil {
					if start == nil {
						start = make(table.Item)
					}
					start[cutMark] = table.Flag(true)
					out, told, err := next.HandleInitialize(ctx, in) // for the store's time
					out.Result = &dynamodb.QueryOutput{LastEvaluatedKey: start}
					return out, told, err
				}
				if delete(start, cutMark); len(start) == 0 {
					start = nil
				}
				one := *query
				one.ExclusiveStartKey, one.Limit = start, aws.Int32(1)
				in.Parameters = &one
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	})
}
