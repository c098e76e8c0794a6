package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// listParts is how many parts of the table are scanned in parallel.
const listParts = 4

// lists rebuilds the lists of transactions and of accounts by metadata, and the journal. It keeps a hash of each entry
// of the journal in memory: about 20 MB for a million entries.
type lists struct {
	*rebuild.Rebuilder
	run  *Run
	seed maphash.Seed

	appending sync.Mutex

	mu      sync.Mutex
	journal map[uint64]bool                     // by the hash of an entry: whether its event was found
	newest  events.KSUID                        // of the right pages that were read
	read    events.KSUID                        // of when the last reading began: lanes are read one after the other
	altered []table.Key                         // pages that cannot be decoded, or not written by a lister
	missing map[uint64]projections.JournalEntry // by its hash
}

// lists rebuilds the lists of transactions and of accounts by metadata, and the journal, and without accounts also the
// list of open holds. It reads the journal, then scans the table, and writes entries that are missing or wrong. It
// deletes nothing: entries without a transaction become void. It is idempotent and may be interrupted. Error: that of
// ctx, or one that affects the entire table.
func (r *Run) lists(ctx context.Context) error {
	l := &lists{
		Rebuilder: r.rebuilder, run: r, seed: maphash.MakeSeed(),
		journal: make(map[uint64]bool), missing: make(map[uint64]projections.JournalEntry),
	}
	if err := l.readJournal(ctx, ""); err != nil {
		return err
	}
	running, runCtx := errgroup.WithContext(ctx)
	for part := range listParts {
		s := table.Scan{
			Part: part, Parts: listParts,
			Types: append(table.JournaledTypes(), table.Listed.Type, table.OpenHold.Type, table.Tagged.Type),
		}
		running.Go(func() error {
			return l.Scan(runCtx, s, func(p table.Page) error { return l.page(runCtx, p.Items) })
		})
	}
	if err := running.Wait(); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	if err := l.append(ctx, 1); err != nil {
		return err
	}
	return l.mendPages(ctx)
}

// page compares a page of the table with the lists and the journal.
func (l *lists) page(ctx context.Context, items []table.Item) error {
	wanted := make(map[table.Key]projections.Row)
	var listed, open, tagged []table.Item
	var holds []string
	newest := make(map[string]events.AccountChanged) // of the accounts' versions on this page
	headers := int64(0)
	for _, item := range items {
		key := table.ItemKey(item)
		switch table.TextOf(item[table.AttrType]) {
		case table.Listed.Type:
			listed = append(listed, item)
			continue
		case table.OpenHold.Type:
			open = append(open, item)
			continue
		case table.Tagged.Type:
			tagged = append(tagged, item)
			continue
		}
		e, err := table.DecodeEvent(item)
		if err != nil {
			l.run.report(rebuild.Report{Err: fmt.Errorf("item %s %s: %w", key.PK, key.SK, err)})
			continue
		}
		l.find(projections.EntryOf(e))
		if version, ok := projections.AccountVersionOf(e); ok && version.Number > newest[version.ID].Number {
			newest[version.ID] = version
		}
		if header, ok := e.(events.TransactionPosted); ok {
			headers++
			lanes, err := l.lanes(ctx, header.Recorded())
			switch {
			case endsRun(ctx, err):
				return err
			case err != nil:
				l.run.report(rebuild.Report{Err: fmt.Errorf("list transaction %s: %w", header.ID, err)})
				continue
			}
			for _, row := range projections.ListedRows(header, l.run.Indexed, lanes) {
				wanted[table.ItemKey(row.Value.(table.Item))] = row
			}
			if header.IsHold() && l.run.ListsOnly { // else the accounts' rebuild lists it
				holds = append(holds, header.ID)
			}
		}
	}
	l.run.count(func(n *Counts) { n.Transactions += headers })
	b := l.Rebuilder
	if l.run.Scope.DryRun {
		b = b.DryRun()
	}
	if err := l.wanted(ctx, b, projections.Listings, wanted); err != nil {
		return err
	}
	if err := l.openHolds(ctx, b, holds); err != nil {
		return err
	}
	if err := l.stored(ctx, b, projections.Listings, listed, l.listed, l.isWanted); err != nil {
		return err
	}
	if err := l.stored(ctx, b, projections.Holds, open, l.open, hasOwner); err != nil {
		return err
	}
	if err := l.tags(ctx, b, newest, tagged); err != nil {
		return err
	}
	return l.append(ctx, entriesPerPage)
}

// lanes returns the log of lanes, known for times up to t.
func (l *lists) lanes(ctx context.Context, t time.Time) (lanes table.Lanes, err error) {
	err = l.Retry(ctx, func() (err error) {
		lanes, err = l.run.lanes.Through(ctx, t)
		return err
	})
	return lanes, err
}

// listed returns the entry of t with a key in a list of transactions: see projections.ListedItem.
func (l *lists) listed(ctx context.Context, key table.Key, t events.Transaction) (table.Item, error) {
	lanes, err := l.lanesOf(ctx, t)
	return projections.ListedItem(key, t, lanes), err
}

// open returns the entry of t with a key in the list of open holds: see projections.HoldEntry.
func (l *lists) open(ctx context.Context, key table.Key, t events.Transaction) (table.Item, error) {
	lanes, err := l.lanesOf(ctx, t)
	return projections.HoldEntry(key, t, lanes), err
}

// lanesOf returns the log of lanes, known for a transaction. The zero one has none.
func (l *lists) lanesOf(ctx context.Context, t events.Transaction) (table.Lanes, error) {
	if t.Header.ID == "" {
		return table.Lanes{}, nil
	}
	return l.lanes(ctx, t.Header.Recorded())
}

