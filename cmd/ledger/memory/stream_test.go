package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

func arnOf(t testing.TB, client *dynamodb.Client) *string {
	t.Helper()
	out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(books)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Table.LatestStreamArn
}

func shardsOf(t testing.TB, streams *dynamodbstreams.Client, arn *string) []types.Shard {
	t.Helper()
	out, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	return out.StreamDescription.Shards
}

func iteratorOf(ctx context.Context, streams *dynamodbstreams.Client, arn, shard *string, kind types.ShardIteratorType, sequence string) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard, ShardIteratorType: kind}
	if sequence != "" {
		in.SequenceNumber = &sequence
	}
	out, err := streams.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// recordsOf reads a shard from an iterator on, and tells whether it has ended.
func recordsOf(t testing.TB, streams *dynamodbstreams.Client, iterator *string) (records []types.Record, ended bool) {
	t.Helper()
	for {
		out, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: iterator, Limit: aws.Int32(3)})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, out.Records...)
		if iterator = out.NextShardIterator; iterator == nil || len(out.Records) == 0 {
			return records, iterator == nil
		}
	}
}

// A stream has its records in shards. Each item's are in order, parents before children, however often shards split; a closed
// shard has an end.
func TestShardsThatSplit(t *testing.T) {
	store, client := open(t, memory.Options{})
	streams, arn := store.Streams(), arnOf(t, client)
	const items, versions = 20, 6
	for v := range int64(versions) {
		for n := range items {
			put(t, client, plain(table.SummaryKey(fmt.Sprint(n)), v))
		}
		put(t, client, plain(table.SummaryKey("0"), v)) // nothing changes
		if err := store.Split(""); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Split("no such"); err == nil {
		t.Error("a shard that isn't there was split")
	}
	shards := shardsOf(t, streams, arn)
	if len(shards) != 4+2*versions {
		t.Errorf("there are %d shards", len(shards))
	}
	told := make(map[string][]string)
	listed := make(map[string]bool)
	filled, over := 0, 0
	for _, sh := range shards {
		listed[*sh.ShardId] = true
		if sh.ParentShardId != nil && !listed[*sh.ParentShardId] {
			t.Errorf("%s comes before its parent", *sh.ShardId)
		}
		at, err := iteratorOf(t.Context(), streams, arn, sh.ShardId, types.ShardIteratorTypeTrimHorizon, "")
		if err != nil {
			t.Fatal(err)
		}
		records, ended := recordsOf(t, streams, at)
		if closed := sh.SequenceNumberRange.EndingSequenceNumber != nil; ended != closed {
			t.Errorf("%s: closed %v, ended %v", *sh.ShardId, closed, ended)
		}
		if len(records) > 0 {
			filled++
		}
		if ended {
			over++
		}
		last := ""
		for _, r := range records {
			if *r.Dynamodb.SequenceNumber <= last {
				t.Errorf("%s after %s", *r.Dynamodb.SequenceNumber, last)
			}
			last = *r.Dynamodb.SequenceNumber
			pk := r.Dynamodb.Keys[table.AttrPK].(*types.AttributeValueMemberS).Value
			version := r.Dynamodb.NewImage[table.AttrVersion].(*types.AttributeValueMemberN).Value
			told[pk] = append(told[pk], string(r.EventName)+version)
		}
	}
	if over != versions || filled <= 4 {
		t.Errorf("%d shards are over, and %d have records", over, filled)
	}
	if len(told) != items {
		t.Errorf("%d items are told of", len(told))
	}
	for pk, got := range told {
		if want := "INSERT0 MODIFY1 MODIFY2 MODIFY3 MODIFY4 MODIFY5"; strings.Join(got, " ") != want {
			t.Errorf("%s: %v", pk, got)
		}
	}
}

// A shard is read on from any record, from its beginning and from its end.
func TestIterators(t *testing.T) {
	c := newClock()
	store, client := open(t, memory.Options{Shards: 1, Now: c.Now})
	streams, arn := store.Streams(), arnOf(t, client)
	shard := shardsOf(t, streams, arn)[0].ShardId
	for v := range int64(9) {
		put(t, client, plain(keyA, v))
	}
	at := func(kind types.ShardIteratorType, sequence string) *string {
		t.Helper()
		i, err := iteratorOf(t.Context(), streams, arn, shard, kind, sequence)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	all, _ := recordsOf(t, streams, at(types.ShardIteratorTypeTrimHorizon, ""))
	third := *all[2].Dynamodb.SequenceNumber
	for kind, want := range map[types.ShardIteratorType]int{types.ShardIteratorTypeAtSequenceNumber: 7, types.ShardIteratorTypeAfterSequenceNumber: 6} {
		if got, _ := recordsOf(t, streams, at(kind, third)); len(got) != want {
			t.Errorf("%s: %d records", kind, len(got))
		}
	}
	latest := at(types.ShardIteratorTypeLatest, "")
	put(t, client, plain(keyA, 100))
	if got, _ := recordsOf(t, streams, latest); len(got) != 1 {
		t.Errorf("LATEST: %d records", len(got))
	}
	if _, err := iteratorOf(t.Context(), streams, arn, shard, types.ShardIteratorTypeAtSequenceNumber, "7"); err == nil {
		t.Error("a number that is none was taken")
	}

	// After a day the records are gone, and whoever points to them is told; so is who keeps an iterator for too long.
	old := at(types.ShardIteratorTypeTrimHorizon, "")
	c.now = c.now.Add(16 * time.Minute)
	var expired *types.ExpiredIteratorException
	if _, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: old}); !errors.As(err, &expired) {
		t.Errorf("an iterator of 16 minutes ago: %v", err)
	}
	latest = at(types.ShardIteratorTypeLatest, "")
	for range 3 { // reading on keeps one's place
		c.now = c.now.Add(10 * time.Minute)
		out, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: latest})
		if err != nil {
			t.Fatal(err)
		}
		latest = out.NextShardIterator
	}
	put(t, client, plain(keyA, 101))
	c.now = c.now.Add(23*time.Hour + 59*time.Minute)
	put(t, client, plain(keyA, 102))
	var trimmed *types.TrimmedDataAccessException
	if _, err := iteratorOf(t.Context(), streams, arn, shard, types.ShardIteratorTypeAfterSequenceNumber, third); !errors.As(err, &trimmed) {
		t.Errorf("a record of yesterday: %v", err)
	}
	if got, _ := recordsOf(t, streams, at(types.ShardIteratorTypeTrimHorizon, "")); len(got) != 2 {
		t.Errorf("%d records are left", len(got))
	}
}

