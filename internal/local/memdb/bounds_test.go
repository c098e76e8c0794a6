package memdb

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
)

// An item that is written often has only the versions that a lagging read can see, and the index entries of these.
func TestOldVersionsAreDropped(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	s := New(Options{Now: func() time.Time { return now }, Lag: func(context.Context) time.Duration { return 0 }})
	client := s.DynamoDB()
	if _, err := dynamolocal.CreateTable(t.Context(), client, "books"); err != nil {
		t.Fatal(err)
	}
	key := table.Membership.Key("jane", "u")
	const writes, every = 100, time.Minute
	for n := range writes {
		item := table.KeyItem(key)
		item[table.AttrNumber] = table.Integer(int64(n))
		item[table.AttrPK2] = table.String(table.Membership.PK2(string(rune('a' + n%26))))
		in := &dynamodb.PutItemInput{TableName: aws.String("books"), Item: item}
		if _, err := client.PutItem(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		now = now.Add(every)
	}
	b := s.tables["books"]
	want := int(maxLag/every) + 1
	if n := len(b.row(key).versions); n != want {
		t.Errorf("%d versions, want %d", n, want)
	}
	entries := 0
	for _, x := range b.indexes[1:] {
		entries += x.entries.Len()
	}
	if entries != want {
		t.Errorf("the indexes have %d entries for %d versions", entries, want)
	}

	// A deleted item has no versions in the end.
	for range 2 {
		in := &dynamodb.DeleteItemInput{TableName: aws.String("books"), Key: table.KeyItem(key)}
		if _, err := client.DeleteItem(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * maxLag)
	}
	if s.tables["books"].items != 0 || b.row(key).current() != "" {
		t.Error("the item still exists")
	}
}

// A stream and the list of changes are bounded and keep the newest changes.
func TestStreamsAndChangesAreBounded(t *testing.T) {
	s := newStream(t, 0)
	b := s.table
	image := packValues(map[string]value{"N": {packedNumber, "1"}})
	for n := range 2 * changesKept {
		s.recordChange(change{table: b, after: image, at: time.Unix(int64(n/1000), 0)})
	}
	if len(s.changes) != changesKept || s.trimmed != changesKept {
		t.Errorf("%d changes, %d trimmed", len(s.changes), s.trimmed)
	}
	if got := s.Since(2*changesKept - 3); len(got) != 3 || !got[2].At.Equal(s.changes[len(s.changes)-1].at) {
		t.Errorf("the last three are %v", got)
	}
	var trimmed *streamtypes.TrimmedDataAccessException
	for at, isGone := range map[int]bool{changesKept - 1: true, changesKept: false} {
		from := &dynamodbstreams.GetRecordsInput{ShardIterator: iterator{arn: *b.description.LatestStreamArn, at: at}.text()}
		if _, err := s.getRecords(from); errors.As(err, &trimmed) != isGone {
			t.Errorf("after %d records: %v", at, err)
		}
	}
}
