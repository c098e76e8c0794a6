// Package meter counts what clients of one table consume: requests, items and capacity units. It computes the units
// from what was sent and received, with the cost model of package table, because DynamoDB Local reports wrong figures.
// The cost of a write depends on the item that it replaces. A meter therefore caches sizes and hashes of the items
// that it saw.
package meter

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// A Tally holds counts.
type Tally struct {
	// Requests are by the SDK's operation, failed ones included. The SDK's own retries count as one request.
	Requests     map[string]int64 `json:"requests"`
	ItemsWritten int64            `json:"items_written"`    // puts and updates that were applied
	ItemsRead    int64            `json:"items_read"`       // items found; absent ones are not counted
	WriteUnits   int64            `json:"write_units"`      // of the table and its indexes
	ReadHalves   int64            `json:"read_unit_halves"` // in halves of a read unit
	// Guessed counts items whose units are estimates, because the item before the write, or all of an item that was
	// read in part, was not known.
	Guessed int64 `json:"guessed"`
}

// Total is the number of requests.
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

// Beside returns a meter of the same table for another client. Its counts are its own, the cache is shared.
func (m *Meter) Beside() *Meter {
	return &Meter{table: m.table, cache: m.cache}
}

// Count is a client option: the client's requests are counted.
func (m *Meter) Count(o *dynamodb.Options) {
	ddb.Observe("Meter", func(ctx context.Context, in, out any, err error) {
		t := Tally{Requests: map[string]int64{middleware.GetOperationName(ctx): 1}}
		m.countWrites(&t, in, err)
		m.countReads(&t, in, out)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.tally.Add(t)
	})(o)
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

// imagesCached is the most images that are cached: many seconds' writes, in some twenty megabytes.
const imagesCached = 1 << 17

// cache holds the images of items by hashes of their keys. When it is full it begins anew. It is safe for concurrent
// use.
type cache struct {
	seed maphash.Seed

	mu     sync.Mutex
	images map[uint64]image
}

// hash returns the hash of two keys, of which two pairs have the same once in 2⁶⁴.
func (c *cache) hash(partition, sort string) uint64 {
	return maphash.Comparable(c.seed, [2]string{partition, sort})
}

// get returns an item's image, and whether it is cached.
func (c *cache) get(k table.Key) (i image, cached bool) {
	at := c.hash(k.PK, k.SK)
	c.mu.Lock()
	defer c.mu.Unlock()
	i, cached = c.images[at]
	return i, cached
}

// swap caches an item as it is now, and returns it as it was cached before, if it was.
func (c *cache) swap(k table.Key, now image) (before image, cached bool) {
	at := c.hash(k.PK, k.SK)
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, cached = c.images[at]; !cached && len(c.images) >= imagesCached {
		clear(c.images)
	}
	c.images[at] = now
	return before, cached
}
