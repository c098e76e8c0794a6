package meter_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/cmd/ledger/meter"
	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// answers makes a client's requests come to nothing but an output and an error.
func answers(output any, err error) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("answer",
				func(context.Context, middleware.SerializeInput, middleware.SerializeHandler) (out middleware.SerializeOutput, m middleware.Metadata, _ error) {
					out.Result = output
					return out, m, err
				}), middleware.Before)
		})
	}
}

func client(m *meter.Meter, output any, err error) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1"}, m.Count, answers(output, err))
}

// large is the item of a balance of about that many bytes.
func large(bytes int) wire.Item {
	item := wire.Key(table.BalanceKey("jane", "USD"))
	item["Text"] = wire.String(strings.Repeat("x", bytes))
	return item
}

func put(t testing.TB, m *meter.Meter, item wire.Item, condition string, err error) meter.Tally {
	t.Helper()
	_, _ = client(m, &dynamodb.PutItemOutput{}, err).PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(books), Item: item, ConditionExpression: aws.String(condition),
	})
	return m.Take()
}

// A single write whose condition fails consumes what the item that is there does; an unknown outcome what it would have;
// what was declined, nothing.
func TestUnitsOfWritesThatFail(t *testing.T) {
	t.Parallel()
	failed := &types.ConditionalCheckFailedException{}
	for _, c := range []struct {
		name  string
		there int // bytes of the item that is there, 0: not seen
		err   error
		units int64
		want  meter.Tally
	}{
		{"made", 0, nil, 3, meter.Tally{ItemsWritten: 1}},
		{"the larger counts", 4500, nil, 5, meter.Tally{ItemsWritten: 1}},
		{"condition", 4500, failed, 5, meter.Tally{Cancelled: 1}},
		{"condition, on a smaller one", 10, failed, 1, meter.Tally{Cancelled: 1}},
		{"condition, which tells the item", 0, &types.ConditionalCheckFailedException{Item: large(10)}, 1, meter.Tally{Cancelled: 1}},
		{"throttled", 10, &types.ProvisionedThroughputExceededException{}, 0, meter.Tally{}},
		{"refused", 10, &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}, 0, meter.Tally{}},
		{"unknown", 10, errors.New("no reply came"), 3, meter.Tally{ItemsWritten: 1}},
	} {
		m := meter.New(books)
		if c.there > 0 {
			put(t, m, large(c.there), wire.IfAbsent, nil)
		}
		got := put(t, m, large(2500), "#version = :version", c.err)
		c.want.Requests, c.want.WriteUnits = map[string]int64{"PutItem": 1}, c.units
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// What could not be known is said, where it matters.
func TestWhatIsGuessed(t *testing.T) {
	t.Parallel()
	listed := large(10)
	listed[table.AttrPK2] = wire.String(table.HoldersPK2("USD"))
	moved := large(10)
	moved[table.AttrPK2] = wire.String(table.HoldersPK2("EUR"))
	update := func(m *meter.Meter, value wire.Item) meter.Tally {
		_, _ = client(m, &dynamodb.TransactWriteItemsOutput{}, nil).TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems: []types.TransactWriteItem{{Update: &types.Update{
				TableName: aws.String(books), Key: wire.Key(table.SpendKey("jane", "USD")), UpdateExpression: aws.String("ADD #spent :value"),
				ExpressionAttributeNames: map[string]string{"#spent": table.AttrSpent}, ExpressionAttributeValues: value,
			}}},
		})
		return m.Take()
	}
	page := func(m *meter.Meter, projection *string) meter.Tally {
		_, _ = client(m, &dynamodb.QueryOutput{Items: []wire.Item{wire.Key(table.BalanceKey("jane", "USD"))}}, nil).Query(t.Context(), &dynamodb.QueryInput{
			TableName: aws.String(books), ProjectionExpression: projection,
		})
		return m.Take()
	}
	for _, c := range []struct {
		name    string
		do      func(m *meter.Meter) meter.Tally
		guessed int64
		units   int64 // written, or halves read
	}{
		{"made", func(m *meter.Meter) meter.Tally { return put(t, m, listed, wire.IfAbsent, nil) }, 0, 2},
		{"made or older", func(m *meter.Meter) meter.Tally { return put(t, m, listed, wire.IfAbsent+" OR #number < :number", nil) }, 1, 2},
		{"replaced", func(m *meter.Meter) meter.Tally { return put(t, m, listed, "#version = :version", nil) }, 1, 1},
		{"replaced, seen", func(m *meter.Meter) meter.Tally {
			put(t, m, listed, wire.IfAbsent, nil)
			return put(t, m, listed, "#version = :version", nil)
		}, 0, 1},
		{"moved, seen", func(m *meter.Meter) meter.Tally {
			put(t, m, listed, wire.IfAbsent, nil)
			return put(t, m.Beside(), moved, "", nil)
		}, 0, 3},
		{"replaced, in no index", func(m *meter.Meter) meter.Tally { return put(t, m, large(10), "", nil) }, 0, 1},
		{"updated", func(m *meter.Meter) meter.Tally { return update(m, wire.Item{":value": wire.Integer(1)}) }, 0, 2},
		{"updated, to 1 KB or more", func(m *meter.Meter) meter.Tally { return update(m, large(1000)) }, 1, 4},
		{"read in part", func(m *meter.Meter) meter.Tally { return page(m, aws.String(table.AttrPK)) }, 1, 1},
		{"read in part, seen", func(m *meter.Meter) meter.Tally {
			put(t, m, large(5000), "", nil)
			return page(m.Beside(), aws.String(table.AttrPK))
		}, 0, 2},
		{"read", func(m *meter.Meter) meter.Tally { return page(m, nil) }, 0, 1},
	} {
		if got := c.do(meter.New(books)); got.Guessed != c.guessed || got.WriteUnits+got.ReadHalves != c.units {
			t.Errorf("%s: %+v, want %d units and %d guessed", c.name, got, c.units, c.guessed)
		}
	}
}

