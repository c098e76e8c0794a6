package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/middleware"
)

// DynamoDB returns a client of the store. What optFns add to the Initialize step runs before the store answers; the steps
// behind it don't run at all, as nothing is sent, and so nothing is tried again.
func (s *Store) DynamoDB(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:     Region,
		APIOptions: []func(*middleware.Stack) error{s.instead},
	}, optFns...)
}

// Streams returns a client of the streams of the store's tables, as DynamoDB does of the tables.
func (s *Store) Streams() *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region:     Region,
		APIOptions: []func(*middleware.Stack) error{s.instead},
	})
}

// instead makes the store answer where the SDK would begin to make an HTTP request.
func (s *Store) instead(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("DynamoDBInMemory",
		func(ctx context.Context, in middleware.SerializeInput, _ middleware.SerializeHandler) (out middleware.SerializeOutput, _ middleware.Metadata, err error) {
			if ctx.Err() != nil {
				return out, middleware.Metadata{}, &aws.RequestCanceledError{Err: ctx.Err()}
			}
			if out.Result, err = s.answer(ctx, in.Parameters); err != nil {
				return middleware.SerializeOutput{}, middleware.Metadata{}, refused(err, s.time())
			}
			return out, answered(ctx, s.time()), nil
		}), middleware.Before)
}

// time is the store's clock.
func (s *Store) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// answer carries out one request. Its errors are the service's.
func (s *Store) answer(ctx context.Context, request any) (any, error) {
	switch in := request.(type) {
	case *dynamodb.GetItemInput:
		return s.getItem(ctx, in)
	case *dynamodb.BatchGetItemInput:
		return s.batchGetItem(ctx, in)
	case *dynamodb.QueryInput:
		return s.query(ctx, in)
	case *dynamodb.ScanInput:
		return s.scan(ctx, in)
	case *dynamodb.PutItemInput:
		return s.putItem(in)
	case *dynamodb.UpdateItemInput:
		return s.updateItem(in)
	case *dynamodb.DeleteItemInput:
		return s.deleteItem(in)
	case *dynamodb.TransactWriteItemsInput:
		return s.transactWriteItems(ctx, in)
	case *dynamodb.TransactGetItemsInput:
		return s.transactGetItems(in)
	case *dynamodb.CreateTableInput:
		return s.createTable(in)
	case *dynamodb.DescribeTableInput:
		return s.describeTable(in)
	case *dynamodbstreams.DescribeStreamInput:
		return s.describeStream(in)
	case *dynamodbstreams.GetShardIteratorInput:
		return s.getShardIterator(in)
	case *dynamodbstreams.GetRecordsInput:
		return s.getRecords(in)
	}
	return nil, unsupported(fmt.Sprintf("a %T", request))
}
