package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"pgregory.net/rapid"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/setup"
)

// maxRequests is the most requests in one check. The first one puts items.
const maxRequests = 6

// The in-memory store answers every request as DynamoDB Local does. The test sends random requests to both: valid,
// invalid and malformed. It compares the answers with their error codes, cancellation reasons and positions, and at the
// end the tables and streams. A failure prints the seed that repeats it. -rapid.checks=N sends more requests.
func TestMemoryAnswersAsDynamoDBLocalDoes(t *testing.T) {
	local, name := newTable(t)
	db := memdb.New(memdb.Options{})
	memory := db.DynamoDB()
	setup.Table(t, memory, name)
	if few := flag.Lookup("rapid.checks"); few.Value.String() == few.DefValue {
		few.Value.Set(strconv.Itoa(full.Count(30, 200)))
	}
	var runs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{T: t, table: name, prefix: fmt.Sprintf("%06d.", runs.Add(1))}
		for n := range rapid.IntRange(1, maxRequests).Draw(t, "requests") {
			send := g.seed
			if n > 0 {
				send = g.request
			}
			request := send()
			want, got := request(context.Background(), local), request(context.Background(), memory)
			if want != got && !(g.anyRefusal && isRefusal(want) && isRefusal(got)) {
				t.Fatalf("%s\nDynamoDB Local: %s\nin memory:      %s", g.description, want, got)
			}
		}
	})
	if want, got := scanText(t, local, name, 3), scanText(t, memory, name, 4); want != got {
		t.Errorf("the tables differ:\nDynamoDB Local:\n%s\nin memory:\n%s", want, got)
	}
	want := streamChanges(t, dynamolocal.Streams(dynamolocaltest.Shared(t).Endpoint), local, name)
	got := streamChanges(t, db.Streams(), memory, name)
	for item, records := range want {
		if got[item] != records {
			t.Errorf("the streams differ about %s:\nDynamoDB Local:\n%s\nin memory:\n%s", item, records, got[item])
		}
	}
	if len(want) != len(got) || len(want) == 0 {
		t.Errorf("the streams have %d items and %d", len(want), len(got))
	}
}

// isRefusal reports whether an answer is a refusal of any kind. The stores may refuse a request for different reasons
// if it has several faults, for example a malformed key and a missing table. DynamoDB Local also cancels a transaction
// of reads without reasons, and checks last whether a transaction names an item twice.
func isRefusal(answer string) bool {
	return strings.HasPrefix(answer, "error ") || strings.HasPrefix(answer, "cancelled: ")
}

// invalid is the error code of an invalid request.
const invalid = "ValidationException"

// answerText returns an answer as text: the error with everything that a program can read from it, or the output. For
// some invalid requests, DynamoDB Local cancels the transaction instead of refusing it; both give the same text.
func answerText(err error, output func() string) string {
	if err == nil {
		return output()
	}
	var (
		api       smithy.APIError
		cancelled *types.TransactionCanceledException
		failed    *types.ConditionalCheckFailedException
	)
	switch {
	case errors.As(err, &cancelled):
		var reasons []string
		for _, r := range cancelled.CancellationReasons {
			if aws.ToString(r.Code) == table.ReasonInvalid {
				return "error " + invalid
			}
			reasons = append(reasons, aws.ToString(r.Code)+" "+itemText(r.Item))
		}
		return "cancelled: " + strings.Join(reasons, ", ")
	case errors.As(err, &failed):
		return "condition failed: " + itemText(failed.Item)
	case errors.As(err, &api):
		return "error " + api.ErrorCode()
	}
	return "error " + err.Error()
}

// itemText returns an item of the table or of its stream as text, with sorted attributes.
func itemText[V any](i map[string]V) string {
	if i == nil {
		return "-"
	}
	var parts []string
	for name, v := range i {
		parts = append(parts, name+"="+valueText(v))
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, " ") + "}"
}

// valueText returns a value of the table or of its stream as text, for example one of type *AttributeValueMemberS.
func valueText(v any) string {
	if v == nil {
		return "nothing"
	}
	switch value := reflect.ValueOf(v).Elem().FieldByName("Value").Interface().(type) {
	case map[string]types.AttributeValue:
		return itemText(value)
	case map[string]streamtypes.AttributeValue:
		return itemText(value)
	case []types.AttributeValue:
		return "[" + listText(value) + "]"
	case []streamtypes.AttributeValue:
		return "[" + listText(value) + "]"
	case string:
		// DynamoDB Local keeps some numbers as they were sent: 1e1.
		if r, ok := new(big.Rat).SetString(value); ok && strings.HasSuffix(fmt.Sprintf("%T", v), "MemberN") {
			return "number " + r.RatString()
		}
		return fmt.Sprintf("%q", value)
	default:
		return fmt.Sprintf("%v", value)
	}
}

func listText[V any](list []V) string {
	var parts []string
	for _, v := range list {
		parts = append(parts, valueText(v))
	}
	return strings.Join(parts, " ")
}

func itemTexts(items []map[string]types.AttributeValue) string {
	var texts []string
	for _, i := range items {
		texts = append(texts, itemText(i))
	}
	return strings.Join(texts, " ")
}

// scanText scans a table in segments, page by page, and returns the sorted items as text.
func scanText(t *testing.T, client *dynamodb.Client, name string, segments int32) string {
	t.Helper()
	var texts []string
	for segment := range segments {
		in := &dynamodb.ScanInput{TableName: &name, Segment: &segment, TotalSegments: &segments, Limit: aws.Int32(50),
			ConsistentRead: aws.Bool(true)}
		for {
			out, err := client.Scan(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range out.Items {
				texts = append(texts, itemText(i))
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				break
			}
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}
