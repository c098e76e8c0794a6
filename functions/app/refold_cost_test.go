package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/table"
)

// refolded is the number of postings in a benchmarked balance: enough for many pages and more than one write, and few
// enough to repeat. A million postings cost the same each.
const refolded = 10_000

// BenchmarkRefold measures the first refold of a balance with many postings, as the projector's function does it when
// a record names the last one. The fake store answers with prepared items, so the SDK has no part in it. It accepts
// every write and stores nothing.
func BenchmarkRefold(b *testing.B) {
	s := newPostingStore(b)
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1",
		APIOptions: []func(*middleware.Stack) error{s.instead}})
	keys := make(map[string]lambdaevents.DynamoDBAttributeValue)
	for name, value := range map[string]string{table.AttrPK: s.partition, table.AttrSK: s.keys[refolded-1]} {
		keys[name] = lambdaevents.NewStringAttribute(value)
	}
	batch := lambdaevents.DynamoDBEvent{Records: []lambdaevents.DynamoDBEventRecord{{
		EventName: string(lambdaevents.DynamoDBOperationTypeInsert),
		Change:    lambdaevents.DynamoDBStreamRecord{Keys: keys, SequenceNumber: strings.Repeat("1", 21)},
	}}}
	b.ReportAllocs()
	for b.Loop() {
		service, err := app.New(app.Config{
			Client: client, Table: books, Caller: api.LocalCaller, Version: "v1",
			Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
		})
		if err != nil {
			b.Fatal(err)
		}
		s.read = 0
		if _, err := service.Stream()(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		if s.read < refolded || s.read > refolded+refolded/10 {
			b.Fatalf("%d postings were read, there are %d", s.read, refolded)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/refolded, "ns/posting")
}

// postingStore is a fake store with the postings of one balance and nothing else.
type postingStore struct {
	partition  string
	keys       []string // the sort keys, in order
	items      []table.Item
	projection string // that the items have
	read       int    // postings read
}

func newPostingStore(b *testing.B) *postingStore {
	s := &postingStore{}
	at := time.Now().UTC().Truncate(time.Second).Add(-2 * refolded * time.Second)
	minter := events.NewMinter(func() time.Time { return at }, nil)
	for i := range refolded {
		at = at.Add(time.Second)
		ids, _, err := minter.Mint(2)
		if err != nil {
			b.Fatal(err)
		}
		credit, err := events.ParseAmount(fmt.Sprint(1_000+i), events.PostedDigits)
		if err != nil {
			b.Fatal(err)
		}
		debit, err := events.ParseAmount(fmt.Sprint(-1_000-i), events.PostedDigits)
		if err != nil {
			b.Fatal(err)
		}
		posting := events.TransactionPosted{ID: fmt.Sprintf("order-%d", i), Kind: events.KindTransfer, Actor: "local",
			Annotation: events.Annotation{Description: "a description of usual length"},
			Legs: []events.Leg{{ID: ids[0], Account: "jane", Asset: "USD", Quantity: credit},
				{ID: ids[1], Account: "joe", Asset: "USD", Quantity: debit}}}.Postings()[0]
		key := table.EventKey(posting)
		s.partition, s.keys, s.items = key.PK, append(s.keys, key.SK), append(s.items, table.EventItem(posting))
	}
	return s
}

// instead answers requests in place of the SDK's HTTP client.
func (s *postingStore) instead(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("FakeStore", func(
		ctx context.Context, in middleware.SerializeInput, _ middleware.SerializeHandler,
	) (out middleware.SerializeOutput, _ middleware.Metadata, err error) {
		switch request := in.Parameters.(type) {
		case *dynamodb.TransactWriteItemsInput:
			out.Result = &dynamodb.TransactWriteItemsOutput{}
		case *dynamodb.PutItemInput:
			out.Result = &dynamodb.PutItemOutput{}
		case *dynamodb.GetItemInput:
			out.Result = &dynamodb.GetItemOutput{}
		case *dynamodb.BatchGetItemInput:
			out.Result = &dynamodb.BatchGetItemOutput{}
		case *dynamodb.TransactGetItemsInput:
			out.Result = &dynamodb.TransactGetItemsOutput{
				Responses: make([]types.ItemResponse, len(request.TransactItems)),
			}
		case *dynamodb.QueryInput:
			out.Result = s.query(request)
		default:
			err = fmt.Errorf("the fake store does not support %T", request)
		}
		return out, dated(ctx), err
	}), middleware.Before)
}

// query returns the postings between the bounds of the key condition.
func (s *postingStore) query(q *dynamodb.QueryInput) *dynamodb.QueryOutput {
	text := func(name string) string { return table.Read(q.ExpressionAttributeValues).Text(name) }
	if text(":partition") != s.partition || q.IndexName != nil {
		return &dynamodb.QueryOutput{}
	}
	from, _ := slices.BinarySearch(s.keys, text(":from"))
	through, found := slices.BinarySearch(s.keys, text(":to"))
	if found {
		through++
	}
	if from >= through {
		return &dynamodb.QueryOutput{}
	}
	s.project(q)
	limit := through
	if q.Limit != nil {
		limit = min(through, from+int(*q.Limit))
	}
	s.read += limit - from
	out := &dynamodb.QueryOutput{Items: s.items[from:limit], Count: int32(limit - from)}
	if limit < through {
		out.LastEvaluatedKey = table.KeyItem(table.Key{PK: s.partition, SK: s.keys[limit-1]})
	}
	return out
}

// project leaves the items only the attributes of q's projection, as the table's answers do.
func (s *postingStore) project(q *dynamodb.QueryInput) {
	projection := aws.ToString(q.ProjectionExpression)
	if s.projection != "" || projection == "" {
		return
	}
	s.projection = projection
	for _, item := range s.items {
		for name := range item {
			if !slices.ContainsFunc(strings.Split(projection, ", "), func(placeholder string) bool {
				return placeholder == name || q.ExpressionAttributeNames[placeholder] == name
			}) {
				delete(item, name)
			}
		}
	}
}