// With hooks that decide alike, all answers are the same; and the store waits for nothing and has nothing running.
func TestTheSameCallsGiveTheSameAnswers(t *testing.T) {
	history := func(seed uint64) (told string) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			store, client := open(t, memory.Options{
				Between: func(context.Context) { <-time.After(time.Duration(r.IntN(1000)) * time.Millisecond) },
				Order:   r.Shuffle,
				Lag:     func(context.Context) time.Duration { return time.Duration(r.IntN(3000)) * time.Millisecond },
				Page:    func(_ context.Context, n int) int { return r.IntN(n + 1) },
			})
			var said []string
			for range 60 {
				a, b := fmt.Sprint(r.IntN(9)), fmt.Sprint(r.IntN(9))
				_, err := client.TransactWriteItems(t.Context(), putting(plain(table.SummaryKey(a), r.Int64N(99)), plain(table.SummaryKey("z"+b), r.Int64N(99))))
				out, _ := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(books)})
				for _, i := range out.Items {
					k, _ := wire.KeyOf(i)
					said = append(said, k.PK)
				}
				said = append(said, fmt.Sprint(err, len(out.LastEvaluatedKey), versionOf(t, client, table.SummaryKey(a), false)))
			}
			for _, sh := range shardsOf(t, store.Streams(), arnOf(t, client)) {
				at, err := iteratorOf(t.Context(), store.Streams(), arnOf(t, client), sh.ShardId, types.ShardIteratorTypeTrimHorizon, "")
				if err != nil {
					t.Fatal(err)
				}
				records, _ := recordsOf(t, store.Streams(), at)
				for _, r := range records {
					said = append(said, *r.Dynamodb.SequenceNumber+r.Dynamodb.Keys[table.AttrPK].(*types.AttributeValueMemberS).Value)
				}
			}
			told = strings.Join(said, "\n")
		})
		return told
	}
	first, again, other := history(1), history(1), history(2)
	if first != again {
		t.Error("the same calls were answered differently")
	}
	if first == other || slices.Contains([]string{first, other}, "") {
		t.Error("the hooks change nothing")
	}
}
