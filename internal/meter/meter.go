// Package meter counts what clients of one table consume: requests, items and capacity units. The units of a query are
// those that the store reports. It computes all others from requests and responses with the cost model of package
// store, because DynamoDB Local reports wrong figures for transactions. The cost of a write depends on the item that it
// replaces. A meter therefore caches the sizes and hashes of items.
package meter

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/store"
)

// A Tally holds counts.
type Tally struct {
	// Requests counts requests by operation of the SDK, including failed ones. A request that the SDK retries counts
	// once.
	Requests     map[string]int64 `json:"requests"`
	ItemsWritten int64            `json:"items_written"`    // puts and updates that were applied
	ItemsRead    int64            `json:"items_read"`       // without absent items
	WriteUnits   int64            `json:"write_units"`      // of the table and its indexes
	ReadHalves   int64            `json:"read_unit_halves"` // in halves of a read unit
	// Guessed counts items whose units are estimates: a write to an item that was not cached, or a read of a part of
	// such an item.
	Guessed int64 `json:"guessed"`
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
	t.WriteUnits += u.WriteUnits
	t.ReadHalves += u.ReadHalves
	t.Guessed += u.Guessed
}

// Meter counts the requests that its clients make to one table. It is safe for concurrent use.
type Meter struct {
	table string
	cache *cache

	mu    sync.Mutex
	tally Tally
}

// New returns a meter of the named table with no counts and an empty cache.
func New(tableName string) *Meter {
	return &Meter{table: tableName, cache: &cache{seed: maphash.MakeSeed(), images: make(map[uint64]image)}}
}

// Sibling returns a meter of the same table for another client. It has separate counts, and shares the cache.
func (m *Meter) Sibling() *Meter {
	return &Meter{table: m.table, cache: m.cache}
}

// Count is an option for a client. It makes m count the client's requests.
func (m *Meter) Count(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, askOfQueries)
	store.Observe("Meter", func(ctx context.Context, in, out any, err error) {
		t := Tally{Requests: map[string]int64{middleware.GetOperationName(ctx): 1}}
		m.countWrites(&t, in, err)
		m.countReads(&t, in, out)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.tally.Add(t)
	})(o)
}

// askOfQueries makes each query ask for the units that it consumes. The items of its page do not tell them: the page
// may have parts of items, or only their number.
func askOfQueries(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Units", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if query, ok := in.Parameters.(*dynamodb.QueryInput); ok {
			asking := *query
			asking.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
			in.Parameters = &asking
		}
		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

// Take returns the counts since the last Take.
func (m *Meter) Take() Tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.tally
	m.tally = Tally{}
	if taken.Requests == nil {
		taken.Requests = make(map[string]int64)
	}
	return taken
}

// imagesCached is the most images that are cached, about 20 MB.
const imagesCached = 1 << 17

// cache holds the images of items by the hashes of their keys. It is cleared when it is full. It is safe for concurrent
// use.
type cache struct {
	seed maphash.Seed

	mu     sync.Mutex
	images map[uint64]image
}

// hash returns the hash of a key. Two keys collide with a probability of 2⁻⁶⁴.
func (c *cache) hash(partition, sort string) uint64 {
	return maphash.Comparable(c.seed, [2]string{partition, sort})
}

// get returns the cached image of an item, and whether there is one.
func (c *cache) get(k store.Key) (i image, cached bool) {
	at := c.hash(k.PK, k.SK)
	c.mu.Lock()
	defer c.mu.Unlock()
	i, cached = c.images[at]
	return i, cached
}

// swap caches the image of an item, and returns the image that was cached before, if there was one.
func (c *cache) swap(k store.Key, now image) (before image, cached bool) {
	at := c.hash(k.PK, k.SK)
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, cached = c.images[at]; !cached && len(c.images) >= imagesCached {
		clear(c.images)
	}
	c.images[at] = now
	return before, cached
}
