package meter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/meter"
	"ledger.example/internal/store"
)

const books = "books"

// answers makes a client get an output and an error for every request.
func answers(output any, err error) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("answer",
				func(context.Context, middleware.SerializeInput,
					middleware.SerializeHandler) (out middleware.SerializeOutput, m middleware.Metadata, _ error) {
					out.Result = output
					return out, m, err
				}), middleware.Before)
		})
	}
}

func client(m *meter.Meter, output any, err error) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1"}, m.Count, answers(output, err))
}

// large returns the item of a balance with slightly more than the given number of bytes.
func large(bytes int) store.Item {
	item := store.KeyItem(store.Balance.Key("jane", "USD"))
	item["Text"] = store.String(strings.Repeat("x", bytes))
	return item
}

func put(t testing.TB, m *meter.Meter, item store.Item, condition string, err error) meter.Tally {
	t.Helper()
	_, _ = client(m, &dynamodb.PutItemOutput{}, err).PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(books), Item: item, ConditionExpression: aws.String(condition),
	})
	return m.Take()
}

// A write whose condition fails consumes the units of the existing item. A write with an unknown outcome counts as
// applied. A throttled or rejected write consumes nothing.
func TestUnitsOfWritesThatFail(t *testing.T) {
	t.Parallel()
	failed := &types.ConditionalCheckFailedException{}
	for _, c := range []struct {
		name  string
		there int // bytes of the existing item; 0 if it is not cached
		err   error
		units int64
		want  meter.Tally
	}{
		{"created", 0, nil, 3, meter.Tally{ItemsWritten: 1}},
		{"replaces a larger item", 4500, nil, 5, meter.Tally{ItemsWritten: 1}},
		{"condition fails", 4500, failed, 5, meter.Tally{}},
		{"condition fails on a smaller item", 10, failed, 1, meter.Tally{}},
		{"condition fails and returns the item", 0, &types.ConditionalCheckFailedException{Item: large(10)}, 1,
			meter.Tally{}},
		{"throttled", 10, &types.ProvisionedThroughputExceededException{}, 0, meter.Tally{}},
		{"rejected", 10, &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}, 0,
			meter.Tally{}},
		{"unknown outcome", 10, errors.New("no reply came"), 3, meter.Tally{ItemsWritten: 1}},
	} {
		m := meter.New(books)
		if c.there > 0 {
			put(t, m, large(c.there), store.IfAbsent, nil)
		}
		got := put(t, m, large(2500), "#version = :version", c.err)
		c.want.Requests, c.want.WriteUnits = map[string]int64{"PutItem": 1}, c.units
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The units of a query are those that the store reports, at least the smallest read.
func TestUnitsOfQueries(t *testing.T) {
	t.Parallel()
	for reported, halves := range map[float64]int64{0: 2, 0.5: 2, 7: 14} {
		m := meter.New(books)
		out := &dynamodb.QueryOutput{Count: 3, ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: &reported}}
		_, _ = client(m, out, nil).Query(t.Context(), &dynamodb.QueryInput{
			TableName: aws.String(books), Select: types.SelectCount, ConsistentRead: aws.Bool(true),
		})
		if got := m.Take(); got.ReadHalves != halves || got.ItemsRead != 3 {
			t.Errorf("%v reported: %+v", reported, got)
		}
	}
}

// Items count as guessed if their units depend on an item that is not cached.
func TestGuessedUnits(t *testing.T) {
	t.Parallel()
	listed := large(10)
	listed[store.AttrPK2] = store.String(store.Balance.PK2("USD"))
	moved := large(10)
	moved[store.AttrPK2] = store.String(store.Balance.PK2("EUR"))
	update := func(m *meter.Meter, value store.Item) meter.Tally {
		_, _ = client(m, &dynamodb.TransactWriteItemsOutput{}, nil).TransactWriteItems(t.Context(),
			&dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{{Update: &types.Update{
					TableName: aws.String(books), Key: store.KeyItem(store.Spend.Key("jane",
						"USD")), UpdateExpression: aws.String("ADD #spent :value"),
					ExpressionAttributeNames:  map[string]string{"#spent": store.AttrSpent},
					ExpressionAttributeValues: value,
				}}},
			})
		return m.Take()
	}
	check := func(m *meter.Meter, err error) meter.Tally { // two checks and a put
		checks := types.ConditionCheck{
			TableName: aws.String(books), Key: store.KeyItem(store.Grant.Key("jane", "ann", 2)),
			ConditionExpression: aws.String(store.IfAbsent),
		}
		_, _ = client(m, &dynamodb.TransactWriteItemsOutput{}, err).TransactWriteItems(t.Context(),
			&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Put: &types.Put{TableName: aws.String(books), Item: large(10), ConditionExpression: aws.String(store.IfAbsent)}},
				{ConditionCheck: &checks}, {ConditionCheck: &checks},
			}})
		return m.Take()
	}
	get := func(m *meter.Meter, projection *string) meter.Tally {
		key := store.KeyItem(store.Balance.Key("jane", "USD"))
		_, _ = client(m, &dynamodb.GetItemOutput{Item: key}, nil).GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: aws.String(books), Key: key, ProjectionExpression: projection,
		})
		return m.Take()
	}
	for _, c := range []struct {
		name    string
		do      func(m *meter.Meter) meter.Tally
		guessed int64
		units   int64 // written, or halves read
	}{
		{"made", func(m *meter.Meter) meter.Tally { return put(t, m, listed, store.IfAbsent, nil) }, 0, 2},
		{"made or older", func(m *meter.Meter) meter.Tally {
			return put(t, m, listed,
				store.IfAbsent+" OR #number < :number", nil)
		}, 1, 2},
		{"replaced", func(m *meter.Meter) meter.Tally { return put(t, m, listed, "#version = :version", nil) }, 1, 1},
		{"replaced, seen", func(m *meter.Meter) meter.Tally {
			put(t, m, listed, store.IfAbsent, nil)
			return put(t, m, listed, "#version = :version", nil)
		}, 0, 1},
		{"moved, seen", func(m *meter.Meter) meter.Tally {
			put(t, m, listed, store.IfAbsent, nil)
			return put(t, m.Sibling(), moved, "", nil)
		}, 0, 3},
		{"replaced, in no index", func(m *meter.Meter) meter.Tally { return put(t, m, large(10), "", nil) }, 0, 1},
		{"updated", func(m *meter.Meter) meter.Tally { return update(m, store.Item{":value": store.Integer(1)}) }, 0, 2},
		{"updated, to 1 KB or more", func(m *meter.Meter) meter.Tally { return update(m, large(1000)) }, 1, 4},
		{"checked", func(m *meter.Meter) meter.Tally { return check(m, nil) }, 0, 6},
		{"checked in vain", func(m *meter.Meter) meter.Tally {
			return check(m, &types.TransactionCanceledException{})
		}, 0, 6},
		{"read in part", func(m *meter.Meter) meter.Tally { return get(m, aws.String(store.AttrPK)) }, 1, 1},
		{"read in part, seen", func(m *meter.Meter) meter.Tally {
			put(t, m, large(5000), "", nil)
			return get(m.Sibling(), aws.String(store.AttrPK))
		}, 0, 2},
		{"read", func(m *meter.Meter) meter.Tally { return get(m, nil) }, 0, 1},
	} {
		if got := c.do(meter.New(books)); got.Guessed != c.guessed || got.WriteUnits+got.ReadHalves != c.units {
			t.Errorf("%s: %+v, want %d units and %d guessed", c.name, got, c.units, c.guessed)
		}
	}
}
