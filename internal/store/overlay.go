package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Overlay is a Table that writes nothing: for dry runs. It records the items that are put, and answers reads of their
// keys with them, so that what follows sees what a real run would have written. It does not examine conditions: every
// put succeeds. Queries and scans do not see the recorded items. It refuses updates.
type Overlay struct {
	Table

	mu    sync.Mutex
	items map[Key]Item
}

// NewOverlay returns an overlay of t without any item.
func NewOverlay(t Table) *Overlay { return &Overlay{Table: t, items: make(map[Key]Item)} }

// Get implements Table.
func (o *Overlay) Get(ctx context.Context, k Key, c Consistency) (Item, time.Time, error) {
	item, at, err := o.Table.Get(ctx, k, c)
	return o.over(k, item), at, err
}

// BatchGet implements Table.
func (o *Overlay) BatchGet(ctx context.Context, keys []Key, c Consistency) ([]Item, time.Time, error) {
	stored, at, err := o.Table.BatchGet(ctx, keys, c)
	found := make(map[Key]Item, len(stored))
	for _, item := range stored {
		found[ItemKey(item)] = item
	}
	items := make([]Item, 0, len(keys))
	for _, k := range keys {
		if item := o.over(k, found[k]); item != nil {
			items = append(items, item)
		}
	}
	return items, at, err
}

// Snapshot implements Table. Recorded items have all their attributes.
func (o *Overlay) Snapshot(ctx context.Context, keys []Key, attributes ...string) ([]Item, time.Time, error) {
	items, at, err := o.Table.Snapshot(ctx, keys, attributes...)
	for i := range items {
		items[i] = o.over(keys[i], items[i])
	}
	return items, at, err
}

// Write implements Table.
func (o *Overlay) Write(ctx context.Context, w Write) (time.Time, error) {
	return o.Transact(ctx, []Write{w})
}

// Transact implements Table.
func (o *Overlay) Transact(_ context.Context, writes []Write) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range writes {
		if w.Item == nil {
			return time.Time{}, errors.New("an overlay records only puts")
		}
		o.items[ItemKey(w.Item)] = w.Item
	}
	return time.Time{}, nil
}

// over returns the recorded item with that key, or the stored one.
func (o *Overlay) over(k Key, stored Item) Item {
	o.mu.Lock()
	defer o.mu.Unlock()
	if item, ok := o.items[k]; ok {
		return item
	}
	return stored
}
