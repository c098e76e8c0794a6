package memdb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"ledger.example/internal/table"
)

// use counts the write units that the write consumes, in the table and in each index. AWS documents that a single write
// whose condition fails consumes those of the existing item. It does not document the units of a cancelled transaction:
// it is counted like one that succeeded, without those of the indexes.
func (w *write) use(used *table.Used, isTransaction, isRefused bool) {
	count := func(index, key string, units int) {
		used.Count(table.PartitionKey{Index: index, Key: key}, table.Units{WriteUnits: int64(units)})
	}
	before, after := w.before.size(nil), w.after.size(nil)
	switch {
	case isRefused && isTransaction:
		count("", w.key.PK, table.TableUnits(max(before, w.item.size(nil)), true))
		return
	case isRefused:
		count("", w.key.PK, table.TableUnits(before, false))
		return
	}
	count("", w.key.PK, table.TableUnits(max(before, after), isTransaction))
	for _, x := range w.table.indexes[1:] {
		if was, is := x.bytes(w.before), x.bytes(w.after); was > 0 || is > 0 {
			moved, isSame := x.differ(w.before, w.after)
			shown := w.after
			if is == 0 {
				shown = w.before
			}
			count(x.name, shown.get(x.partitionKey).text, table.IndexUnits(was, is, moved, isSame))
		}
	}
}

// bytes returns the size of an item's entry in the index, 0 if it has none.
func (x *index) bytes(i packed) int {
	if _, ok := x.entryFor(nil, i); !ok {
		return 0
	}
	return i.size(x.projected)
}

// differ reports whether two versions of an item have different keys in the index, and whether it shows them alike.
func (x *index) differ(before, after packed) (moved, isSame bool) {
	moved = before.get(x.partitionKey) != after.get(x.partitionKey) || before.get(x.sortKey) != after.get(x.sortKey)
	if x.projected == nil {
		return moved, before == after
	}
	for name := range x.projected {
		if before.get(name) != after.get(name) {
			return moved, false
		}
	}
	return moved, true
}

func readKind(isStrong *bool) table.ReadKind {
	if aws.ToBool(isStrong) {
		return table.StrongRead
	}
	return table.EventualRead
}

// useRead counts a read of a key ("": a scan), and returns what it consumes in halves of a read unit.
func useRead(ctx context.Context, index, key string, bytes int, kind table.ReadKind) int {
	halves := table.ReadHalves(bytes, kind)
	if used := table.UsedOf(ctx); used != nil {
		used.Count(table.PartitionKey{Index: index, Key: key}, table.Units{ReadHalves: int64(halves)})
	}
	return halves
}
