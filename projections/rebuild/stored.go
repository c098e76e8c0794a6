package rebuild

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
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Stored is an item of a projection as read from the table. A refold trusts stored items; a rebuild does not.
type Stored[T any] struct {
	Value    T     // as far as it could be decoded; its key is always set; Version 0: not usable
	Exists   bool  // whether the item is stored
	Fault    error // how it differs from what this version would store; nil: it does not, or is absent
	Revision projections.Revision
}

// Inspect decodes the item of a key, nil if it is absent. It encodes the result again, and reports any difference as a
// fault. Error: table.ErrNewerForm.
func Inspect[T any](key table.Key, item table.Item, form projections.Form[T]) (f Stored[T], err error) {
	f.Value, f.Revision = form.Bare(key, projections.VersionOf(item)), projections.RevisionOf(item, form.Counter)
	if item == nil {
		return f, nil
	}
	value, err := form.Decode(item)
	switch f.Exists, f.Fault = true, err; {
	case errors.Is(err, table.ErrNewerForm):
		return f, err
	case err == nil:
		f.Value, f.Fault = value, Differs(item, form.Item(value))
	}
	return f, nil
}

// Differs returns an error that names the attributes in which item differs from wanted, nil if there are none.
func Differs(item, wanted table.Item) error {
	all := maps.Clone(wanted)
	maps.Copy(all, item)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return reflect.DeepEqual(item[name], wanted[name])
	})
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%w: differs from what this version would store: %s", table.ErrMalformedItem,
		strings.Join(names, ", "))
}

// snapshotItems is the maximum number of other items in one snapshot.
const snapshotItems = table.TransactionActions - 1

// snapshot reads an item and at most snapshotItems others in one transaction. It also returns the store's clock.
// ErrConflict: a transaction on one of the items was in flight. A single item needs no transaction.
func snapshot[A, B any](ctx context.Context, t table.Table, key table.Key, form projections.Form[A],
	others []table.Key, otherForm projections.Form[B],
) (first Stored[A], rest []Stored[B], at time.Time, err error) {
	items := make([]table.Item, 1)
	if len(others) == 0 {
		items[0], at, err = t.Get(ctx, key, table.Strong)
	} else {
		items, at, err = t.Snapshot(ctx, append([]table.Key{key}, others...))
	}
	if err != nil {
		return first, nil, at, err
	}
	rest = make([]Stored[B], len(others))
	for i, other := range others {
		if rest[i], err = Inspect(other, items[i+1], otherForm); err != nil {
			return first, nil, at, err
		}
	}
	first, err = Inspect(key, items[0], form)
	return first, rest, at, err
}

// balanceAnd is snapshot for the balance of k and its segments that end at throughs, in this order.
func (b *Rebuilder) balanceAnd(ctx context.Context, k events.Pair, throughs ...events.KSUID) (
	Stored[projections.Balance], []Stored[projections.Segment], time.Time, error,
) {
	keys := make([]table.Key, len(throughs))
	for i, through := range throughs {
		keys[i] = table.Segment.Key(k.Account, k.Asset, string(through))
	}
	balance := table.Balance.Key(k.Account, k.Asset)
	return snapshot(ctx, b.table, balance, projections.BalanceForm, keys, projections.SegmentForm)
}

// summaryAnd is snapshot for an account's summary and its balances of assets.
func (b *Rebuilder) summaryAnd(ctx context.Context, account string, assets ...string) (
	Stored[projections.Summary], []Stored[projections.Balance], time.Time, error,
) {
	keys := make([]table.Key, len(assets))
	for i, asset := range assets {
		keys[i] = table.Balance.Key(account, asset)
	}
	summary := table.Summary.Key(account)
	return snapshot(ctx, b.table, summary, projections.SummaryForm, keys, projections.BalanceForm)
}

// segments selects the segments of k that end after `after`. The ends in their keys may be no KSUIDs.
func segments(k events.Pair, after events.KSUID) table.Query {
	return table.Query{
		Partition: table.Account.PK(k.Account), Within: table.Segment.All(k.Asset).After(string(after)),
		Consistency: table.Strong, Attributes: keysOnly,
	}
}

func endOf(item table.Item) events.KSUID { return events.KSUID(table.LastID(table.ItemKey(item).SK)) }

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
	balance, _, at, err := b.balanceAnd(ctx, k)
	if err != nil {
		return chain{}, fmt.Errorf("read balance: %w", err)
	}
	if at.IsZero() {
		return chain{}, fmt.Errorf("the store did not return its clock: %w", table.ErrUnavailable)
	}
	c := chain{balance: balance, segments: make(map[events.KSUID]Stored[projections.Segment]), at: at}
	var ends []events.KSUID // to be read
	asked := make(map[events.KSUID]bool)
	ask := func(end events.KSUID) {
		if !asked[end] {
			asked[end], ends = true, append(ends, end)
		}
	}
	for item, err := range table.All(ctx, b.table, segments(k, "")) {
		if err != nil {
			return chain{}, fmt.Errorf("list segments: %w", err)
		}
		ask(endOf(item))
	}
	if base := balance.Value.Base.Through; isKSUID(base) {
		ask(base)
	}
	for len(ends) > 0 {
		some := ends[:min(len(ends), snapshotItems)]
		ends = ends[len(some):]
		again, found, _, err := b.balanceAnd(ctx, k, some...)
		if err != nil {
			return chain{}, fmt.Errorf("read balance and segments: %w", err)
		}
		if again.Revision != balance.Revision {
			return chain{}, fmt.Errorf("balance changed: %w", table.ErrConflict)
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
			strays = append(strays, Stray{table.Segment.Key(pair.Account, pair.Asset, string(end)), why})
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
var keysOnly = []string{table.AttrPK, table.AttrSK}

// Scan calls each for the pages of a strongly consistent scan of the table. Errors: also those of each.
func (b *Rebuilder) Scan(ctx context.Context, s table.Scan, each func(table.Page) error) error {
	s.Consistency = table.Strong
	for more := true; more; {
		var page table.Page
		err := b.Retry(ctx, func() (err error) {
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

// firstKey returns the first key of a partition within a range. Error: also table.ErrAbsent.
func (b *Rebuilder) firstKey(ctx context.Context, partition string, within table.Range) (table.Key, error) {
	item, err := table.First(ctx, b.Retried(), table.Query{
		Partition: partition, Within: within, Consistency: table.Strong, Attributes: keysOnly,
	})
	if err != nil {
		return table.Key{}, err
	}
	return table.ItemKey(item), nil
}
