package memdb_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

func arnOf(t testing.TB, client *dynamodb.Client) *string {
	t.Helper()
	out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: tableName})
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

// recordsOf reads a shard to its current end.
func recordsOf(t testing.TB, streams *dynamodbstreams.Client, arn, shard *string) (records []types.Record) {
	t.Helper()
	made, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: arn, ShardId: shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		t.Fatal(err)
	}
	for iterator := made.ShardIterator; ; {
		in := &dynamodbstreams.GetRecordsInput{ShardIterator: iterator, Limit: aws.Int32(3)}
		out, err := streams.GetRecords(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Records) == 0 {
			return records
		}
		records, iterator = append(records, out.Records...), out.NextShardIterator
	}
}

// Each shard has records, and all its readers get the same.
func TestStream(t *testing.T) {
	db, client := open(t, memdb.Options{})
	streams, arn := db.Streams(), arnOf(t, client)
	for n := range 60 {
		put(t, client, plain(table.Summary.Key(fmt.Sprint(n%20)), int64(n)))
	}
	total := 0
	for _, sh := range shardsOf(t, streams, arn) {
		records := recordsOf(t, streams, arn, sh.ShardId)
		if total += len(records); len(records) == 0 {
			t.Errorf("shard %s has no record", *sh.ShardId)
		}
		for range 3 { // readers
			if again := recordsOf(t, streams, arn, sh.ShardId); !reflect.DeepEqual(again, records) {
				t.Errorf("shard %s: %+v, and then %+v", *sh.ShardId, records, again)
			}
		}
	}
	if total != 60 {
		t.Errorf("the stream has %d records", total)
	}
	first := shardsOf(t, streams, arn)[0].ShardId
	for _, in := range []*dynamodbstreams.GetShardIteratorInput{
		{StreamArn: arn, ShardId: first, ShardIteratorType: types.ShardIteratorTypeLatest},
		{StreamArn: arn, ShardId: aws.String("other"), ShardIteratorType: types.ShardIteratorTypeTrimHorizon},
	} {
		if _, err := streams.GetShardIterator(t.Context(), in); err == nil {
			t.Errorf("an iterator for %+v", *in)
		}
	}
}
