package table

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"
)

// Overlay is a Table that writes nothing: for dry runs. It records the items that are put, and answers reads of their
// keys with them, so that what follows sees what a real run would have written. It does not examine conditions: every
// put succeeds. Queries and scans do not see the recorded items. It refuses updates.
//
// A recorded item counts until somebody else writes the stored one: beside other items that are newer, it would be old.
type Overlay struct {
	Table

	mu    sync.Mutex
	items map[Key]Item
	under map[Key]Item // the stored items, as last read before a put; nil: absent
}

// NewOverlay returns an overlay of t without any item.
func NewOverlay(t Table) *Overlay {
	return &Overlay{Table: t, items: make(map[Key]Item), under: make(map[Key]Item)}
}

// Get implements Table.
func (o *Overlay) Get(ctx context.Context, k Key, c Consistency) (Item, time.Time, error) {
	item, at, err := o.Table.Get(ctx, k, c)
	if err != nil {
		return nil, at, err
	}
	return o.over(k, item), at, err
}

// BatchGet implements Table.
func (o *Overlay) BatchGet(ctx context.Context, keys []Key, c Consistency) ([]Item, time.Time, error) {
	stored, at, err := o.Table.BatchGet(ctx, keys, c)
	if err != nil {
		return nil, at, err
	}
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

// Snapshot implements Table. It refuses attributes.
func (o *Overlay) Snapshot(ctx context.Context, keys []Key, attributes ...string) ([]Item, time.Time, error) {
	if len(attributes) > 0 {
		return nil, time.Time{}, errors.New("an overlay reads only whole items")
	}
	items, at, err := o.Table.Snapshot(ctx, keys)
	if err != nil {
		return nil, at, err
	}
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

// over returns the recorded item with that key, or the stored one, which was read in full.
func (o *Overlay) over(k Key, stored Item) Item {
	o.mu.Lock()
	defer o.mu.Unlock()
	item, isRecorded := o.items[k]
	under, isKnown := o.under[k]
	if isRecorded && (!isKnown || reflect.DeepEqual(under, stored)) {
		return item
	}
	delete(o.items, k)
	o.under[k] = stored
	return stored
}
