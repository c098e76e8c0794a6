package repair

import (
	"context"

	"ledger.example/internal/store"
)

// keysOnly projects an item to its key.
var keysOnly = []string{store.AttrPK, store.AttrSK}

// scan calls each for the pages of a strongly consistent scan of the table. Errors: also those of each.
func (b *Rebuilder) scan(ctx context.Context, s store.Scan, each func(store.Page) error) error {
	s.Consistency = store.Strong
	for more := true; more; {
		var page store.Page
		err := b.retry(ctx, func() (err error) {
			page, err = b.table.Scan(ctx, s)
			return err
		})
		if err != nil {
			return err
		}
		if err := each(page); err != nil {
			return err
		}
		s.After, more = page.Next, page.Next != nil
	}
	return nil
}

// firstKey returns the first key of a partition within a range. Error: also store.ErrAbsent.
func (b *Rebuilder) firstKey(ctx context.Context, partition string, within store.Range) (store.Key, error) {
	item, err := store.First(ctx, b.retried(), store.Query{
		Partition: partition, Within: within, Consistency: store.Strong, Attributes: keysOnly,
	})
	if err != nil {
		return store.Key{}, err
	}
	return store.ItemKey(item), nil
}
