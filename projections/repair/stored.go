package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// Stored is an item of a projection as read from the table. A refold trusts stored items; a rebuild does not.
type Stored[T any] struct {
	Value    T     // as far as it could be decoded; its key is always set; Version 0: not usable
	Exists   bool  // whether the item is stored
	Fault    error // how it differs from what this version would store; nil: it does not, or is absent
	Revision projections.Revision
}

// inspect decodes an item, nil if it is absent. It encodes the result again, and reports any difference as a fault.
// setKey sets the fields that the item's key has. Error: store.ErrNewerForm.
func inspect[T any](item store.Item, form projections.Form[T], setKey func(*T)) (f Stored[T], err error) {
	defer func() { setKey(&f.Value) }()
	f.Revision = projections.RevisionOf(item, form.Counter)
	if item == nil {
		return f, nil
	}
	f.Exists = true
	f.Value, f.Fault = form.Decode(item)
	switch {
	case errors.Is(f.Fault, store.ErrNewerForm):
		return f, f.Fault
	case f.Fault == nil:
		f.Fault = differs(item, form.Item(f.Value))
	}
	return f, nil
}

// differs returns an error that names the attributes in which item differs from wanted, nil if there are none.
func differs(item, wanted store.Item) error {
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

func inspectBalance(k events.Pair, item store.Item) (Stored[projections.Balance], error) {
	return inspect(item, projections.BalanceForm, func(b *projections.Balance) { b.Pair = k })
}

// inspectSegment inspects the item of the segment of k that ends at through.
func inspectSegment(k events.Pair, through events.KSUID, item store.Item) (Stored[projections.Segment], error) {
	return inspect(item, projections.SegmentForm, func(s *projections.Segment) { s.Pair, s.Through = k, through })
}

func inspectSummary(account string, item store.Item) (Stored[projections.Summary], error) {
	return inspect(item, projections.SummaryForm, func(s *projections.Summary) { s.Account = account })
}

// snapshotItems is the maximum number of segments or balances in one snapshot, besides its first item.
const snapshotItems = store.TransactionActions - 1

// snapshot reads, in one transaction, the balance of k and its segments that end at throughs, at most snapshotItems.
// Segments are in the order of throughs. It also returns the store's clock. ErrConflict: a transaction on one of the
// items was in flight.
func (b *Rebuilder) snapshot(ctx context.Context, k events.Pair, throughs []events.KSUID) (
	balance Stored[projections.Balance], segments []Stored[projections.Segment], at time.Time, err error,
) {
	keys := make([]store.Key, len(throughs))
	for i, through := range throughs {
		keys[i] = store.Segment.Key(k.Account, k.Asset, string(through))
	}
	first, items, at, err := b.readTogether(ctx, store.Balance.Key(k.Account, k.Asset), keys)
	if err != nil {
		return balance, nil, at, err
	}
	segments = make([]Stored[projections.Segment], len(throughs))
	for i, through := range throughs {
		if segments[i], err = inspectSegment(k, through, items[i]); err != nil {
			return balance, nil, at, err
		}
	}
	balance, err = inspectBalance(k, first)
	return balance, segments, at, err
}

// snapshotAccount is snapshot for an account's summary and its balances of assets.
func (b *Rebuilder) snapshotAccount(ctx context.Context, account string, assets []string) (
	summary Stored[projections.Summary], balances []Stored[projections.Balance], at time.Time, err error,
) {
	keys := make([]store.Key, len(assets))
	for i, asset := range assets {
		keys[i] = store.Balance.Key(account, asset)
	}
	first, items, at, err := b.readTogether(ctx, store.Summary.Key(account), keys)
	if err != nil {
		return summary, nil, at, err
	}
	balances = make([]Stored[projections.Balance], len(assets))
	for i, asset := range assets {
		if balances[i], err = inspectBalance(events.Pair{Account: account, Asset: asset}, items[i]); err != nil {
			return summary, nil, at, err
		}
	}
	summary, err = inspectSummary(account, first)
	return summary, balances, at, err
}

// readTogether reads items in one transaction, nil for each that is absent, and the store's clock. A single item needs
// no transaction.
func (b *Rebuilder) readTogether(ctx context.Context, key store.Key, others []store.Key) (
	first store.Item, rest []store.Item, at time.Time, err error,
) {
	if len(others) == 0 {
		first, at, err = b.table.Get(ctx, key, store.Strong)
		return first, nil, at, err
	}
	items, at, err := b.table.Snapshot(ctx, append([]store.Key{key}, others...))
	if err != nil {
		return nil, nil, at, err
	}
	return items[0], items[1:], at, nil
}

// segmentsAfter reads a page of the segments of k that end after `after`, ascending. more reports whether the caller
// must continue after the last one. The Through of each segment is from its key, and may not be a KSUID.
func (b *Rebuilder) segmentsAfter(ctx context.Context, k events.Pair, after events.KSUID) (
	found []Stored[projections.Segment], more bool, err error,
) {
	q := store.Query{
		Partition: store.Account.PK(k.Account), Within: store.Segment.All(k.Asset).After(string(after)),
		Consistency: store.Strong,
	}
	if q.Within.Empty() {
		return nil, false, nil
	}
	page, err := store.NextPage(ctx, b.table, q)
	if err != nil {
		return nil, false, err
	}
	found = make([]Stored[projections.Segment], len(page.Items))
	for i, item := range page.Items {
		through := events.KSUID(store.LastID(store.ItemKey(item).SK))
		if found[i], err = inspectSegment(k, through, item); err != nil {
			return nil, false, err
		}
	}
	return found, page.Next != nil, nil
}
