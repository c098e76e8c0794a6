package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/functions/service"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// contents reads the whole table, past the service.
func (s *system) contents() map[table.Key]wire.Item {
	s.t.Helper()
	all := make(map[table.Key]wire.Item)
	pages := dynamodb.NewScanPaginator(s.plain, &dynamodb.ScanInput{TableName: &s.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			k, err := wire.KeyOf(item)
			if err != nil {
				s.t.Fatal(err)
			}
			all[k] = item
		}
	}
	return all
}

// deliver hands records of these keys to the service's stream handler, as one batch, and fails t unless all succeed.
func deliver(t testing.TB, s *service.Service, keys ...table.Key) {
	t.Helper()
	streamtest.Deliver(t, s.Stream(), streamtest.Keys(keys...))
}

// deliverAll projects a table without a pump: it delivers a record of each posting and grant there is.
func (s *system) deliverAll() {
	s.t.Helper()
	var all []table.Key
	for k := range s.contents() {
		if table.IsPosting(k.SK) || table.IsGrant(k.SK) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b table.Key) int { return strings.Compare(a.PK+a.SK, b.PK+b.SK) })
	deliver(s.t, s.service, all...)
}

// batchPut is the most items of one BatchWriteItem (AWS, API reference).
const batchPut = 25

// putEvents puts events into a table past everything, as fast as DynamoDB Local takes them.
func putEvents[E events.Event](t testing.TB, s *system, facts []E) {
	t.Helper()
	puts, ctx := errgroup.WithContext(t.Context())
	puts.SetLimit(4)
	for some := range slices.Chunk(facts, batchPut) {
		puts.Go(func() error {
			var asked []types.WriteRequest
			for _, fact := range some {
				asked = append(asked, types.WriteRequest{PutRequest: &types.PutRequest{Item: wire.EventItem(fact)}})
			}
			out, err := s.plain.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{s.table: asked},
			})
			if err == nil && len(out.UnprocessedItems) > 0 {
				err = fmt.Errorf("%d items were not put", len(out.UnprocessedItems))
			}
			return err
		})
	}
	if err := puts.Wait(); err != nil {
		t.Fatal(err)
	}
}

// old makes postings of one account and asset that were settled long ago, a millisecond apart: the i-th is of quantity
// i+1 and, every third, a debit.
func old(account, asset string, n int) []events.PostingRecorded {
	from := time.Now().Add(-time.Hour)
	all := make([]events.PostingRecorded, n)
	for i := range all {
		id := events.FirstKSUID(from.Add(time.Duration(i) * time.Millisecond))
		quantity := int64(i + 1)
		if i%3 == 2 {
			quantity = -quantity
		}
		all[i] = events.PostingRecorded{
			Leg:         events.Leg{ID: id, Account: account, Asset: asset, Quantity: events.NewAmount(quantity)},
			Transaction: fmt.Sprintf("old-%d", i), Kind: events.KindTransaction,
		}
	}
	return all
}

// keysOf returns the keys of postings.
func keysOf(postings []events.PostingRecorded) []table.Key {
	all := make([]table.Key, len(postings))
	for i, p := range postings {
		all[i] = table.PostingKey(p.Account, p.Asset, string(p.ID))
	}
	return all
}
