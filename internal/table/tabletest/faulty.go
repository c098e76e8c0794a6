// Package tabletest injects faults into a table, for tests.
package tabletest

import (
	"context"
	"sync"
	"time"

	"ledger.example/internal/table"
)

// Call is a call of a method of table.Table, with its arguments.
type Call struct {
	Method      string // such as "Get"
	Keys        []table.Key
	Consistency table.Consistency // of a read
	Query       table.Query
	Scan        table.Scan
	Writes      []table.Write // one for Write
	Found       *[]table.Item // of a query: what it returned, after it was applied
}

// Around handles a call. apply makes it on the decorated table. A call fails before it is applied if Around returns an
// error without apply, and after it if Around calls apply first. It may also wait, or call apply after it returned.
type Around func(ctx context.Context, c Call, apply func(context.Context) error) error

// Faulty is a table that passes every call to Around. It is safe for concurrent use if Around is.
type Faulty struct {
	Table  table.Table
	Around Around
}

var _ table.Table = (*Faulty)(nil)

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

// Get implements table.Table.
func (f *Faulty) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	return around(ctx, f, Call{Method: "Get", Keys: []table.Key{k}, Consistency: c},
		func(ctx context.Context) (table.Item, time.Time, error) { return f.Table.Get(ctx, k, c) })
}

// BatchGet implements table.Table.
func (f *Faulty) BatchGet(
	ctx context.Context, keys []table.Key, c table.Consistency,
) ([]table.Item, time.Time, error) {
	return around(ctx, f, Call{Method: "BatchGet", Keys: keys, Consistency: c},
		func(ctx context.Context) ([]table.Item, time.Time, error) { return f.Table.BatchGet(ctx, keys, c) })
}

// Snapshot implements table.Table.
func (f *Faulty) Snapshot(
	ctx context.Context, keys []table.Key, attributes ...string,
) ([]table.Item, time.Time, error) {
	return around(ctx, f, Call{Method: "Snapshot", Keys: keys, Consistency: table.Strong},
		func(ctx context.Context) ([]table.Item, time.Time, error) {
			return f.Table.Snapshot(ctx, keys, attributes...)
		})
}

// Query implements table.Table.
func (f *Faulty) Query(ctx context.Context, q table.Query) (table.Page, error) {
	var found []table.Item
	page, _, err := around(ctx, f, Call{Method: "Query", Query: q, Consistency: q.Consistency, Found: &found},
		func(ctx context.Context) (table.Page, time.Time, error) {
			page, err := f.Table.Query(ctx, q)
			found = page.Items
			return page, page.At, err
		})
	return page, err
}

// Scan implements table.Table.
func (f *Faulty) Scan(ctx context.Context, s table.Scan) (table.Page, error) {
	page, _, err := around(ctx, f, Call{Method: "Scan", Scan: s, Consistency: s.Consistency},
		func(ctx context.Context) (table.Page, time.Time, error) {
			page, err := f.Table.Scan(ctx, s)
			return page, page.At, err
		})
	return page, err
}

// Write implements table.Table.
func (f *Faulty) Write(ctx context.Context, w table.Write) (time.Time, error) {
	return f.write(ctx, Call{Method: "Write", Writes: []table.Write{w}},
		func(ctx context.Context) (time.Time, error) { return f.Table.Write(ctx, w) })
}

// Transact implements table.Table.
func (f *Faulty) Transact(ctx context.Context, writes []table.Write) (time.Time, error) {
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
