package memdb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"ledger.example/internal/table"
)

// units returns the write units that the write consumes. AWS documents that a single write whose condition fails
// consumes those of the existing item. It does not document the units of a cancelled transaction: it is counted like
// one that succeeded, without those of the indexes.
func (w *write) units(isTransaction, isRefused bool) int {
	before, after := w.before.size(nil), w.after.size(nil)
	switch {
	case isRefused && isTransaction:
		return table.TableUnits(max(before, w.item.size(nil)), true)
	case isRefused:
		return table.TableUnits(before, false)
	}
	units := table.TableUnits(max(before, after), isTransaction)
	for _, x := range w.table.indexes[1:] {
		if was, is := x.bytes(w.before), x.bytes(w.after); was > 0 || is > 0 {
			moved, isSame := x.differ(w.before, w.after)
			units += table.IndexUnits(was, is, moved, isSame)
		}
	}
	return units
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

// useRead counts a read, and returns what it consumes in halves of a read unit.
func useRead(ctx context.Context, bytes int, kind table.ReadKind) int {
	halves := table.ReadHalves(bytes, kind)
	if used := table.UsedOf(ctx); used != nil {
		used.ReadHalves += int64(halves)
	}
	return halves
}
