package ddbtest

import (
	"reflect"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// WriteUnits returns the write units that changing an item from before to after consumes in the table and in those
// indexes; nil is absent. It works with whole items, independently of package meter, which sees requests only.
func WriteUnits(before, after ddb.Item, transactional bool, indexes ...table.Index) int {
	units := table.TableUnits(max(ddb.ItemBytes(before), ddb.ItemBytes(after)), transactional)
	for _, x := range indexes {
		b, a := Entry(x, before), Entry(x, after)
		moved := !reflect.DeepEqual(b[x.PartitionKey], a[x.PartitionKey]) ||
			!reflect.DeepEqual(b[x.SortKey], a[x.SortKey])
		units += table.IndexUnits(ddb.ItemBytes(b), ddb.ItemBytes(a), moved, reflect.DeepEqual(a, b))
	}
	return units
}

// Entry returns what an index holds of an item, nil if nothing.
func Entry(x table.Index, item ddb.Item) ddb.Item {
	if item[x.PartitionKey] == nil || item[x.SortKey] == nil {
		return nil
	}
	if x.Include == nil {
		return item
	}
	entry := make(ddb.Item)
	for _, names := range [][]string{{table.AttrPK, table.AttrSK, x.PartitionKey, x.SortKey}, x.Include} {
		for _, name := range names {
			if value, ok := item[name]; ok {
				entry[name] = value
			}
		}
	}
	return entry
}
