package dynamo

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// storedBalance inspects the item of k's balance, nil if it is absent.
func storedBalance(k events.Pair, item ddb.Item) repair.Stored[projections.Balance] {
	f := inspect(item, writable(decodeBalance), balanceItem)
	f.Value.Pair, f.Revision = k, revisionOf(item, table.AttrVersion)
	return f
}

// storedSegment inspects the item of the segment of k that ends at through. Segments have no revision.
func storedSegment(k events.Pair, through events.KSUID, item ddb.Item) repair.Stored[projections.Segment] {
	f := inspect(item, decodeSegment, segmentItem)
	f.Value.Pair, f.Value.Through = k, through
	return f
}

// storedSummary inspects the item of an account's summary.
func storedSummary(account string, item ddb.Item) repair.Stored[projections.Summary] {
	f := inspect(item, writable(decodeSummary), summaryItem)
	f.Value.Account, f.Revision = account, revisionOf(item, table.AttrVersion)
	return f
}

// inspect decodes an item, nil if it is absent. It encodes the result again, and reports any difference as a fault.
func inspect[T any](item ddb.Item, decode func(ddb.Item) (T, error), encode func(T) ddb.Item) (f repair.Stored[T]) {
	if item == nil {
		return f
	}
	f.Exists = true
	if f.Value, f.Fault = decode(item); f.Fault == nil {
		f.Fault = differs(item, encode(f.Value))
	}
	return f
}

// differs returns an error that names the attributes in which item differs from wanted, nil if there are none.
func differs(item, wanted ddb.Item) error {
	all := maps.Clone(wanted)
	maps.Copy(all, item)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return reflect.DeepEqual(item[name], wanted[name])
	})
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%w: differs from what this version would store: %s", store.ErrMalformedItem,
		strings.Join(names, ", "))
}
