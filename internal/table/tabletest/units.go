package tabletest

import "ledger.example/internal/table"

// Entry returns what an index holds of an item, nil if nothing.
func Entry(x table.Index, item table.Item) table.Item {
	if item[x.PartitionKey] == nil || item[x.SortKey] == nil {
		return nil
	}
	if x.Include == nil {
		return item
	}
	entry := make(table.Item)
	for _, names := range [][]string{{table.AttrPK, table.AttrSK, x.PartitionKey, x.SortKey}, x.Include} {
		for _, name := range names {
			if value, ok := item[name]; ok {
				entry[name] = value
			}
		}
	}
	return entry
}
