package dynamo

import (
	"errors"
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
func storedBalance(k events.Pair, item ddb.Item) (repair.Stored[projections.Balance], error) {
	f, err := inspect(item, writable(decodeBalance), balanceItem)
	f.Value.Pair, f.Revision = k, revisionOf(item, table.AttrVersion)
	return f, err
}

// storedSegment inspects the item of the segment of k that ends at through. Segments have no revision.
func storedSegment(k events.Pair, through events.KSUID, item ddb.Item) (repair.Stored[projections.Segment], error) {
	f, err := inspect(item, decodeSegment, segmentItem)
	f.Value.Pair, f.Value.Through = k, through
	return f, err
}

// storedSummary inspects the item of an account's summary.
func storedSummary(account string, item ddb.Item) (repair.Stored[projections.Summary], error) {
	f, err := inspect(item, writable(decodeSummary), summaryItem)
	f.Value.Account, f.Revision = account, revisionOf(item, table.AttrVersion)
	return f, err
}

// inspect decodes an item, nil if it is absent. It encodes the result again, and reports any difference as a fault.
// Error: store.ErrNewerForm.
func inspect[T any](item ddb.Item, decode func(ddb.Item) (T, error), encode func(T) ddb.Item) (
	f repair.Stored[T], err error,
) {
	if item == nil {
		return f, nil
	}
	f.Exists = true
	f.Value, f.Fault = decode(item)
	switch {
	case errors.Is(f.Fault, store.ErrNewerForm):
		return f, f.Fault
	case f.Fault == nil:
		f.Fault = differs(item, encode(f.Value))
	}
	return f, nil
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
