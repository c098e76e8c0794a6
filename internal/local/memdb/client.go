package memdb

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// DynamoDB returns a client of the store. The store answers before the Serialize step: middleware of the Initialize
// step runs, middleware of later steps does not, and nothing is retried.
func (s *Store) DynamoDB(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: Region, APIOptions: []func(*middleware.Stack) error{s.answerRequests},
	}, optFns...)
}

// Streams returns a client of the streams of the store's tables.
func (s *Store) Streams() *dynamodbstreams.Client {
	return dynamodbstreams.New(dynamodbstreams.Options{
		Region: Region, APIOptions: []func(*middleware.Stack) error{s.answerRequests},
	})
}

// answerRequests makes the store answer at the step where the SDK builds the HTTP request.
func (s *Store) answerRequests(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("DynamoDBInMemory", func(
		ctx context.Context, in middleware.SerializeInput, _ middleware.SerializeHandler,
	) (out middleware.SerializeOutput, metadata middleware.Metadata, err error) {
		if out.Result, err = s.Answer(ctx, in.Parameters); err != nil {
			return middleware.SerializeOutput{}, metadata, err
		}
		return out, s.successMetadata(ctx), nil
	}), middleware.Before)
}

// Answer executes a request of the SDK, such as *dynamodb.QueryInput, and returns its output. Its errors are those of a
// client, without the name of the operation.
func (s *Store) Answer(ctx context.Context, request any) (output any, err error) {
	if ctx.Err() != nil {
		return nil, &aws.RequestCanceledError{Err: ctx.Err()}
	}
	if output, err = s.answer(ctx, request); err != nil {
		return nil, &awshttp.ResponseError{
			ResponseError: &smithyhttp.ResponseError{Response: reply(http.StatusBadRequest, s.time()), Err: err},
		}
	}
	return output, nil
}

// answer executes a request. Its errors are those of the service.
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
		_, err := s.writeOne(ctx, putting, in)
		return &dynamodb.PutItemOutput{}, err
	case *dynamodb.UpdateItemInput:
		after, err := s.writeOne(ctx, updating, in)
		return &dynamodb.UpdateItemOutput{Attributes: after}, err
	case *dynamodb.DeleteItemInput:
		_, err := s.writeOne(ctx, deleting, in)
		return &dynamodb.DeleteItemOutput{}, err
	case *dynamodb.TransactWriteItemsInput:
		return s.transactWriteItems(ctx, in)
	case *dynamodb.TransactGetItemsInput:
		return s.transactGetItems(ctx, in)
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

// reply returns an HTTP reply without a body, with the store's time as Date.
func reply(status int, clock time.Time) *smithyhttp.Response {
	return &smithyhttp.Response{Response: &http.Response{
		StatusCode: status, Header: http.Header{"Date": {clock.UTC().Format(http.TimeFormat)}}, Body: http.NoBody,
	}}
}

// successMetadata returns the metadata that the SDK derives from a reply of now. Replies of one second have the same.
func (s *Store) successMetadata(ctx context.Context) middleware.Metadata {
	s.mu.Lock()
	defer s.mu.Unlock()
	clock := s.now().Truncate(time.Second)
	if !clock.Equal(s.replied) {
		next := func(context.Context, middleware.DeserializeInput) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			return middleware.DeserializeOutput{RawResponse: reply(http.StatusOK, clock)}, middleware.Metadata{}, nil
		}
		_, s.metadata, _ = awsmiddleware.RecordResponseTiming{}.HandleDeserialize(
			ctx, middleware.DeserializeInput{}, middleware.DeserializeHandlerFunc(next))
		s.replied = clock
	}
	return s.metadata.Clone()
}
