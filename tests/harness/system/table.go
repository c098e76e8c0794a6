package system

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Contents reads the whole table directly.
func (s *System) Contents() map[table.Key]table.Item { return Contents(s.T, s.Plain, s.Table) }

// Contents reads a whole table.
func Contents(t testing.TB, client *dynamodb.Client, name string) map[table.Key]table.Item {
	t.Helper()
	all := make(map[table.Key]table.Item)
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &name, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			k, err := table.KeyOf(item)
			if err != nil {
				t.Fatal(err)
			}
			all[k] = item
		}
	}
	return all
}

// Difference lists the items that were added, changed or deleted between two states of a table. Empty: none.
func Difference(before, after map[table.Key]table.Item) string {
	var lines []string
	for k, item := range after {
		if !reflect.DeepEqual(before[k], item) {
			lines = append(lines, fmt.Sprintf("%v is %v, was %v", k, item, before[k]))
		}
	}
	for k := range before {
		if after[k] == nil {
			lines = append(lines, fmt.Sprintf("%v was deleted", k))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// Put puts an item directly into the table.
func (s *System) Put(item table.Item) {
	s.T.Helper()
	if _, err := s.Plain.PutItem(s.T.Context(), &dynamodb.PutItemInput{TableName: &s.Table, Item: item}); err != nil {
		s.T.Fatal(err)
	}
}

// Delete deletes an item directly from the table.
func (s *System) Delete(k table.Key) {
	s.T.Helper()
	if _, err := s.Plain.DeleteItem(s.T.Context(), &dynamodb.DeleteItemInput{TableName: &s.Table,
		Key: table.KeyItem(k)}); err != nil {
		s.T.Fatal(err)
	}
}

// Deliver delivers records of these keys to the projector in one batch, and fails the test unless all succeed.
func (s *System) Deliver(keys ...table.Key) {
	s.T.Helper()
	streamtest.Deliver(s.T, s.Service.Stream(), streamtest.Keys(keys...))
}

// Projected returns the sorted keys of all events that the projector handles.
func (s *System) Projected() []table.Key {
	s.T.Helper()
	return s.keysOf(projections.IsProjected)
}

// keysOf returns the sorted keys of all items whose SK suits.
func (s *System) keysOf(suits func(sk string) bool) []table.Key {
	s.T.Helper()
	keys := slices.Collect(maps.Keys(s.Contents()))
	keys = slices.DeleteFunc(keys, func(k table.Key) bool { return !suits(k.SK) })
	slices.SortFunc(keys, func(a, b table.Key) int { return strings.Compare(a.PK+" "+a.SK, b.PK+" "+b.SK) })
	return keys
}

// DeliverAll projects and lists the whole table without a pump, by delivering a record of each event that the projector
// and the lister handle.
func (s *System) DeliverAll() {
	s.T.Helper()
	s.Deliver(s.Projected()...)
	streamtest.Deliver(s.T, s.Service.List(), streamtest.Keys(s.keysOf(table.IsJournaled)...))
}

// PutPostings puts postings directly into the table, in transactions.
func (s *System) PutPostings(postings []events.PostingRecorded) {
	s.T.Helper()
	puts, ctx := errgroup.WithContext(s.T.Context())
	puts.SetLimit(4)
	for some := range slices.Chunk(postings, table.TransactionActions) {
		in := &dynamodb.TransactWriteItemsInput{}
		for _, p := range some {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
				TableName: &s.Table, Item: table.EventItem(p), ConditionExpression: aws.String(table.IfAbsent),
			}})
		}
		puts.Go(func() error {
			_, err := s.Plain.TransactWriteItems(ctx, in)
			return err
		})
	}
	if err := puts.Wait(); err != nil {
		s.T.Fatal(err)
	}
}

// OldPostings returns n postings of one account and asset, a millisecond apart, that settled long ago. The i-th has
// quantity i+1; every third is a debit.
func OldPostings(account, asset string, n int) []events.PostingRecorded {
	from := time.Now().Add(-time.Hour)
	all := make([]events.PostingRecorded, n)
	for i := range all {
		quantity := int64(i + 1)
		if i%3 == 2 {
			quantity = -quantity
		}
		all[i] = events.PostingRecorded{
			Leg: events.Leg{
				ID: events.FirstKSUID(from.Add(time.Duration(i) * time.Millisecond)), Account: account, Asset: asset,
				Quantity: events.NewAmount(quantity),
			},
			Transaction: fmt.Sprintf("old-%d", i), Kind: events.KindTransaction,
		}
	}
	return all
}

// DeadLetter returns the object that Lambda puts into the bucket for a batch that keeps failing, as its Developer Guide
// describes it. The event is a JSON string in it.
func DeadLetter(t testing.TB, keys ...table.Key) string {
	t.Helper()
	event, err := json.Marshal(streamtest.Keys(keys...))
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(map[string]any{
		"requestContext": map[string]any{"requestId": "316aa6d0",
			"functionArn": "arn:aws:lambda:us-east-1:123456789012:function:p", "condition": "RetryAttemptsExhausted",
			"approximateInvokeCount": 1001},
		"responseContext": map[string]any{"statusCode": 200, "executedVersion": "7", "functionError": "Unhandled"},
		"version":         "1.0",
		"timestamp":       "2026-11-21T09:26:39.717Z",
		"DDBStreamBatchInfo": map[string]any{"shardId": "shardId-1", "startSequenceNumber": "1",
			"endSequenceNumber": "2", "batchSize": len(keys),
			"streamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/s"},
		"payload": string(event),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(object)
}
