package storetest

import (
	"reflect"

	"ledger.example/internal/store"
)

// WriteUnits returns the write units that changing an item from before to after consumes in the table and in those
// indexes; nil is absent. It works with whole items, independently of package meter, which sees requests only.
func WriteUnits(before, after store.Item, transactional bool, indexes ...store.Index) int {
	units := store.TableUnits(max(store.SizeOf(before), store.SizeOf(after)), transactional)
	for _, x := range indexes {
		b, a := Entry(x, before), Entry(x, after)
		moved := !reflect.DeepEqual(b[x.PartitionKey], a[x.PartitionKey]) ||
			!reflect.DeepEqual(b[x.SortKey], a[x.SortKey])
		units += store.IndexUnits(store.SizeOf(b), store.SizeOf(a), moved, reflect.DeepEqual(a, b))
	}
	return units
}

// Entry returns what an index holds of an item, nil if nothing.
func Entry(x store.Index, item store.Item) store.Item {
	if item[x.PartitionKey] == nil || item[x.SortKey] == nil {
		return nil
	}
	if x.Include == nil {
		return item
	}
	entry := make(store.Item)
	for _, names := range [][]string{{store.AttrPK, store.AttrSK, x.PartitionKey, x.SortKey}, x.Include} {
		for _, name := range names {
			if value, ok := item[name]; ok {
				entry[name] = value
			}
		}
	}
	return entry
}
