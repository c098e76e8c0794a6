package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/internal/table"
)

// streamChanges reads a table's stream to its current end, and returns the changes of each item, in order.
func streamChanges(t *testing.T, streams *dynamodbstreams.Client, client *dynamodb.Client,
	name string) map[string]string {
	t.Helper()
	described, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	arn := described.Table.LatestStreamArn
	stream, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	changes := make(map[string]string)
	for _, shard := range stream.StreamDescription.Shards {
		made, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
			StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			t.Fatal(err)
		}
		for next := made.ShardIterator; next != nil; {
			out, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range out.Records {
				keys := r.Dynamodb.Keys
				item := valueText(keys[table.AttrPK]) + " " + valueText(keys[table.AttrSK])
				changes[item] += string(r.EventName) + " " + itemText(r.Dynamodb.NewImage) + "\n"
			}
			if next = out.NextShardIterator; len(out.Records) == 0 {
				break
			}
		}
	}
	return changes
}
