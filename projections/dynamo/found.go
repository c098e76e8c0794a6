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

// foundBalance returns what the item of k's balance, nil when it is absent, shows of it.
func foundBalance(k events.Pair, item ddb.Item) repair.Found[projections.Balance] {
	f := inspect(item, writable(decodeBalance), balanceItem)
	f.Value.Pair, f.Revision = k, revisionOf(item, table.AttrVersion)
	return f
}

// foundSegment returns what the item shows of the segment of k that ends at through. A segment has no revision of
// its own.
func foundSegment(k events.Pair, through events.KSUID, item ddb.Item) repair.Found[projections.Segment] {
	f := inspect(item, decodeSegment, segmentItem)
	f.Value.Pair, f.Value.Through = k, through
	return f
}

// foundSummary returns what the item shows of an account's summary.
func foundSummary(account string, item ddb.Item) repair.Found[projections.Summary] {
	f := inspect(item, writable(decodeSummary), summaryItem)
	f.Value.Account, f.Revision = account, revisionOf(item, table.AttrVersion)
	return f
}

// inspect decodes an item, nil when it is absent, and compares it with what would be stored of what was decoded.
func inspect[T any](item ddb.Item, decode func(ddb.Item) (T, error), encode func(T) ddb.Item) (f repair.Found[T]) {
	if item == nil {
		return f
	}
	f.There = true
	if f.Value, f.Fault = decode(item); f.Fault == nil {
		f.Fault = differs(item, encode(f.Value))
	}
	return f
}

// differs names the attributes of an item that are not as they would be stored.
func differs(item, wanted ddb.Item) error {
	all := maps.Clone(wanted)
	maps.Copy(all, item)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return reflect.DeepEqual(item[name], wanted[name])
	})
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%w: other than it would be stored: %s", store.ErrMalformedItem, strings.Join(names, ", "))
}
