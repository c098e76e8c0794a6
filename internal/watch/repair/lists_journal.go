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
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

const (
	entriesPerPage = 100
	// journalOverlap is how far before the newest page a page may still appear: clocks differ by at most 10 s, and puts
	// take a few seconds.
	journalOverlap = 30 * time.Second
)

// Faults of an event that the journal lacks, of a page that becomes void, and of one that stays in its place.
const (
	faultUnlisted = "is not in the journal"
	faultPage     = "was altered or has entries without an event: void, and its correct entries in another page"
	faultAltered  = "was altered, but each of its entries has an event: it stays in its place"
)

// hashOf returns a hash of an entry. The probability of a collision among 100 million entries is about 1 in 3,000.
func (l *lists) hashOf(e projections.JournalEntry) uint64 {
	return maphash.Comparable(l.seed, struct {
		event table.Key
		at    int64
	}{e.Event, e.At.UnixMicro()})
}

// readJournal records the entries of the pages after a KSUID.
func (l *lists) readJournal(ctx context.Context, after events.KSUID) error {
	l.mu.Lock()
	l.read = events.FirstKSUID(time.Now())
	l.mu.Unlock()
	return l.pages(ctx, after, func(key table.Key, p rebuild.Stored[projections.JournalPage]) error {
		isMisplaced := false
		if p.Fault == nil && !p.Value.Void {
			var err error
			if isMisplaced, err = l.isMisplaced(ctx, p.Value); err != nil {
				return err
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		switch id := p.Value.ID; {
		case p.Value.Void && p.Fault == nil, slices.Contains(l.altered, key):
		case p.Fault != nil, isMisplaced:
			l.altered = append(l.altered, key)
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

// isMisplaced reports whether no lister can have written a page at its key.
func (l *lists) isMisplaced(ctx context.Context, p projections.JournalPage) (bool, error) {
	now := time.Now()
	if p.ID.Time().After(now.Add(journalOverlap)) { // the log of lanes does not reach that far
		return p.Misplaced(now, table.LanesOf()), nil
	}
	lanes, err := l.lanes(ctx, p.ID.Time())
	return err == nil && p.Misplaced(now, lanes), err
}

// pages calls each for the pages of the journal after a KSUID, one lane after the other. Errors: also those of each.
func (l *lists) pages(ctx context.Context, after events.KSUID,
	each func(table.Key, rebuild.Stored[projections.JournalPage]) error,
) error {
	var lanes table.Lanes
	err := l.Retry(ctx, func() (err error) {
		lanes, err = l.run.lanes.Recent(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	for _, lane := range lanes.Pages() {
		q := table.Query{Partition: table.Journal.PK(lane), Within: table.Journal.All().After(string(after)),
			Consistency: table.Strong}
		for item, err := range table.All(ctx, l.Retried(), q) {
			var p rebuild.Stored[projections.JournalPage]
			if err == nil {
				p, err = rebuild.Inspect(table.ItemKey(item), item, projections.JournalForm)
			}
			if err != nil {
				return fmt.Errorf("read the journal: %w", err)
			}
			if err := each(table.ItemKey(item), p); err != nil {
				return err
			}
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
	n, from := len(l.missing), min(l.newest, l.read)
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
	report := rebuild.Report{Differences: make([]rebuild.Difference, len(page))}
	for i, e := range page {
		report.Differences[i] = rebuild.Difference{Key: e.Event, Fault: faultUnlisted, Behind: l.IsYoung(e.At)}
	}
	return l.repair(ctx, report, func() error { return l.run.Append(ctx, page) })
}

// repair reports what is wrong with the journal, and calls write, which repairs it, unless this is a dry run.
func (l *lists) repair(ctx context.Context, found rebuild.Report, write func() error) error {
	if !l.run.Scope.DryRun {
		if err := l.Retry(ctx, write); err != nil {
			return fmt.Errorf("write a page of the journal: %w", err)
		}
	}
	l.run.report(found)
	return nil
}

// mendPages mends altered pages in their place, or voids them. Their entries were missing, and have been written to
// other pages: somebody may have moved them to a place that readers have passed. It also voids pages that have entries
// without an event, after it has written their correct entries to other pages.
func (l *lists) mendPages(ctx context.Context) error {
	for _, key := range l.altered {
		if err := l.mendOrVoid(ctx, key); err != nil {
			return err
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(l.journal)), false) {
		return nil
	}
	return l.pages(ctx, "", func(key table.Key, p rebuild.Stored[projections.JournalPage]) error {
		if p.Fault != nil || p.Value.Void || slices.Contains(l.altered, key) {
			return nil
		}
		return l.voidIfWrong(ctx, p.Value)
	})
}

// mendOrVoid writes an altered page as it must be, if each of its entries has an event. So a digest that has sealed the
// page still finds them there. Any other altered page becomes void.
func (l *lists) mendOrVoid(ctx context.Context, key table.Key) error {
	var item table.Item
	err := l.Retry(ctx, func() (err error) {
		item, _, err = l.run.table.Get(ctx, key, table.Strong)
		return err
	})
	if err != nil {
		return err
	}
	p, isReadable := projections.AlteredJournal(item)
	lane, id, ok := table.Journal.Parse(key)
	if !ok {
		return nil // left to the audit
	}
	p.Lane, p.ID = lane, events.KSUID(id)
	if !isReadable || p.Void || len(p.Entries) == 0 {
		return l.void(ctx, p)
	}
	switch isMisplaced, err := l.isMisplaced(ctx, p); {
	case err != nil:
		return err
	case isMisplaced:
		return l.void(ctx, p)
	}
	for _, e := range p.Entries {
		switch isRight, err := l.hasEvent(ctx, e); {
		case err != nil:
			return err
		case !isRight:
			return l.void(ctx, p)
		}
	}
	return l.rewrite(ctx, p, faultAltered)
}

// hasEvent reports whether an entry's event is stored, with the entry's time. An event that cannot be decoded proves
// nothing: it is reported, and counts as the entry's.
func (l *lists) hasEvent(ctx context.Context, e projections.JournalEntry) (bool, error) {
	var item table.Item
	err := l.Retry(ctx, func() (err error) {
		item, _, err = l.run.table.Get(ctx, e.Event, table.Strong)
		return err
	})
	if err != nil || item == nil {
		return false, err
	}
	stored, err := table.DecodeEvent(item)
	if err != nil {
		l.run.report(rebuild.Report{Err: fmt.Errorf("event %s of the journal: %w", e.Event.ID(), err)})
		return true, nil
	}
	return projections.EntryOf(stored) == e, nil
}

// voidIfWrong voids a page that has entries without an event. The scan may have missed events that were written during
// it, so it reads these events again.
func (l *lists) voidIfWrong(ctx context.Context, p projections.JournalPage) error {
	var right []projections.JournalEntry
	for _, e := range p.Entries {
		isRight := l.journal[l.hashOf(e)]
		if !isRight {
			var err error
			if isRight, err = l.hasEvent(ctx, e); err != nil {
				return err
			}
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
	return l.void(ctx, p)
}

func (l *lists) void(ctx context.Context, p projections.JournalPage) error {
	return l.rewrite(ctx, projections.JournalPage{ID: p.ID, Lane: p.Lane, Void: true}, faultPage)
}

// rewrite reports a page, and overwrites it unless this is a dry run.
func (l *lists) rewrite(ctx context.Context, p projections.JournalPage, fault string) error {
	d := rebuild.Difference{Key: table.Journal.Key(p.Lane, string(p.ID)), Fault: fault}
	item := projections.JournalForm.Item(p)
	return l.repair(ctx, rebuild.Report{Differences: []rebuild.Difference{d}}, func() error {
		_, err := l.run.table.Write(ctx, table.Write{Item: item})
		return err
	})
}
