package memory

import (
	"context"
	"sync"
	"time"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// shardsDefault is how many shards a stream begins with.
const shardsDefault = 4

// changesKept is how many changes Since can tell of.
const changesKept = 10_000

// Options say how the store behaves; the zero Options are a store that is never behind. The functions are called with no
// lock held, and with the context of the request that they disturb.
type Options struct {
	// Now is the store's clock, which all its answers carry; nil: time.Now.
	Now func() time.Time
	// Between is called before each item of a transaction becomes visible, when it is decided already; nil, and Order too:
	// they become visible at once.
	Between func(ctx context.Context)
	// Order shuffles the order in which a transaction's items become visible; nil: that of the request.
	Order func(n int, swap func(i, j int))
	// Lag is how far behind an eventually consistent read sees the table, at most 15 minutes; nil: not at all.
	Lag func(ctx context.Context) time.Duration
	// Page is how many of n items a page of a query or scan holds. Fewer are followed by a LastEvaluatedKey. A page that
	// continues another may hold none; a first one holds one at least, as there is no key yet to go on after.
	Page func(ctx context.Context, n int) int
	// Violation is told of a write that would change, overwrite or delete an event, before it does; nil: it panics.
	Violation func(error)
	// Shards is how many a stream begins with; 0: 4.
	Shards int
	// Actions is how many a TransactWriteItems may have; 0: as in AWS.
	Actions int
}

// Store is DynamoDB in memory. It is safe for concurrent use, has no goroutine of its own and waits for nothing but its
// hooks.
type Store struct {
	between   func(context.Context)
	order     func(int, func(i, j int))
	lag       func(context.Context) time.Duration
	page      func(context.Context, int) int
	violation func(error)
	shards    int
	actions   int

	mu      sync.Mutex // guards the rest
	clock   func() time.Time
	latest  time.Time
	tables  map[string]*books
	ordered []*books // as they were made
	changes []change
	trimmed int // changes dropped from the front

	conditions map[string]condition // by their text, see condition
}

// New returns a store without tables.
func New(o Options) *Store {
	s := &Store{
		between: o.Between, order: o.Order, lag: o.Lag, page: o.Page, violation: o.Violation,
		shards: o.Shards, actions: o.Actions, clock: o.Now, tables: make(map[string]*books), conditions: make(map[string]condition),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.violation == nil {
		s.violation = func(err error) { panic(err) }
	}
	if s.shards == 0 {
		s.shards = shardsDefault
	}
	if s.actions == 0 {
		s.actions = table.TransactionActions
	}
	return s
}

// now is the store's clock, which never goes back. The lock is held.
func (s *Store) now() time.Time {
	if now := s.clock(); now.After(s.latest) {
		s.latest = now
	}
	return s.latest
}

// Change is one item that became visible.
type Change struct {
	Table         string
	Key           table.Key
	Before, After wire.Item // nil: it was absent, or deleted
	At            time.Time
}

type change struct {
	table         string
	key           table.Key
	before, after item
	at            time.Time
}

// Since returns what became visible after the first n changes of all, in order; of the newest 10,000 at least.
func (s *Store) Since(n int) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []Change
	for _, c := range s.changes[min(max(n-s.trimmed, 0), len(s.changes)):] {
		changes = append(changes, Change{c.table, c.key, c.before.lent(), c.after.lent(), c.at})
	}
	return changes
}

// changed records a change. The lock is held.
func (s *Store) changed(b *books, k table.Key, before, after item, at time.Time) {
	s.changes = append(s.changes, change{b.name, k, before, after, at})
	if drop := len(s.changes) - changesKept; drop >= changesKept {
		s.changes = append(s.changes[:0:0], s.changes[drop:]...)
		s.trimmed += drop
	}
	if b.stream != nil {
		b.stream.append(b, k, before, after, at)
	}
}

// Item returns an item as a strongly consistent read sees it, nil when it is absent, and whether a transaction that is
// decided has still to write it. With several tables, the first made counts that has it.
func (s *Store) Item(k table.Key) (found wire.Item, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.ordered {
		if r := b.base.row(k); r.current() != nil || b.busy[k] {
			return r.current().lent(), b.busy[k]
		}
	}
	return nil, false
}
