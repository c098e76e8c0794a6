package tests

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/ledger/table"
)

// streamed reads a table's stream to its present end, and tells of each item what became of it, in order.
func streamed(t *testing.T, streams *dynamodbstreams.Client, client *dynamodb.Client, name string) map[string]string {
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
	told := make(map[string]string)
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
				item := keyText(table.Key{PK: streamText(keys[table.AttrPK]), SK: streamText(keys[table.AttrSK])})
				told[item] += string(r.EventName) + " " + streamText(&streamtypes.AttributeValueMemberM{Value: r.Dynamodb.NewImage}) + "\n"
			}
			if next = out.NextShardIterator; len(out.Records) == 0 {
				break
			}
		}
	}
	return told
}

// streamText is valueText for the stream's own types.
func streamText(v streamtypes.AttributeValue) string {
	switch v := v.(type) {
	case *streamtypes.AttributeValueMemberS:
		return v.Value
	case *streamtypes.AttributeValueMemberM:
		return itemText(fromStream(v).Value)
	}
	return ""
}

// fromStream is a map of the stream's types as the table's.
func fromStream(m *streamtypes.AttributeValueMemberM) *types.AttributeValueMemberM {
	out := &types.AttributeValueMemberM{Value: make(map[string]types.AttributeValue, len(m.Value))}
	for name, v := range m.Value {
		out.Value[name] = fromStreamValue(v)
	}
	return out
}

func fromStreamValue(v streamtypes.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *streamtypes.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}
	case *streamtypes.AttributeValueMemberN:
		return &types.AttributeValueMemberN{Value: v.Value}
	case *streamtypes.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: v.Value}
	case *streamtypes.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *streamtypes.AttributeValueMemberM:
		return fromStream(v)
	case *streamtypes.AttributeValueMemberL:
		out := &types.AttributeValueMemberL{}
		for _, element := range v.Value {
			out.Value = append(out.Value, fromStreamValue(element))
		}
		return out
	}
	return &types.AttributeValueMemberNULL{Value: true}
}
