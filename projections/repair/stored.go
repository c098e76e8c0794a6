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

// chain is the stored balance of a pair with all its segments, at one version of the balance.
type chain struct {
	balance  Stored[projections.Balance]
	segments map[events.KSUID]Stored[projections.Segment] // by Through; all exist
	at       time.Time                                    // the store's clock when its balance was read
}

// readChain reads the balance of k and all its segments at one version of the balance. A query may see half of a
// transaction, so it only finds the segments, and snapshots read them. readChain also reads segments that the query did
// not see: those that must end where the base ends, or where another segment begins. A change of the balance's version
// between snapshots is a conflict.
func (b *Rebuilder) readChain(ctx context.Context, k events.Pair) (chain, error) {
	balance, _, at, err := b.snapshot(ctx, k, nil)
	if err != nil {
		return chain{}, fmt.Errorf("read balance: %w", err)
	}
	if at.IsZero() {
		return chain{}, fmt.Errorf("the store did not return its clock: %w", store.ErrUnavailable)
	}
	c := chain{balance: balance, segments: make(map[events.KSUID]Stored[projections.Segment]), at: at}
	var ends []events.KSUID // to be read
	asked := make(map[events.KSUID]bool)
	ask := func(end events.KSUID) {
		if !asked[end] {
			asked[end], ends = true, append(ends, end)
		}
	}
	for after, more := events.KSUID(""), true; more; {
		var listed []Stored[projections.Segment]
		if listed, more, err = b.segmentsAfter(ctx, k, after); err != nil {
			return chain{}, fmt.Errorf("list segments: %w", err)
		}
		for _, s := range listed {
			after = s.Value.Through
			ask(after)
		}
	}
	if base := balance.Value.Base.Through; isKSUID(base) {
		ask(base)
	}
	for len(ends) > 0 {
		some := ends[:min(len(ends), snapshotItems)]
		ends = ends[len(some):]
		again, found, _, err := b.snapshot(ctx, k, some)
		if err != nil {
			return chain{}, fmt.Errorf("read balance and segments: %w", err)
		}
		if again.Revision != balance.Revision {
			return chain{}, fmt.Errorf("balance changed from %q to %q: %w", balance.Revision, again.Revision,
				store.ErrConflict)
		}
		for i, s := range found {
			if s.Exists {
				c.segments[some[i]] = s
			}
			if after := s.Value.After; isKSUID(after) {
				ask(after)
			}
		}
	}
	return c, nil
}

func isKSUID(id events.KSUID) bool {
	_, err := events.ParseKSUID(string(id))
	return err == nil
}

// ends returns the ends of the segments, ascending, without those of strays.
func (c chain) ends() (ends []events.KSUID, strays []Stray) {
	for _, end := range slices.Sorted(maps.Keys(c.segments)) {
		if why := c.strayEnd(end); why != "" {
			pair := c.balance.Value.Pair
			strays = append(strays, Stray{store.Segment.Key(pair.Account, pair.Asset, string(end)), why})
			continue
		}
		ends = append(ends, end)
	}
	return ends, strays
}

// strayEnd returns why no segment can end at end, "" if one can.
func (c chain) strayEnd(end events.KSUID) string {
	switch {
	case !isKSUID(end):
		return "the KSUID in the segment's key is malformed"
	case end >= projections.SettledBefore(c.at, c.at): // by the store's clock alone
		return "the segment ends after the settled postings"
	}
	return ""
}

// keysOnly projects an item to its key.
var keysOnly = []string{store.AttrPK, store.AttrSK}

// scan calls each for the pages of a strongly consistent scan of the table. Errors: also those of each.
func (b *Rebuilder) scan(ctx context.Context, s store.Scan, each func(store.Page) error) error {
	s.Consistency = store.Strong
	for more := true; more; {
		var page store.Page
		err := b.retry(ctx, func() (err error) {
			page, err = b.table.Scan(ctx, s)
			return err
		})
		if err != nil {
			return err
		}
		if err := each(page); err != nil {
			return err
		}
		s.After, more = page.Next, page.Next != nil
	}
	return nil
}

// firstKey returns the first key of a partition within a range. Error: also store.ErrAbsent.
func (b *Rebuilder) firstKey(ctx context.Context, partition string, within store.Range) (store.Key, error) {
	item, err := store.First(ctx, b.retried(), store.Query{
		Partition: partition, Within: within, Consistency: store.Strong, Attributes: keysOnly,
	})
	if err != nil {
		return store.Key{}, err
	}
	return store.ItemKey(item), nil
}
