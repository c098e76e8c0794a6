package meter

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// A Tally is what was counted.
type Tally struct {
	// Requests are by the SDK's operation, failed ones included. What the SDK tried several times is one.
	Requests     map[string]int64
	ItemsWritten int64 // puts and updates that were applied
	ItemsRead    int64 // those found, not those that were absent
	WriteUnits   int64 // of the table and its indexes
	ReadHalves   int64 // in halves of a read unit
	// Cancelled are the writes whose conditions failed or that met others. They consume units, which are counted: AWS says
	// so of a single write, where the item that is there counts; of a cancelled transaction it says nothing, and the table's
	// units of the whole transaction are taken.
	Cancelled int64
	// Guessed are the items whose units may be higher or lower, as what was there before, or the whole of what was read in
	// part, was not known.
	Guessed int64
}

// Total is the number of requests.
func (t Tally) Total() (n int64) {
	for _, requests := range t.Requests {
		n += requests
	}
	return n
}

// Add adds what u counted.
func (t *Tally) Add(u Tally) {
	if t.Requests == nil && len(u.Requests) > 0 {
		t.Requests = make(map[string]int64, len(u.Requests))
	}
	for operation, requests := range u.Requests {
		t.Requests[operation] += requests
	}
	t.ItemsWritten += u.ItemsWritten
	t.ItemsRead += u.ItemsRead
	t.WriteUnits += u.WriteUnits
	t.ReadHalves += u.ReadHalves
	t.Cancelled += u.Cancelled
	t.Guessed += u.Guessed
}

// Meter counts the requests to one table of the clients that it is given to. It is safe for concurrent use.
type Meter struct {
	table   string
	indexes [indexes]index
	seen    *seen

	mu    sync.Mutex
	tally Tally
}

// New returns a meter of the named table that has counted and seen nothing.
func New(tableName string) *Meter {
	return &Meter{table: tableName, indexes: tableIndexes(), seen: newSeen(), tally: Tally{Requests: make(map[string]int64)}}
}

// Beside returns a meter of the same table for another client: it counts by itself, and knows the items that either saw.
func (m *Meter) Beside() *Meter {
	return &Meter{table: m.table, indexes: m.indexes, seen: m.seen, tally: Tally{Requests: make(map[string]int64)}}
}

// Count is an option of the client whose requests are to be counted.
func (m *Meter) Count(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Meter",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				var t Tally
				m.count(&t, in.Parameters, out.Result, err)
				m.add(middleware.GetOperationName(ctx), t)
				return out, metadata, err
			}), middleware.After)
	})
}

// add counts one request of an operation.
func (m *Meter) add(operation string, t Tally) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tally.Requests[operation]++
	m.tally.Add(t)
}

// Take returns what was counted since the last Take.
func (m *Meter) Take() Tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.tally
	m.tally = Tally{Requests: make(map[string]int64, len(taken.Requests))}
	return taken
}