// openHolds rebuilds the entries by expiry of holds. A hold that cannot be read is reported.
func (l *lists) openHolds(ctx context.Context, b *rebuild.Rebuilder, ids []string) error {
	for some := range slices.Chunk(ids, transactionsAtOnce) {
		found, err := l.transactions(ctx, some)
		if endsRun(ctx, err) {
			return err
		}
		if err != nil && len(some) > 1 { // of one of them
			for one := range slices.Chunk(some, 1) {
				if err := l.openHolds(ctx, b, one); err != nil {
					return err
				}
			}
			continue
		}
		if err != nil {
			l.run.report(rebuild.Report{Err: err})
			continue
		}
		wanted := make(map[table.Key]projections.Row, len(found))
		for _, h := range found {
			lanes, err := l.lanesOf(ctx, h)
			switch {
			case endsRun(ctx, err):
				return err
			case err != nil:
				l.run.report(rebuild.Report{Err: fmt.Errorf("list the hold %s: %w", h.Header.ID, err)})
				continue
			}
			row := projections.OpenHoldRow(h, lanes)
			wanted[table.ItemKey(row.Value.(table.Item))] = row
		}
		if err := l.wanted(ctx, b, projections.Holds, wanted); err != nil {
			return err
		}
	}
	return nil
}

// transactions reads transactions with their ends.
func (l *lists) transactions(ctx context.Context, ids []string) (found map[string]events.Transaction, err error) {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	err = l.Retry(ctx, func() (err error) {
		found, err = projections.TransactionsByID(ctx, l.run.table, wanted, table.Strong)
		return err
	})
	return found, err
}

// wanted rebuilds the entries that headers have in the lists of a view, unless they are stored.
func (l *lists) wanted(ctx context.Context, b *rebuild.Rebuilder, view *projections.View,
	wanted map[table.Key]projections.Row,
) error {
	for keys := range slices.Chunk(slices.Collect(maps.Keys(wanted)), table.BatchGetKeys) {
		stored := make(map[table.Key]table.Item, len(keys))
		err := l.Retry(ctx, func() error {
			items, _, err := l.run.table.BatchGet(ctx, keys, table.Strong)
			for _, item := range items {
				stored[table.ItemKey(item)] = item
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, key := range keys {
			row := wanted[key]
			if rebuild.Differs(stored[key], row.Value.(table.Item)) == nil {
				continue
			}
			if err := l.item(ctx, b, view, key, &row); err != nil {
				return err
			}
		}
	}
	return nil
}

// transactionsAtOnce is how many transactions are read in one request, each with its end.
const transactionsAtOnce = table.BatchGetKeys / 2

// hasOwner reports whether an entry has a transaction: Account or openHolds rebuilds that of a hold.
func hasOwner(becomes table.Item) bool { return !table.Read(becomes).OptionalFlag(table.AttrVoid) }

// isWanted reports whether an entry is in an indexed list: its header's page rebuilds it.
func (l *lists) isWanted(becomes table.Item) bool {
	parts, byValue := table.ListedMetadata.Parse(table.ItemKey(becomes))
	return hasOwner(becomes) && (!byValue || slices.Contains(l.run.Indexed, parts[1]))
}

// stored rebuilds stored items of a view that differ from what entry makes of their transactions. Those that are
// rebuilt elsewhere are left out. Those of malformed keys are left to the audit. A transaction that cannot be read is
// reported, and its items stay.
func (l *lists) stored(ctx context.Context, b *rebuild.Rebuilder, view *projections.View, items []table.Item,
	entry func(context.Context, table.Key, events.Transaction) (table.Item, error),
	isElsewhere func(becomes table.Item) bool,
) error {
	for some := range slices.Chunk(items, transactionsAtOnce) {
		var ids []string
		for _, item := range some {
			if t, ok := view.Owner(item); ok {
				ids = append(ids, t.Hold)
			}
		}
		found, err := l.transactions(ctx, ids)
		switch {
		case endsRun(ctx, err):
			return err
		case err != nil && len(some) > 1: // of one of them
			for one := range slices.Chunk(some, 1) {
				if err := l.stored(ctx, b, view, one, entry, isElsewhere); err != nil {
					return err
				}
			}
			continue
		case err != nil:
			l.run.report(rebuild.Report{Err: err})
			continue
		}
		for _, item := range some {
			key := table.ItemKey(item)
			t, ok := view.Owner(item)
			becomes, err := entry(ctx, key, found[t.Hold])
			switch {
			case endsRun(ctx, err):
				return err
			case err != nil:
				l.run.report(rebuild.Report{Err: fmt.Errorf("item %s %s: %w", key.PK, key.SK, err)})
				continue
			}
			if !ok || isElsewhere(becomes) || rebuild.Differs(item, becomes) == nil {
				continue
			}
			if err := l.item(ctx, b, view, key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// item rebuilds and reports an item. Error: one that ends the run.
func (l *lists) item(
	ctx context.Context, b *rebuild.Rebuilder, view *projections.View, key table.Key, known *projections.Row,
) error {
	report := b.Item(ctx, rebuild.Report{}, view, key, known, l.run.Scope.DropMissing)
	if endsRun(ctx, report.Err) {
		return report.Err
	}
	if report.Err != nil {
		report.Err = fmt.Errorf("item %s %s: %w", key.PK, key.SK, report.Err)
	}
	l.run.report(report)
	return nil
}

// endsRun reports whether an error is not about one item.
func endsRun(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || table.IsTableWide(err) || errors.Is(err, table.ErrThrottled))
}
