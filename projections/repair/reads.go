package repair

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// keysOnly projects an item to its key.
var keysOnly = []string{store.AttrPK, store.AttrSK}

// accounts scans one page of the table and returns the accounts that have items on it, unordered. The page may contain
// no accounts, and other pages may name the same ones. from is nil for the first page, next is nil after the last. read
// counts the items.
func (b *Rebuilder) accounts(ctx context.Context, from store.Item) (
	accounts []string, read int, next store.Item, err error,
) {
	page, err := b.table.Scan(ctx, store.Scan{After: from, Attributes: keysOnly, Consistency: store.Strong})
	if err != nil {
		return nil, 0, nil, err
	}
	last := ""
	for _, item := range page.Items {
		// A scan reads one partition after the other.
		if account, ok := store.Account.Owner(store.ItemKey(item)); ok && account != last {
			accounts = append(accounts, account)
			last = account
		}
	}
	return accounts, page.Count, page.Next, nil
}

// firstKey returns the first key of a partition within a range. Error: also store.ErrAbsent.
func (b *Rebuilder) firstKey(ctx context.Context, partition string, within store.Range) (store.Key, error) {
	item, err := store.First(ctx, b.table, store.Query{
		Partition: partition, Within: within, Consistency: store.Strong, Attributes: keysOnly,
	})
	if err != nil {
		return store.Key{}, err
	}
	return store.ItemKey(item), nil
}

const groupsPage = 1000

// groupsAfter lists a page of the groups after `after` ("": from the first), by id. It is eventually consistent. next
// is the group to continue after, "" at the end.
func (b *Rebuilder) groupsAfter(ctx context.Context, after string) (groups []string, next string, err error) {
	listed, err := projections.NewLists(b.table).Groups(ctx, "", projections.Slice{After: after, Limit: groupsPage})
	for _, g := range listed.Items {
		groups = append(groups, g.ID)
	}
	return groups, listed.Next, err
}

// listable has the transactions and list entries in one page of the table.
type listable struct {
	headers []events.TransactionPosted
	ends    []events.HoldEnded
	entries map[store.Key]Stored[projections.ListedEntry]
	expiry  map[store.Key]string // the holds that entries by expiry name, by the keys of these entries
	faults  []error              // of events that cannot be decoded
	read    int                  // items scanned
	next    store.Item           // where the next page begins; nil after the last
}

// readListable scans a page of one of `parts` parts of the table. from is nil for the first page.
func readListable(ctx context.Context, t store.Table, part, parts int, from store.Item) (l listable, err error) {
	page, err := t.Scan(ctx, store.Scan{
		Part: part, Parts: parts, After: from, Consistency: store.Strong,
		Types: append(transactionEventNames(), store.Listed.Type, store.OpenHold.Type),
	})
	if err != nil {
		return l, err
	}
	l.entries, l.expiry = make(map[store.Key]Stored[projections.ListedEntry]), make(map[store.Key]string)
	l.read, l.next = page.Count, page.Next
	for _, item := range page.Items {
		if err := l.add(item); err != nil {
			return l, err
		}
	}
	return l, nil
}

// transactionEventNames returns the event names of headers and of ends of holds.
func transactionEventNames() (names []string) {
	for _, e := range []events.Event{
		events.TransactionPosted{}, events.TransactionPosted{ExpiresAt: time.Unix(0, 0)},
		events.HoldEnded{Outcome: events.OutcomeCaptured}, events.HoldEnded{Outcome: events.OutcomeReleased},
		events.HoldEnded{Outcome: events.OutcomeExpired},
	} {
		names = append(names, e.EventName())
	}
	return names
}

// add adds an item. Error: store.ErrNewerForm.
func (l *listable) add(item store.Item) (err error) {
	key := store.ItemKey(item)
	switch store.TextOf(item[store.AttrType]) {
	case store.Listed.Type:
		if key.SK == store.Listed.SK(store.FirstID(key.SK), store.LastID(key.SK)) {
			l.entries[key], err = inspectListed(key, item)
		}
		return err
	case store.OpenHold.Type:
		if _, id, ok := store.OpenHold.Parse(key); ok {
			l.expiry[key] = id
		}
		return nil
	}
	switch e, err := store.DecodeEvent(item); e := e.(type) {
	case events.TransactionPosted:
		l.headers = append(l.headers, e)
	case events.HoldEnded:
		l.ends = append(l.ends, e)
	default:
		l.faults = append(l.faults, fmt.Errorf("item %s %s: %w", key.PK, key.SK, err))
	}
	return nil
}

// storedEntries reads the list entries with these keys, at most store.BatchGetKeys. Absent ones are not in the map.
func storedEntries(ctx context.Context, t store.Table, keys []store.Key) (
	map[store.Key]Stored[projections.ListedEntry], error,
) {
	found := make(map[store.Key]Stored[projections.ListedEntry], len(keys))
	items, _, err := t.BatchGet(ctx, keys, store.Strong)
	for _, item := range items {
		key := store.ItemKey(item)
		if found[key], err = inspectListed(key, item); err != nil {
			break
		}
	}
	return found, err
}

// journalPages reads some of the journal's pages after a KSUID. more reports whether the caller must continue after the
// last one.
func journalPages(ctx context.Context, t store.Table, after events.KSUID) (
	pages []Stored[projections.JournalPage], more bool, err error,
) {
	q := store.Query{
		Partition: store.Journal.PK(), Within: store.Journal.All().After(string(after)), Consistency: store.Strong,
	}
	return inspectPage(ctx, t, q, func(key store.Key, item store.Item) (Stored[projections.JournalPage], error) {
		return inspect(item, projections.JournalForm, func(p *projections.JournalPage) {
			p.ID = events.KSUID(store.FirstID(key.SK))
		})
	})
}
