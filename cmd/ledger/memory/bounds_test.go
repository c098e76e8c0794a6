package memory

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// An item that is written all the time keeps the versions that a read can ask for, and no more; and its places in indexes go
// with them.
func TestVersionsAreForgotten(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	s := New(Options{Now: func() time.Time { return now }, Lag: func(context.Context) time.Duration { return 0 }})
	client := s.DynamoDB()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.CreateTable(t.Context(), client, in, "books"); err != nil {
		t.Fatal(err)
	}
	key := table.MembershipKey("jane", "u")
	const writes, every = 100, time.Minute
	for n := range writes {
		item := wire.Key(key)
		item[table.AttrNumber] = wire.Integer(int64(n))
		item[table.AttrPK2] = wire.String(table.UserPK2(string(rune('a' + n%26))))
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("books"), Item: item}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(every)
	}
	b := s.tables["books"]
	most := int(lagMost/every) + 1
	if n := len(b.base.row(key).versions); n != most {
		t.Errorf("%d versions are kept, not %d", n, most)
	}
	places := 0
	for _, x := range b.indexes {
		for _, bucket := range x.buckets {
			for _, p := range bucket {
				for range p.between(position{}, p.end(), true) {
					places++
				}
			}
		}
	}
	if places != most {
		t.Errorf("the indexes have %d places for %d versions", places, most)
	}

	// One that is deleted goes in the end.
	for range 2 {
		if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("books"), Key: wire.Key(key)}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * lagMost)
	}
	if s.tables["books"].items != 0 || b.base.row(key).current() != nil {
		t.Error("it is still there")
	}
}

// A stream and the list of changes keep what is new, however much there is.
func TestStreamsAndChangesAreBounded(t *testing.T) {
	const beyond = 10
	b := &books{name: "books", stream: newStream("arn", "label", time.Time{}, 1)}
	s := New(Options{})
	for n := range streamRecords + beyond {
		s.changed(b, table.Key{}, nil, item{{"N", &types.AttributeValueMemberN{Value: "1"}}}, time.Unix(int64(n/1000), 0))
	}
	sh := b.stream.shards[0]
	if len(sh.records) != streamRecords || sh.trimmed != beyond || sh.records[0].sequence != beyond+1 {
		t.Errorf("%d records, %d trimmed", len(sh.records), sh.trimmed)
	}
	if n := len(s.changes); n < changesKept || n > 2*changesKept || n+s.trimmed != streamRecords+beyond {
		t.Errorf("%d changes, %d trimmed", n, s.trimmed)
	}
	if got := s.Since(streamRecords + beyond - 3); len(got) != 3 || !got[2].At.Equal(s.changes[len(s.changes)-1].at) {
		t.Errorf("the last three are %v", got)
	}
}
