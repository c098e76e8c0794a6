package storetest

import "ledger.example/internal/store"

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
