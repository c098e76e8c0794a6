package repair

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
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

// hashOf returns a hash of an entry. The probability of a collision among 100 million entries is about 1 in 3,000.
func (l *lists) hashOf(e projections.JournalEntry) uint64 {
	return maphash.Comparable(l.seed, struct {
		event store.Key
		at    int64
	}{e.Event, e.At.UnixMicro()})
}

// readJournal records the entries of the pages after a KSUID.
func (l *lists) readJournal(ctx context.Context, after events.KSUID) error {
	return l.pages(ctx, after, func(p Stored[projections.JournalPage]) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch id := p.Value.ID; {
		case p.Value.Void && p.Fault == nil, slices.Contains(l.altered, id):
		case p.Fault != nil, p.Value.Misplaced(l.now()):
			l.altered = append(l.altered, id)
		default:
			l.newest = max(l.newest, id)
			for _, e := range p.Value.Entries {
				hash := l.hashOf(e)
				_, isMissing := l.missing[hash]
				l.journal[hash] = l.journal[hash] || isMissing
				delete(l.missing, hash)
			}
		}
		return nil
	})
}

// pages calls each for the pages of the journal after a KSUID. Errors: also those of each.
func (l *lists) pages(ctx context.Context, after events.KSUID, each func(Stored[projections.JournalPage]) error) error {
	q := store.Query{
		Partition: store.Journal.PK(), Within: store.Journal.All().After(string(after)), Consistency: store.Strong,
	}
	for item, err := range store.All(ctx, l.retried(), q) {
		var p Stored[projections.JournalPage]
		if err == nil {
			p, err = inspect(store.ItemKey(item), item, projections.JournalForm)
		}
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		if err := each(p); err != nil {
			return err
		}
	}
	return nil
}

// find marks the entry of an event as found, or as missing from the journal.
func (l *lists) find(e projections.JournalEntry) {
	hash := l.hashOf(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.journal[hash]; ok {
		l.journal[hash] = true
	} else {
		l.missing[hash] = e
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
	var missing []projections.JournalEntry
	for hash, e := range l.missing {
		missing = append(missing, e)
		l.journal[hash] = true
	}
	clear(l.missing)
	l.mu.Unlock()
	slices.SortFunc(missing, func(a, b projections.JournalEntry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Event.ID(), b.Event.ID()))
	})
	for page := range slices.Chunk(missing, entriesPerPage) {
		if err := l.appendPage(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// appendPage reports a page of missing entries, and writes it unless this is a dry run.
func (l *lists) appendPage(ctx context.Context, page []projections.JournalEntry) error {
	report := Report{Differences: make([]Difference, len(page))}
	for i, e := range page {
		report.Differences[i] = Difference{Key: e.Event, Fault: faultUnlisted, Behind: l.isYoung(e.At)}
	}
	return l.repair(ctx, report, func() error { return l.run.Append(ctx, page) })
}

// repair reports what is wrong with the journal, and calls write, which repairs it, unless this is a dry run.
func (l *lists) repair(ctx context.Context, found Report, write func() error) error {
	if !l.run.Scope.DryRun {
		if err := l.retry(ctx, write); err != nil {
			return fmt.Errorf("write a page of the journal: %w", err)
		}
	}
	l.run.report(found)
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
	if !slices.Contains(slices.Collect(maps.Values(l.journal)), false) {
		return nil
	}
	return l.pages(ctx, "", func(p Stored[projections.JournalPage]) error {
		if p.Fault != nil || p.Value.Void || slices.Contains(l.altered, p.Value.ID) {
			return nil
		}
		return l.voidIfWrong(ctx, p.Value)
	})
}

// voidIfWrong voids a page that has entries without an event. The scan may have missed events that were written during
// it, so it reads these events again.
func (l *lists) voidIfWrong(ctx context.Context, p projections.JournalPage) error {
	var right []projections.JournalEntry
	for _, e := range p.Entries {
		isRight := l.journal[l.hashOf(e)]
		if !isRight {
			var item store.Item
			err := l.retry(ctx, func() (err error) {
				item, _, err = l.table.Get(ctx, e.Event, store.Strong)
				return err
			})
			if err != nil {
				return err
			}
			stored, err := store.DecodeEvent(item)
			if item != nil && err != nil {
				l.run.report(Report{Err: fmt.Errorf("page %s of the journal: event %s: %w", p.ID, e.Event.ID(), err)})
				return nil // nothing proves that the entry is wrong
			}
			isRight = err == nil && projections.EntryOf(stored) == e
		}
		if isRight {
			right = append(right, e)
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
	item := projections.JournalForm.Item(projections.JournalPage{ID: id, Void: true})
	return l.repair(ctx, Report{Differences: []Difference{d}}, func() error {
		_, err := l.table.Write(ctx, store.Write{Item: item})
		return err
	})
}
