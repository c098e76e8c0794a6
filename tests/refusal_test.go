package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ledger.example/tests/caller"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// refuses sends each request and holds the answer to what the API promises of an error. After each, the table is item
// for item what it was, and nothing was sent to it for what is told from the request alone.
func (s *system) refuses(t *testing.T, all []caller.Refusal) {
	t.Helper()
	s.requests.take()
	before := s.items()
	for _, r := range all {
		t.Run(r.String(), func(t *testing.T) {
			s.Refuse(t, r, s.table, store.Endpoint)
			checkRequests(t, r.Code, s.requests.take())
			if after := s.items(); !maps.Equal(before, after) {
				t.Errorf("the table changed: %s", difference(before, after))
				before = after
			}
		})
	}
}

// checkRequests fails t if a refused request wrote, or asked the table for what it could tell by itself.
func checkRequests(t testing.TB, code string, requests []request) {
	t.Helper()
	if caller.ToldByItself(code) && len(requests) > 0 {
		t.Errorf("%s only after %q", code, operations(requests))
	}
	for _, r := range requests {
		if r.writes() && r.err == nil {
			t.Errorf("%s, but %s was done: %+v", code, r.operation, r.input)
		}
	}
}

// writes tells whether the request may change the table.
func (r request) writes() bool {
	return !slices.Contains([]string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "DescribeTable"}, r.operation)
}

// items reads the whole table, every attribute of every item, by its key.
func (s *system) items() map[string]string {
	s.t.Helper()
	all := make(map[string]string)
	pages := dynamodb.NewScanPaginator(s.plain, &dynamodb.ScanInput{TableName: &s.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			key, err := wire.KeyOf(item)
			if err != nil {
				s.t.Fatal(err)
			}
			text, err := json.Marshal(plain(&types.AttributeValueMemberM{Value: item}))
			if err != nil {
				s.t.Fatal(err)
			}
			all[key.PK+" "+key.SK] = string(text)
		}
	}
	return all
}

// partition reads all items of a partition.
func (s *system) partition(pk string) map[table.Key]wire.Item {
	s.t.Helper()
	all := make(map[table.Key]wire.Item)
	pages := dynamodb.NewQueryPaginator(s.plain, &dynamodb.QueryInput{
		TableName:                 &s.table,
		KeyConditionExpression:    aws.String(table.AttrPK + " = :pk"),
		ExpressionAttributeValues: wire.Item{":pk": wire.String(pk)},
		ConsistentRead:            aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			key, err := wire.KeyOf(item)
			if err != nil {
				s.t.Fatal(err)
			}
			all[key] = item
		}
	}
	return all
}

// plain returns a value of an item as JSON can show it, with its type.
func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		fields := make(map[string]any, len(v.Value))
		for name, inner := range v.Value {
			fields[name] = plain(inner)
		}
		return map[string]any{"M": fields}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, inner := range v.Value {
			list[i] = plain(inner)
		}
		return map[string]any{"L": list}
	}
	return fmt.Sprintf("%T %+v", v, v)
}

// difference tells what is new, gone or changed between two states of a table.
func difference(before, after map[string]string) string {
	var lines []string
	for key, item := range after {
		if before[key] != item {
			lines = append(lines, fmt.Sprintf("%s is %s, was %s", key, item, before[key]))
		}
	}
	for key := range before {
		if _, there := after[key]; !there {
			lines = append(lines, key+" is gone")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}