// However many items are seen, those that are used are remembered, and the others forgotten.
func TestItemsSeenAreBounded(t *testing.T) {
	m := meter.New(books)
	item := large(10)
	item[table.AttrPK2] = wire.String(table.HoldersPK2("USD"))
	used := client(m, &dynamodb.TransactWriteItemsOutput{}, nil)
	heap := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	const transactions, actions = 3000, 100
	before := heap()
	for i := range transactions {
		in := &dynamodb.TransactWriteItemsInput{}
		for j := range actions {
			other := wire.Key(table.PostingKey("jane", "USD", fmt.Sprint(i*actions+j)))
			if j == 0 && i%300 == 0 {
				other = item
			}
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(books), Item: other}})
		}
		if _, err := used.TransactWriteItems(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.Take(); got.Guessed != 1 || got.ItemsWritten != transactions*actions {
		t.Errorf("%+v: an item that is used was forgotten", got)
	}
	if grown := heap() - before; grown > 50<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
	runtime.KeepAlive(m)
}

// What counting adds to a settled trade: header, four postings and a guard.
func BenchmarkCount(b *testing.B) {
	in := &dynamodb.TransactWriteItemsInput{}
	put := func(e events.Event) {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: aws.String(books), Item: wire.EventItem(e), ConditionExpression: aws.String(wire.IfAbsent),
		}})
	}
	header := events.TransactionPosted{ID: "order-1001", Kind: events.KindTrade, Actor: "trading-desk", Metadata: map[string]string{"order": "1001"}}
	for i := range 4 {
		header.Legs = append(header.Legs, events.Leg{
			ID: events.FirstKSUID(time.Now().Add(time.Duration(i))), Account: "customers:00000017", Asset: "AAPL", Quantity: events.NewAmount(-10), Cost: events.NewAmount(150_000),
		})
	}
	put(header)
	for _, p := range header.Postings() {
		put(p)
	}
	in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(books), Key: wire.Key(table.SpendKey("customers:00000017", "AAPL")),
		UpdateExpression:          aws.String("ADD #spent :gross SET #type = :type"),
		ExpressionAttributeNames:  map[string]string{"#spent": table.AttrSpent, "#type": table.AttrType},
		ExpressionAttributeValues: wire.Item{":gross": wire.Integer(10), ":bound": wire.Integer(1000), ":type": wire.String(table.KindSpend)},
	}})
	for name, options := range map[string][]func(*dynamodb.Options){
		"sdk":     {answers(&dynamodb.TransactWriteItemsOutput{}, nil)},
		"metered": {answers(&dynamodb.TransactWriteItemsOutput{}, nil), meter.New(books).Count},
	} {
		b.Run(name, func(b *testing.B) {
			c := dynamodb.New(dynamodb.Options{Region: "us-east-1"}, options...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.TransactWriteItems(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
