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
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// ListViews is the store as a rebuild of the lists of transactions and of the journal needs it. The rules for the ports
// of package projections apply.
type ListViews interface {
	// Listable reads a page of one of `parts` parts of the table. from is "" for the first page.
	Listable(ctx context.Context, part, parts int, from string) (Listable, error)

	// TransactionsByID is that of projections.JournalViews.
	TransactionsByID(ctx context.Context, ended map[string]bool) (map[string]projections.Transaction, error)

	// StoredEntries reads the entries in lists of transactions under those keys, at most table.BatchGetKeys. Absent
	// ones are not in the map.
	StoredEntries(ctx context.Context, keys []table.Key) (map[table.Key]Stored[projections.ListedEntry], error)

	// WriteListed is that of projections.ListerViews.
	WriteListed(ctx context.Context, key table.Key, e projections.ListedEntry) (time.Time, error)

	// JournalPages reads a page of the journal's pages after a KSUID. more reports whether to go on after the last.
	JournalPages(ctx context.Context, after events.KSUID) (pages []Stored[projections.JournalPage], more bool, err error)

	// PutPage writes a page of the journal, whatever is stored.
	PutPage(ctx context.Context, p projections.JournalPage) error
}

// Journal appends entries to the journal, as one page that the newest cursor of any reader has not passed. Errors:
// those of the ports of package projections.
type Journal interface {
	Append(ctx context.Context, entries []projections.JournalEntry) error
}

// Listable is what a page of the table has of transactions and of their lists.
type Listable struct {
	Headers []events.TransactionPosted
	Ends    []events.HoldEnded
	Entries map[table.Key]Stored[projections.ListedEntry]
	Faults  []error // of events that cannot be read
	Read    int     // items gone through
	Next    string  // where the next page begins; "" after the last
}

// listParts is how many parts of the table are read at the same time.
const listParts = 4

// lists rebuilds the lists of transactions and the journal.
//
// It remembers a hash of each entry of the journal, in some 20 MB a million of them.
type lists struct {
	run  *Run
	pace *paced
	seed maphash.Seed

	appending sync.Mutex

	mu      sync.Mutex
	journal map[uint64]bool         // by the hash of an entry: whether its event was found
	newest  events.KSUID            // of the pages that were read
	wrong   []events.KSUID          // pages that cannot be read
	missing map[uint64]missingEntry // by its hash
}

// lists rebuilds the lists of transactions and the journal: it reads the journal, then every item of the table, and
// writes what is missing or wrong. Nothing is ever deleted: entries that belong to nothing become void. It may be
// broken off and run again: what is right is not written. Error: that of ctx, or why the table cannot be used.
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

// request sends a request within the rate, again as the rebuilder does. items is how many it read.
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

// part goes through one part of the table.
func (l *lists) part(ctx context.Context, part int) error {
	for from, more := "", true; more; {
		var page Listable
		err := l.request(ctx, func() (read int, err error) {
			page, err = l.run.Lists.Listable(ctx, part, listParts, from)
			return page.Read, err
		})
		if err != nil {
			return err
		}
		from, more = page.Next, page.Next != ""
		l.run.count(func(n *Counts) { n.Transactions += int64(len(page.Headers)) })
		for _, fault := range page.Faults {
			l.run.report(Report{Err: fault})
		}
		if err := l.page(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// page compares a page with the lists and the journal.
func (l *lists) page(ctx context.Context, p Listable) error {
	wanted, recorded := make(map[table.Key]projections.ListedEntry), make(map[table.Key]time.Time)
	for _, h := range p.Headers {
		l.find(projections.EntryOf(h), table.TransactionKey(h.ID))
		for _, key := range projections.ListedKeys(h, l.run.Indexed) {
			wanted[key], recorded[key] = projections.ListedOf(h), h.Recorded()
		}
	}
	for _, e := range p.Ends {
		l.find(projections.EntryOfEnd(e), table.OutcomeKey(e.Transaction))
	}
	for keys := range slices.Chunk(slices.Collect(maps.Keys(wanted)), table.BatchGetKeys) {
		var stored map[table.Key]Stored[projections.ListedEntry]
		err := l.request(ctx, func() (_ int, err error) {
			stored, err = l.run.Lists.StoredEntries(ctx, keys)
			return len(keys), err
		})
		if err != nil {
			return err
		}
		for _, key := range keys {
			isYoung := l.run.rebuilder.now().Sub(recorded[key]) < table.SettleWindow
			if err := l.put(ctx, key, stored[key], wanted[key], isYoung); err != nil {
				return err
			}
		}
	}
	if err := l.entries(ctx, p.Entries); err != nil {
		return err
	}
	return l.append(ctx, entriesPerPage)
}

// put writes an entry unless it is stored.
func (l *lists) put(ctx context.Context, key table.Key, found Stored[projections.ListedEntry],
	becomes projections.ListedEntry, isYoung bool,
) error {
	if found.Exists && found.Fault == nil && found.Value == becomes {
		return nil
	}
	d := differenceOf(key, found, becomes)
	d.Behind = !found.Exists && isYoung
	return l.write(ctx, d, func() error {
		_, err := l.run.Lists.WriteListed(ctx, key, becomes)
		return err
	})
}

// write writes an item, but not in a dry run, and reports what was wrong.
func (l *lists) write(ctx context.Context, d Difference, send func() error) error {
	if !l.run.Scope.DryRun {
		if err := l.run.rebuilder.retry(ctx, send); err != nil {
			return fmt.Errorf("write %s %s: %w", d.Key.PK, d.Key.SK, err)
		}
	}
	l.run.report(Report{Differences: []Difference{d}})
	return nil
}

// entries makes those entries void that no transaction needs. By metadata that is not indexed a transaction may be
// listed, but need not.
func (l *lists) entries(ctx context.Context, stored map[table.Key]Stored[projections.ListedEntry]) error {
	const livesAtOnce = table.BatchGetKeys / 2
	for keys := range slices.Chunk(slices.Collect(maps.Keys(stored)), livesAtOnce) {
		lives, err := l.lives(ctx, keys)
		if err != nil {
			return err
		}
		for _, key := range keys {
			header, there := lives[table.LastID(key.SK)]
			wanted := stored[key].Value
			wanted.Held, wanted.Void = false, true
			if there && belongs(key, header.Header) {
				if slices.Contains(projections.ListedKeys(header.Header, l.run.Indexed), key) {
					continue // it was, or will be, compared with its header
				}
				wanted = projections.ListedOf(header.Header)
			}
			if err := l.put(ctx, key, stored[key], wanted, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// lives reads the transactions that entries point to.
func (l *lists) lives(ctx context.Context, keys []table.Key) (lives map[string]projections.Hold, err error) {
	ids := make(map[string]bool, len(keys))
	for _, key := range keys {
		ids[table.LastID(key.SK)] = true
	}
	err = l.request(ctx, func() (_ int, err error) {
		lives, err = l.run.Lists.TransactionsByID(ctx, ids)
		return len(keys), err
	})
	return lives, err
}

// belongs reports whether a header may have an entry under that key.
func belongs(key table.Key, h events.TransactionPosted) bool {
	name, _, _, _, _ := table.ParseListedMetadata(key) // "", which no metadata key is, in the list by time
	return slices.Contains(projections.ListedKeys(h, []string{name}), key)
}
