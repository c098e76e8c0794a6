// Package meter counts what clients of a table consume: requests, items and capacity units. Units are those that the
// store counts. Only the built-in store does so: DynamoDB Local reports wrong figures for transactions.
package meter

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/table"
)

// A Tally holds counts.
type Tally struct {
	// Requests counts requests by operation of the SDK, including failed ones. A request that the SDK retries counts
	// once.
	Requests     map[string]int64
	ItemsWritten int64 // puts and updates that were applied, also those of unknown outcome
	ItemsRead    int64 // without absent items
	table.Used
}

// Total returns the number of requests.
func (t Tally) Total() (n int64) {
	for _, requests := range t.Requests {
		n += requests
	}
	return n
}

// Add adds the counts of u.
func (t *Tally) Add(u Tally) {
	if t.Requests == nil {
		t.Requests = make(map[string]int64, len(u.Requests))
	}
	for operation, requests := range u.Requests {
		t.Requests[operation] += requests
	}
	t.ItemsWritten += u.ItemsWritten
	t.ItemsRead += u.ItemsRead
	t.Units.Add(u.Units)
	if t.ByKey == nil && u.ByKey != nil {
		t.ByKey = make(map[table.PartitionKey]table.Units, len(u.ByKey))
	}
	for key, units := range u.ByKey {
		sum := t.ByKey[key]
		sum.Add(units)
		t.ByKey[key] = sum
	}
}

// Meter counts the requests of its clients. It is safe for concurrent use. The zero Meter has counted nothing.
type Meter struct {
	ByKey bool // also count units by partition key; set before use

	mu    sync.Mutex
	tally Tally
}

// Count is an option for a client. It makes m count the client's requests.
func (m *Meter) Count(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Meter", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			t := Tally{Requests: map[string]int64{middleware.GetOperationName(ctx): 1}}
			if m.ByKey {
				t.ByKey = make(map[table.PartitionKey]table.Units)
			}
			out, metadata, err := next.HandleInitialize(table.WithUsed(ctx, &t.Used), in)
			t.ItemsRead = itemsRead(out.Result)
			if err == nil || errors.Is(table.WriteError(err), table.ErrUnknownOutcome) {
				t.ItemsWritten = itemsWritten(in.Parameters)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.tally.Add(t)
			return out, metadata, err
		}), middleware.After)
	})
}

// Take returns the counts since the last Take.
func (m *Meter) Take() Tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.tally
	m.tally = Tally{}
	return taken
}

// itemsRead returns the number of items that an output has.
func itemsRead(output any) (n int64) {
	switch out := output.(type) {
	case *dynamodb.GetItemOutput:
		if len(out.Item) > 0 {
			n = 1
		}
	case *dynamodb.BatchGetItemOutput:
		for _, items := range out.Responses {
			n += int64(len(items))
		}
	case *dynamodb.TransactGetItemsOutput:
		for _, r := range out.Responses {
			if len(r.Item) > 0 {
				n++
			}
		}
	case *dynamodb.QueryOutput:
		n = int64(out.Count)
	}
	return n
}

// itemsWritten returns the number of items that a request puts or updates.
func itemsWritten(request any) (n int64) {
	switch in := request.(type) {
	case *dynamodb.PutItemInput, *dynamodb.UpdateItemInput:
		n = 1
	case *dynamodb.TransactWriteItemsInput:
		for _, a := range in.TransactItems {
			if a.Put != nil || a.Update != nil {
				n++
			}
		}
	}
	return n
}
