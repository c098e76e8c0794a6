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

	"ledger.example/internal/ddb"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/internal/local/memdb"
	"ledger.example/tests/full"
	"ledger.example/tests/setup"
)

// stepsMost is how many requests one check sends at most, the first of which makes items.
const stepsMost = 6

// The store in memory answers any request as DynamoDB Local does, or refuses it because it doesn't know it: requests
// that are right, wrong and malformed are sent to both, and what comes back is compared, error codes, cancellation
// reasons and positions included. In the end the tables and the streams are. What differs is printed with the seed that
// draws it again. -rapid.checks=N sends more.
func TestMemoryAnswersAsDynamoDBLocalDoes(t *testing.T) {
	real, name := newTable(t)
	standIn := memdb.New(memdb.Options{})
	memorized := standIn.DynamoDB()
	setup.Table(t, memorized, name)
	if few := flag.Lookup("rapid.checks"); few.Value.String() == few.DefValue {
		few.Value.Set(strconv.Itoa(full.Count(30, 200)))
	}
	var runs atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		g := &requests{T: t, table: name, prefix: fmt.Sprintf("%06d.", runs.Add(1))}
		for n := range rapid.IntRange(1, stepsMost).Draw(t, "requests") {
			send := g.seed
			if n > 0 {
				send = g.request
			}
			ask := send()
			want, got := ask(context.Background(), real), ask(context.Background(), memorized)
			if want != got && !(g.loose && isRefusal(want) && isRefusal(got)) {
				t.Fatalf("%s\nDynamoDB Local: %s\nin memory:      %s", g.sent, want, got)
			}
		}
	})
	if want, got := scanned(t, real, name, 3), scanned(t, memorized, name, 4); want != got {
		t.Errorf("the tables differ:\nDynamoDB Local:\n%s\nin memory:\n%s", want, got)
	}
	want, got := streamed(t, dynamolocal.Streams(dynamolocaltest.Shared(t).Endpoint), real, name), streamed(t,
		standIn.Streams(), memorized, name)
	for item, records := range want {
		if got[item] != records {
			t.Errorf("the streams differ about %s:\nDynamoDB Local:\n%s\nin memory:\n%s", item, records, got[item])
		}
	}
	if len(want) != len(got) || len(want) == 0 {
		t.Errorf("the streams have %d items and %d", len(want), len(got))
	}
}

// isRefusal reports whether an answer is that of a request that cannot be carried out. Which refusal it is, is nobody's
// promise where a request is both malformed and for a table that isn't there; and DynamoDB Local cancels a transaction
// of reads without its reasons, and sees that a transaction names an item twice when all else is in order.
func isRefusal(answer string) bool {
	return strings.HasPrefix(answer, "error ") || strings.HasPrefix(answer, "cancelled: ")
}

// invalid is the code of a refusal for what is wrong in the request itself.
const invalid = "ValidationException"

// shown is an answer as text: the error with all that a program can see of it, or the output. For some faults of the
// request DynamoDB Local cancels a transaction instead of refusing it, which is shown as a refusal.
func shown(err error, output func() string) string {
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
			if aws.ToString(r.Code) == ddb.ReasonInvalid {
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

// itemText writes an item of the table or of its stream with its attributes in order.
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

// valueText writes a value, whose type is AttributeValueMemberS, say, of the table or of its stream.
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

// scanned reads a whole table in parallel segments, page by page, and writes its items in order.
func scanned(t *testing.T, client *dynamodb.Client, name string, segments int32) string {
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
