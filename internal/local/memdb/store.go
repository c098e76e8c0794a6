// Package memdb is an in-memory DynamoDB for tests and `ledger up --memory`. A Store returns clients of the SDK and
// answers their requests without a network, so code for DynamoDB runs on it unchanged.
//
// It is strict rather than complete. Features that the ledger uses behave as in AWS, including their errors. A request
// with any other feature fails with a ValidationException that names the feature.
//
// Options enable behavior that AWS may show at any time: the items of a transaction become visible one by one,
// eventually consistent reads return stale data, and pages end anywhere. The store is deterministic: the same requests
// and the same results of its hooks give the same answers. It reports every write that would change or delete an event
// as a violation.
package memdb

import (
	"context"
	"sync"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/table"
)

// shardsDefault is the default of Options.Shards.
const shardsDefault = 4

// changesKept bounds the changes in memory while no one reads the streams: Since and the streams then have at least the
// newest changesKept changes, and at most twice that number. Otherwise they have those that a reader has not read. AWS
// keeps the changes of 24 hours in a stream.
const changesKept = 200_000

// Options of a store. With the zero Options all reads are current. Hooks with a context get that of the request, and
// are called without a lock.
type Options struct {
	// Now is the store's clock, for the Date of replies and the times of changes; nil: time.Now.
	Now func() time.Time
	// Between is called before each item of a committed transaction becomes visible. If Between and Order are nil, all
	// items become visible at once.
	Between func(ctx context.Context)
	// Order shuffles the order in which the items of a transaction become visible; nil: the order of the request.
	Order func(n int, swap func(i, j int))
	// Lag is the age of the data that an eventually consistent read sees, at most 15 minutes; nil: 0.
	Lag func(ctx context.Context) time.Duration
	// Page returns how many of n items a page of a query or scan has; nil: all. If it has fewer, the answer has a
	// LastEvaluatedKey. The first page has at least one item.
	Page func(ctx context.Context, n int) int
	// Violation is called before a write that changes or deletes an event; nil: the write panics. It must not use the
	// store, whose lock is held.
	Violation func(error)
	// Shards is the number of shards of a stream; 0: 4.
	Shards int
	// Actions is the maximum number of actions of a TransactWriteItems; 0: as in AWS.
	Actions int
}

// Store is an in-memory DynamoDB. It is safe for concurrent use. It starts no goroutines, and blocks only in its hooks
// and for readers of its streams that are far behind: see readers.
type Store struct {
	options Options // with the defaults

	mu      sync.Mutex // guards the rest
	latest  time.Time
	tables  map[string]*tableState
	ordered []*tableState // in the order of creation
	changes []change
	trimmed int // changes dropped from the front
	readers readers

	replied  time.Time           // the second of the latest reply
	metadata middleware.Metadata // of that reply
}

// New returns a store without tables.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Violation == nil {
		o.Violation = func(err error) { panic(err) }
	}
	if o.Shards == 0 {
		o.Shards = shardsDefault
	}
	if o.Actions == 0 {
		o.Actions = table.TransactionActions
	}
	return &Store{options: o, tables: make(map[string]*tableState)}
}

// now returns the time of the store's clock, which never goes back. The lock is held.
func (s *Store) now() time.Time {
	if now := s.options.Now(); now.After(s.latest) {
		s.latest = now
	}
	return s.latest
}

// time is now without the lock.
func (s *Store) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// change is a Change as the store keeps it.
type change struct {
	table         *tableState
	key           table.Key
	before, after packed
	at            time.Time
	shard         int
	shown         *streamtypes.Record // as a reader got it, for the next one
}

// Change is a change of an item, and a record of its table's stream.
type Change struct {
	Table         string
	Key           table.Key
	Before, After table.Item // nil: missing
	At            time.Time
}

// Since returns the changes after the first n changes, in order. Of a store whose streams no one reads, at least the
// newest 200,000 are available.
func (s *Store) Since(n int) (all []Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.changes[min(max(n-s.trimmed, 0), len(s.changes)):] {
		all = append(all, Change{c.table.name, c.key, c.before.item(nil), c.after.item(nil), c.at})
	}
	return all
}

// recordChange adds a change to the streams. The lock is held.
func (s *Store) recordChange(c change) {
	c.shard = int(hash(c.key.PK+"\x00"+c.key.SK) % uint64(s.options.Shards))
	s.changes = append(s.changes, c)
	s.drop()
}

// Item returns an item as a strongly consistent read sees it, or nil if there is none. busy means that the write of a
// committed transaction is not visible yet. With several tables, the first one that has the item counts.
func (s *Store) Item(k table.Key) (found table.Item, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.ordered {
		if i := t.row(k).current(); i != "" || t.busy[k] {
			return i.item(nil), t.busy[k]
		}
	}
	return nil, false
}
