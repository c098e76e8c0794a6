// Package memdb is DynamoDB in the memory of this process, for tests and `ledger up --memory`. A Store hands out
// the SDK's own clients and answers their requests without a network, so code for DynamoDB runs on it unchanged.
//
// It is strict rather than complete. What the ledger's requests use works as in AWS, errors included. Everything else
// is refused with a ValidationException that names it.
//
// Options make it do what AWS may do at any time: show a transaction item by item, return stale data to eventually
// consistent reads, and end pages anywhere. It is deterministic: the same requests and the same decisions of its hooks
// give the same answers. A write that would change or delete an event is reported as a violation, whatever its
// condition says.
package memdb

import (
	"context"
	"slices"
	"sync"
	"time"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// shardsDefault is how many shards a stream has.
const shardsDefault = 4

// changesKept is how many changes Since and the streams have at least, and half of what they have at most, so that a
// store that is used for long doesn't grow. AWS keeps those of a day in a stream.
const changesKept = 200_000

// Options say how the store behaves. With the zero Options, it is never behind. The functions that take a context get
// that of the request that they disturb, and are called without a lock.
type Options struct {
	// Now is the store's clock, which its answers carry; nil: time.Now.
	Now func() time.Time
	// Between is called before each item of a decided transaction becomes visible. If it and Order are nil, the
	// items become visible at once.
	Between func(ctx context.Context)
	// Order shuffles the order in which the items of a transaction become visible; nil: that of the request.
	Order func(n int, swap func(i, j int))
	// Lag is how far behind an eventually consistent read sees the table, at most 15 minutes; nil: not at all.
	Lag func(ctx context.Context) time.Duration
	// Page is how many of n items a page of a query or scan holds; nil: all. If fewer, the answer has a
	// LastEvaluatedKey. The first page holds one at least.
	Page func(ctx context.Context, n int) int
	// Violation gets the write that would change or delete an event, before it is carried out; nil: it panics. It must
	// not use the store, whose lock is held.
	Violation func(error)
	// Shards is how many a stream has; 0: 4.
	Shards int
	// Actions is how many a TransactWriteItems may have; 0: as in AWS.
	Actions int
}

// Store is DynamoDB in memory. It is safe for concurrent use, has no goroutine of its own, and waits for nothing
// but its hooks.
type Store struct {
	options Options // with its defaults

	mu      sync.Mutex // guards the rest
	latest  time.Time
	tables  map[string]*tableState
	ordered []*tableState // in the order of their creation
	changes []Change
	trimmed int // changes dropped from the front
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

// now is the store's clock, which never goes back. The lock is held.
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

// Change is one item that became visible, and a record of its table's stream.
type Change struct {
	Table         string
	Key           table.Key
	Before, After ddb.Item // nil: absent
	At            time.Time
}

// Since returns the changes after the first n ones, in order. It has the newest 200,000 at least.
func (s *Store) Since(n int) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := slices.Clone(s.changes[min(max(n-s.trimmed, 0), len(s.changes)):])
	for n, c := range changes {
		changes[n].Before, changes[n].After = lend(c.Before, nil), lend(c.After, nil)
	}
	return changes
}

// changed records a change. The lock is held.
func (s *Store) changed(c Change) {
	s.changes = append(s.changes, c)
	if drop := len(s.changes) - changesKept; drop >= changesKept {
		s.changes = slices.Clone(s.changes[drop:])
		s.trimmed += drop
	}
}

// Item returns an item as a strongly consistent read sees it, nil if it is absent. busy means that a decided
// transaction has still to write it. With several tables, the first one that has the item counts.
func (s *Store) Item(k table.Key) (found ddb.Item, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.ordered {
		if i := t.row(k).current(); i != nil || t.busy[k] {
			return lend(i, nil), t.busy[k]
		}
	}
	return nil, false
}
