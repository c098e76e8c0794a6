package repair

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

const (
	// entriesPerPage is how many entries a page of the journal gets.
	entriesPerPage = 100
	// journalOverlap is how long before the newest page that was read a later one may still come: clocks differ by 10 s
	// at most, and puts take some seconds.
	journalOverlap = 30 * time.Second
)

// Why an event is written to the journal, and why a page of it is made void.
const (
	faultUnlisted = "is not in the journal"
	faultPage     = "cannot be read, or has entries of what did not happen: void, and the others in another page"
)

// missingEntry is one that the journal lacks, and the key of the event that it is of.
type missingEntry struct {
	projections.JournalEntry
	event table.Key
}

// hashOf returns a hash of an entry. That two of 100 million have the same one is as likely as 1 in 3,000.
func (l *lists) hashOf(e projections.JournalEntry) uint64 {
	return maphash.Comparable(l.seed, struct {
		event, transaction string
		at                 int64
	}{e.Event, e.Transaction, e.At.UnixMicro()})
}

// readJournal remembers the entries of the pages after a KSUID.
func (l *lists) readJournal(ctx context.Context, after events.KSUID) error {
	for more := true; more; {
		err := l.request(ctx, func() (int, error) {
			pages, further, err := l.run.Lists.JournalPages(ctx, after)
			if err != nil {
				return 0, fmt.Errorf("read the journal: %w", err)
			}
			more = further
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, p := range pages {
				after = p.Value.ID
				if _, err := events.ParseKSUID(string(after)); err == nil {
					l.newest = max(l.newest, after)
				}
				switch {
				case p.Value.Void && p.Fault == nil:
				case p.Fault != nil:
					l.wrong = append(l.wrong, p.Value.ID)
				default:
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

// find looks for an entry in the journal.
func (l *lists) find(e projections.JournalEntry, event table.Key) {
	hash := l.hashOf(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.journal[hash]; ok {
		l.journal[hash] = true
	} else {
		l.missing[hash] = missingEntry{e, event}
	}
}

// append writes what the journal lacks, if it is at least so many entries, after it has read what the lister wrote
// meanwhile.
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

// appendPage writes a page of entries, but not in a dry run, and reports them.
func (l *lists) appendPage(ctx context.Context, page []missingEntry) error {
	entries := make([]projections.JournalEntry, len(page))
	report := Report{Differences: make([]Difference, len(page))}
	for i, e := range page {
		entries[i] = e.JournalEntry
		isYoung := l.run.rebuilder.now().Sub(e.At) < table.SettleWindow
		report.Differences[i] = Difference{Key: e.event, Fault: faultUnlisted, Behind: isYoung}
	}
	if !l.run.Scope.DryRun {
		err := l.run.rebuilder.retry(ctx, func() error { return l.run.Journal.Append(ctx, entries) })
		if err != nil {
			return fmt.Errorf("write a page of the journal: %w", err)
		}
	}
	l.run.report(report)
	return nil
}

// voidPages makes void the pages of the journal that cannot be read, whose entries were written to others, and those
// with entries of what did not happen. Those of what happened are written to others first.
func (l *lists) voidPages(ctx context.Context) error {
	for _, id := range l.wrong {
		if err := l.void(ctx, id); err != nil {
			return err
		}
	}
	isFound := true
	for _, found := range l.journal {
		isFound = isFound && found
	}
	for after, more := events.KSUID(""), !isFound; more; {
		var pages []Stored[projections.JournalPage]
		err := l.request(ctx, func() (_ int, err error) {
			pages, more, err = l.run.Lists.JournalPages(ctx, after)
			return len(pages), err
		})
		if err != nil {
			return err
		}
		for _, p := range pages {
			if after = p.Value.ID; p.Fault != nil || p.Value.Void {
				continue
			}
			if err := l.voidIfWrong(ctx, p.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// voidIfWrong makes a page void that has entries of what did not happen. Those of what happened while the table was
// read are not known, and read again.
func (l *lists) voidIfWrong(ctx context.Context, p projections.JournalPage) error {
	var right []missingEntry
	for _, e := range p.Entries {
		key := table.TransactionKey(e.Transaction)
		known := l.journal[l.hashOf(e)]
		if !known {
			lives, err := l.lives(ctx, []table.Key{{SK: table.ListedSK("", e.Transaction)}})
			if err != nil {
				return err
			}
			h, there := lives[e.Transaction]
			known = there && projections.EntryOf(h.Header) == e ||
				there && h.Ended != nil && projections.EntryOfEnd(*h.Ended) == e
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

// void makes a page of the journal void.
func (l *lists) void(ctx context.Context, id events.KSUID) error {
	d := Difference{Key: table.JournalKey(string(id)), Fault: faultPage}
	return l.write(ctx, d, func() error {
		return l.run.Lists.PutPage(ctx, projections.JournalPage{ID: id, Void: true})
	})
}
