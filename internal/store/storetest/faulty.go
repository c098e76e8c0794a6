// Package storetest injects faults into a table, for tests.
package storetest

import (
	"context"
	"sync"
	"time"

	"ledger.example/internal/store"
)

// Call is a call of a method of store.Table, with its arguments.
type Call struct {
	Method      string // such as "Get"
	Keys        []store.Key
	Consistency store.Consistency // of a read
	Query       store.Query
	Scan        store.Scan
	Writes      []store.Write // one for Write
	Found       *[]store.Item // of a query: what it returned, after it was applied
}

// Around handles a call. apply makes it on the decorated table. A call fails before it is applied if Around returns an
// error without apply, and after it if Around calls apply first. It may also wait, or call apply after it returned.
type Around func(ctx context.Context, c Call, apply func(context.Context) error) error

// Faulty is a table that passes every call to Around. It is safe for concurrent use if Around is.
type Faulty struct {
	Table  store.Table
	Around Around
}

var _ store.Table = (*Faulty)(nil)

// reply is the result of a call.
type reply[T any] struct {
	value T
	at    time.Time
}

// around makes a call. Its result is that of apply if Around returns the error of apply, else only the error.
func around[T any](
	ctx context.Context, f *Faulty, c Call, do func(context.Context) (T, time.Time, error),
) (T, time.Time, error) {
	var mu sync.Mutex // apply may be called when nobody waits for it any more
	var got reply[T]
	var applied error
	err := f.Around(ctx, c, func(ctx context.Context) error {
		value, at, err := do(ctx)
		mu.Lock()
		defer mu.Unlock()
		got, applied = reply[T]{value, at}, err
		return err
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil && err != applied { //nolint:errorlint // the same error, not one that wraps it
		got = reply[T]{}
	}
	return got.value, got.at, err
}

// Get implements store.Table.
func (f *Faulty) Get(ctx context.Context, k store.Key, c store.Consistency) (store.Item, time.Time, error) {
	return around(ctx, f, Call{Method: "Get", Keys: []store.Key{k}, Consistency: c},
		func(ctx context.Context) (store.Item, time.Time, error) { return f.Table.Get(ctx, k, c) })
}

// BatchGet implements store.Table.
func (f *Faulty) BatchGet(
	ctx context.Context, keys []store.Key, c store.Consistency,
) ([]store.Item, time.Time, error) {
	return around(ctx, f, Call{Method: "BatchGet", Keys: keys, Consistency: c},
		func(ctx context.Context) ([]store.Item, time.Time, error) { return f.Table.BatchGet(ctx, keys, c) })
}

// Snapshot implements store.Table.
func (f *Faulty) Snapshot(
	ctx context.Context, keys []store.Key, attributes ...string,
) ([]store.Item, time.Time, error) {
	return around(ctx, f, Call{Method: "Snapshot", Keys: keys, Consistency: store.Strong},
		func(ctx context.Context) ([]store.Item, time.Time, error) {
			return f.Table.Snapshot(ctx, keys, attributes...)
		})
}

// Query implements store.Table.
func (f *Faulty) Query(ctx context.Context, q store.Query) (store.Page, error) {
	var found []store.Item
	page, _, err := around(ctx, f, Call{Method: "Query", Query: q, Consistency: q.Consistency, Found: &found},
		func(ctx context.Context) (store.Page, time.Time, error) {
			page, err := f.Table.Query(ctx, q)
			found = page.Items
			return page, page.At, err
		})
	return page, err
}

// Scan implements store.Table.
func (f *Faulty) Scan(ctx context.Context, s store.Scan) (store.Page, error) {
	page, _, err := around(ctx, f, Call{Method: "Scan", Scan: s, Consistency: s.Consistency},
		func(ctx context.Context) (store.Page, time.Time, error) {
			page, err := f.Table.Scan(ctx, s)
			return page, page.At, err
		})
	return page, err
}

// Write implements store.Table.
func (f *Faulty) Write(ctx context.Context, w store.Write) (time.Time, error) {
	return f.write(ctx, Call{Method: "Write", Writes: []store.Write{w}},
		func(ctx context.Context) (time.Time, error) { return f.Table.Write(ctx, w) })
}

// Transact implements store.Table.
func (f *Faulty) Transact(ctx context.Context, writes []store.Write) (time.Time, error) {
	return f.write(ctx, Call{Method: "Transact", Writes: writes},
		func(ctx context.Context) (time.Time, error) { return f.Table.Transact(ctx, writes) })
}

func (f *Faulty) write(ctx context.Context, c Call, do func(context.Context) (time.Time, error)) (time.Time, error) {
	_, at, err := around(ctx, f, c, func(ctx context.Context) (struct{}, time.Time, error) {
		at, err := do(ctx)
		return struct{}{}, at, err
	})
	return at, err
}
