package repair

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

const (
	entriesPerPage = 100
	// journalOverlap is how far before the newest page a page may still appear: clocks differ by at most 10 s, and puts
	// take a few seconds.
	journalOverlap = 30 * time.Second
)

// Faults of an event that the journal lacks, and of a page that becomes void.
const (
	faultUnlisted = "is not in the journal"
	faultPage     = "was altered or has entries without an event: void, and its correct entries in another page"
)

// missingEntry is an entry that the journal lacks, with the key of its event.
type missingEntry struct {
	projections.JournalEntry
	event store.Key
}

// hashOf returns a hash of an entry. The probability of a collision among 100 million entries is about 1 in 3,000.
func (l *lists) hashOf(e projections.JournalEntry) uint64 {
	return maphash.Comparable(l.seed, struct {
		event, transaction string
		at                 int64
	}{e.Event, e.Transaction, e.At.UnixMicro()})
}

// readJournal records the entries of the pages after a KSUID.
func (l *lists) readJournal(ctx context.Context, after events.KSUID) error {
	for more := true; more; {
		err := l.request(ctx, func() (int, error) {
			pages, further, err := journalPages(ctx, l.run.Table, after)
			if err != nil {
				return 0, fmt.Errorf("read the journal: %w", err)
			}
			more = further
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, p := range pages {
				after = p.Value.ID
				switch {
				case p.Value.Void && p.Fault == nil, slices.Contains(l.altered, after):
				case p.Fault != nil, p.Value.Misplaced(l.run.rebuilder.now()):
					l.altered = append(l.altered, after)
				default:
					l.newest = max(l.newest, after)
					for _, e := range p.Value.Entries {
						hash := l.hashOf(e)
						_, isMissing := l.missing[hash]
						l.journal[hash] = l.journal[hash] || isMissing
						delete(l.missing, hash)
					}
				}
			}
			return len(pages), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// find marks the entry of an event as found, or as missing from the journal.
func (l *lists) find(e projections.JournalEntry, event store.Key) {
	hash := l.hashOf(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.journal[hash]; ok {
		l.journal[hash] = true
	} else {
		l.missing[hash] = missingEntry{e, event}
	}
}

// append writes the missing entries if there are at least `least`. It first reads the pages that the lister has written
// since, which may have some of them.
func (l *lists) append(ctx context.Context, least int) error {
	l.appending.Lock()
	defer l.appending.Unlock()
	l.mu.Lock()
	n, from := len(l.missing), l.newest
	l.mu.Unlock()
	if n < least {
		return nil
	}
	if from != "" {
		from = events.FirstKSUID(from.Time().Add(-journalOverlap))
	}
	if err := l.readJournal(ctx, from); err != nil {
		return err
	}
	l.mu.Lock()
	var missing []missingEntry
	for hash, e := range l.missing {
		missing = append(missing, e)
		l.journal[hash] = true
	}
	clear(l.missing)
	l.mu.Unlock()
	slices.SortFunc(missing, func(a, b missingEntry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Transaction, b.Transaction))
	})
	for page := range slices.Chunk(missing, entriesPerPage) {
		if err := l.appendPage(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// appendPage reports a page of missing entries, and writes it unless this is a dry run.
func (l *lists) appendPage(ctx context.Context, page []missingEntry) error {
	entries := make([]projections.JournalEntry, len(page))
	report := Report{Differences: make([]Difference, len(page))}
	for i, e := range page {
		entries[i] = e.JournalEntry
		report.Differences[i] = Difference{Key: e.event, Fault: faultUnlisted, Behind: l.run.rebuilder.isYoung(e.At)}
	}
	if !l.run.Scope.DryRun {
		err := l.run.rebuilder.retry(ctx, func() error { return l.run.Append(ctx, entries) })
		if err != nil {
			return fmt.Errorf("write a page of the journal: %w", err)
		}
	}
	l.run.report(report)
	return nil
}

// voidPages voids altered pages, whose entries were missing and have been written to other pages. It also voids pages
// that have entries without an event, after it has written their correct entries to other pages.
func (l *lists) voidPages(ctx context.Context) error {
	for _, id := range l.altered {
		if err := l.void(ctx, id); err != nil {
			return err
		}
	}
	allFound := true
	for _, found := range l.journal {
		allFound = allFound && found
	}
	for after, more := events.KSUID(""), !allFound; more; {
		var pages []Stored[projections.JournalPage]
		err := l.request(ctx, func() (_ int, err error) {
			pages, more, err = journalPages(ctx, l.run.Table, after)
			return len(pages), err
		})
		if err != nil {
			return err
		}
		for _, p := range pages {
			if after = p.Value.ID; p.Fault != nil || p.Value.Void || slices.Contains(l.altered, after) {
				continue
			}
			if err := l.voidIfWrong(ctx, p.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// voidIfWrong voids a page that has entries without an event. The scan may have missed events that were written during
// it, so it reads these transactions again.
func (l *lists) voidIfWrong(ctx context.Context, p projections.JournalPage) error {
	var right []missingEntry
	for _, e := range p.Entries {
		key := store.Transaction.Key(e.Transaction)
		known := l.journal[l.hashOf(e)]
		if !known {
			found, err := l.transactions(ctx, map[string]bool{e.Transaction: true})
			if err != nil {
				return err
			}
			t, ok := found[e.Transaction]
			known = ok && projections.EntryOf(t.Header) == e ||
				ok && t.Ended != nil && projections.EntryOfEnd(*t.Ended) == e
		}
		if known {
			right = append(right, missingEntry{e, key})
		}
	}
	if len(right) == len(p.Entries) {
		return nil
	}
	if len(right) > 0 {
		if err := l.appendPage(ctx, right); err != nil {
			return err
		}
	}
	return l.void(ctx, p.ID)
}

func (l *lists) void(ctx context.Context, id events.KSUID) error {
	d := Difference{Key: store.Journal.Key(string(id)), Fault: faultPage}
	return l.write(ctx, d, projections.JournalForm.Item(projections.JournalPage{ID: id, Void: true}))
}
