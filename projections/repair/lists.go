package repair

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// listParts is how many parts of the table are scanned in parallel.
const listParts = 4

// lists rebuilds the lists of transactions and the journal. It keeps a hash of each journal entry in memory: about 20
// MB for a million entries.
type lists struct {
	run  *Run
	pace *paced
	seed maphash.Seed

	appending sync.Mutex

	mu      sync.Mutex
	journal map[uint64]bool         // by the hash of an entry: whether its event was found
	newest  events.KSUID            // of the right pages that were read
	altered []events.KSUID          // pages that cannot be decoded, or that no lister wrote under their keys
	missing map[uint64]missingEntry // by its hash
}

// lists rebuilds the lists of transactions and the journal. It reads the journal, then scans the table, and writes
// entries that are missing or wrong. It deletes nothing: entries without a transaction become void. It is idempotent
// and may be interrupted. Error: that of ctx, or one that affects the entire table.
func (r *Run) lists(ctx context.Context) error {
	l := &lists{
		run: r, pace: &paced{rate: r.Rate}, seed: maphash.MakeSeed(),
		journal: make(map[uint64]bool), missing: make(map[uint64]missingEntry),
	}
	if err := l.readJournal(ctx, ""); err != nil {
		return err
	}
	running, runCtx := errgroup.WithContext(ctx)
	for part := range listParts {
		running.Go(func() error { return l.part(runCtx, part) })
	}
	if err := running.Wait(); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	if err := l.append(ctx, 1); err != nil {
		return err
	}
	return l.voidPages(ctx)
}

// request sends a request within the rate limit, with the rebuilder's retries. items is the number of items read.
func (l *lists) request(ctx context.Context, send func() (items int, err error)) error {
	return l.run.rebuilder.retry(ctx, func() error {
		if err := l.pace.wait(ctx, 0); err != nil {
			return err
		}
		items, err := send()
		l.pace.charge(items)
		return err
	})
}

// part scans one part of the table.
func (l *lists) part(ctx context.Context, part int) error {
	for from, more := store.Item(nil), true; more; {
		var page listable
		err := l.request(ctx, func() (read int, err error) {
			page, err = readListable(ctx, l.run.Table, part, listParts, from)
			return page.read, err
		})
		if err != nil {
			return err
		}
		from, more = page.next, page.next != nil
		l.run.count(func(n *Counts) { n.Transactions += int64(len(page.headers)) })
		for _, fault := range page.faults {
			l.run.report(Report{Err: fault})
		}
		if err := l.page(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// page compares a page of the table with the lists and the journal.
func (l *lists) page(ctx context.Context, p listable) error {
	wanted, recorded := make(map[store.Key]projections.ListedEntry), make(map[store.Key]time.Time)
	for _, h := range p.headers {
		l.find(projections.EntryOf(h), store.Transaction.Key(h.ID))
		for _, key := range projections.ListedKeys(h, l.run.Indexed) {
			wanted[key], recorded[key] = projections.ListedOf(h), h.Recorded()
		}
	}
	for _, e := range p.ends {
		l.find(projections.EntryOfEnd(e), store.Outcome.Key(e.Transaction))
	}
	for keys := range slices.Chunk(slices.Collect(maps.Keys(wanted)), store.BatchGetKeys) {
		var stored map[store.Key]Stored[projections.ListedEntry]
		err := l.request(ctx, func() (_ int, err error) {
			stored, err = storedEntries(ctx, l.run.Table, keys)
			return len(keys), err
		})
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := l.put(ctx, key, stored[key], wanted[key], l.run.rebuilder.isYoung(recorded[key])); err != nil {
				return err
			}
		}
	}
	if err := l.entries(ctx, p.entries); err != nil {
		return err
	}
	if err := l.expiry(ctx, p.expiry); err != nil {
		return err
	}
	return l.append(ctx, entriesPerPage)
}

// put writes the entry becomes unless it is stored already.
func (l *lists) put(ctx context.Context, key store.Key, found Stored[projections.ListedEntry],
	becomes projections.ListedEntry, isYoung bool,
) error {
	if found.Exists && found.Fault == nil && found.Value == becomes {
		return nil
	}
	d := differenceOf(key, found, becomes)
	d.Behind = !found.Exists && isYoung
	return l.write(ctx, d, projections.ListedForm(key.PK).Item(becomes))
}

// write reports a difference, and puts the correct item unless this is a dry run.
func (l *lists) write(ctx context.Context, d Difference, item store.Item) error {
	if !l.run.Scope.DryRun {
		err := l.run.rebuilder.retry(ctx, func() error {
			_, err := l.run.Table.Write(ctx, store.Write{Item: item})
			return err
		})
		if err != nil {
			return fmt.Errorf("write %s %s: %w", d.Key.PK, d.Key.SK, err)
		}
	}
	l.run.report(Report{Differences: []Difference{d}})
	return nil
}

// transactionsAtOnce is how many transactions are read in one request, each with its end.
const transactionsAtOnce = store.BatchGetKeys / 2

// expiry judges entries by expiry that their hold does not have. Account rebuilds the others.
func (l *lists) expiry(ctx context.Context, holds map[store.Key]string) error {
	b := l.run.rebuilder
	if l.run.Scope.DryRun {
		b = b.dryRun()
	}
	for keys := range slices.Chunk(slices.Collect(maps.Keys(holds)), transactionsAtOnce) {
		ids := make(map[string]bool, len(keys))
		for _, key := range keys {
			ids[holds[key]] = true
		}
		found, err := l.transactions(ctx, ids)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if id := holds[key]; !found[id].HasEntry(key) {
				of := projections.Target{Hold: id}
				report := b.item(ctx, Report{}, projections.Holds, key, &of, nil, l.run.Scope.DropMissing)
				if report.Err != nil {
					return report.Err
				}
				l.run.report(report)
			}
		}
	}
	return nil
}

// entries voids entries that belong to no transaction. It accepts entries for metadata keys that are no longer indexed.
func (l *lists) entries(ctx context.Context, stored map[store.Key]Stored[projections.ListedEntry]) error {
	for keys := range slices.Chunk(slices.Collect(maps.Keys(stored)), transactionsAtOnce) {
		ids := make(map[string]bool, len(keys))
		for _, key := range keys {
			ids[store.LastID(key.SK)] = true
		}
		found, err := l.transactions(ctx, ids)
		if err != nil {
			return err
		}
		for _, key := range keys {
			transaction, ok := found[store.LastID(key.SK)]
			wanted := stored[key].Value
			wanted.Held, wanted.Void = false, true
			if ok && belongs(key, transaction.Header) {
				if slices.Contains(projections.ListedKeys(transaction.Header, l.run.Indexed), key) {
					continue // it is compared when the scan reads its header
				}
				wanted = projections.ListedOf(transaction.Header)
			}
			if err := l.put(ctx, key, stored[key], wanted, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// transactions reads the transactions with these ids.
func (l *lists) transactions(ctx context.Context, ids map[string]bool) (found map[string]projections.Hold, err error) {
	err = l.request(ctx, func() (_ int, err error) {
		found, err = projections.TransactionsByID(ctx, l.run.Table, ids, store.Strong)
		return len(ids), err
	})
	return found, err
}

// belongs reports whether a header may have an entry with that key.
func belongs(key store.Key, h events.TransactionPosted) bool {
	name, _, _, _, _ := store.ListedMetadata.Parse(key) // in the list by time "", which is no metadata key
	return slices.Contains(projections.ListedKeys(h, []string{name}), key)
}
