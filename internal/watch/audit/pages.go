package audit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

const (
	// windowEntries is the number of journal entries that are remembered, in up to 40 MB. Duplicates within this
	// distance are ignored.
	windowEntries = 1 << 20
	// clockSkew bounds how far the clocks that stamp pages may be off the store's, and off those that stamp events.
	clockSkew = time.Minute
	// uncheckedSkew is the same for the clocks that stamp events which are neither transactions nor ends of holds.
	uncheckedSkew = 24 * time.Hour
	// missingMax bounds the entries that are searched for, in up to 20 MB. It is more than a rescan examines.
	missingMax = 2 * rescanItems
)

// checkPage checks that a page of the journal is what was written: by its checksum, over its KSUID and its entries in
// order, and by its time, which is neither in the future nor before what it lists.
func (a *Audit) checkPage(ctx context.Context, p journalPage, key table.Key) {
	if p.Void {
		return
	}
	if right := a.pageLane(ctx, p); p.Lane != right {
		a.report(ctx, Finding{JournalAltered, key, "", "in lane " + p.Lane, "in lane " + right})
	}
	var now time.Time
	a.count(func(*Report) { now = a.storeTime })
	text := p.KSUID + "\n"
	var newest time.Time
	for _, e := range p.Entries {
		text += e.Event.ID() + " " + e.At.Format(instantForm) + "\n"
		at := e.At
		if e.subject() == e.Event.ID() { // neither a transaction nor an end: its time is of an unchecked clock
			at = at.Add(-uncheckedSkew)
		}
		if at.After(newest) {
			newest = at
		}
	}
	hash := sha256.Sum256([]byte(text))
	switch right := base64.RawURLEncoding.EncodeToString(hash[:sumBytes]); {
	case p.Checksum != right:
		a.report(ctx, Finding{JournalAltered, key, "", "checksum " + strconv.Quote(p.Checksum), "checksum " + right})
	case p.at.Before(newest.Add(-clockSkew)), !now.IsZero() && p.at.After(now.Add(clockSkew)):
		a.report(ctx, Finding{JournalAltered, key, "", "written at " + p.at.Format(instantForm),
			"from " + newest.Format(instantForm) + " to now"})
	}
}

// window remembers at least the last windowEntries hashes.
type window struct{ newer, older map[uint64]bool }

// add remembers a hash. It returns false if it remembered the hash before.
func (w *window) add(d digest) bool {
	if w.newer[d[0]] || w.older[d[0]] {
		return false
	}
	if len(w.newer) >= windowEntries || w.newer == nil {
		w.newer, w.older = make(map[uint64]bool), w.newer
	}
	w.newer[d[0]] = true
	return true
}

// journaled returns the entries that the journal must have for a transaction.
func (l lifecycle) journaled() (all []journalEntry) {
	if l.exists {
		all = append(all, journalEntry{table.Transaction.Key(l.ID), l.header.at})
	}
	if l.end != nil {
		all = append(all, journalEntry{table.Outcome.Key(l.ID), l.end.at})
	}
	return all
}

func (c *reconciler) journalHash(e journalEntry) digest {
	return c.hash("journal", e.Event.PK, e.Event.SK, e.At.Format(instantForm))
}

// addJournal adds entries that the journal must have. With the key of a page, it subtracts entries that the journal
// has. The journal may have duplicates of an entry, which count once. recountJournal finds those beyond the window.
func (c *reconciler) addJournal(ctx context.Context, entries []journalEntry, page ...table.Key) {
	for _, e := range entries {
		d := c.journalHash(e)
		if len(page) > 0 {
			c.mu.Lock()
			isWanted := c.rescanned == nil || c.rescanned[c.bucketOf(e.subject())]
			isWanted = isWanted && c.journalSeen.add(d)
			c.mu.Unlock()
			if !isWanted {
				continue
			}
			d = d.negated()
		}
		c.add(ctx, journalPart, e.subject(), e.At, d, page...)
	}
}

// recountJournal reads the journal again for the buckets that are not zero, windowEntries distinct entries at a time,
// and counts each entry once.
func (c *reconciler) recountJournal(ctx context.Context) {
	if c.journalSeen.older == nil {
		return // the window had all entries of the scan
	}
	var dirty []int
	for i, b := range c.buckets {
		if !b.isClean(journalPart) {
			dirty = append(dirty, i)
		}
	}
	c.journalSeen = window{}
	for len(dirty) > 0 && ctx.Err() == nil {
		seen, taken := make(map[uint64]bool), make(map[int]bool)
		for room := windowEntries; len(dirty) > 0 && room > 0; dirty = dirty[1:] {
			taken[dirty[0]] = true
			b := c.buckets[dirty[0]]
			room -= b.items
			b.differences[journalPart] = b.journalExpected
		}
		for e := range c.audit.journal(ctx, "") {
			i, d := c.bucketOf(e.subject()), c.journalHash(e)
			if taken[i] && !seen[d[0]] && e.At.Before(c.recentFrom) {
				seen[d[0]] = true
				c.buckets[i].differences[journalPart].add(d.negated())
			}
		}
	}
}

// journal iterates over the entries of the journal's pages after a KSUID; "" is the beginning.
func (a *Audit) journal(ctx context.Context, after string) iter.Seq[journalEntry] {
	return func(yield func(journalEntry) bool) {
		for lane := range a.pageLanes(ctx) {
			partition := table.Journal.PK(strconv.Itoa(lane))
			for item := range a.itemsOf(partition, table.Journal.All().After(after)).all(ctx) {
				p, _ := as[journalPage](item)
				for _, e := range p.Entries {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
}

// compareJournal compares the entries that a subject must have with those pages of the journal among its referrers.
// missing are the entries that none of these pages has; another page may have them. Young entries are left out, and
// isUnsettled is then true.
func (c *reconciler) compareJournal(ctx context.Context, subject string, wanted []journalEntry, referrers []table.Key) (
	missing []journalEntry, found []Finding, isUnsettled bool,
) {
	missing = slices.Clone(wanted)
	for _, k := range referrers {
		if _, _, isPage := table.Journal.Parse(k); !isPage {
			continue
		}
		p, _ := as[journalPage](c.audit.get(ctx, k))
		for _, e := range p.Entries {
			switch {
			case e.subject() != subject:
			case slices.Contains(wanted, e):
				missing = slices.DeleteFunc(missing, func(m journalEntry) bool { return m == e })
			case !c.audit.happened(ctx, e):
				right := "no entry: no such event is stored"
				if len(wanted) > 0 {
					right = fmt.Sprint(wanted)
				}
				found = append(found, Finding{JournalWrong, k, "", e.String(), right})
			}
		}
	}
	settled := slices.DeleteFunc(missing, func(e journalEntry) bool { return c.audit.isYoung(e.At) })
	return settled, found, len(settled) < len(missing)
}

// happened reports whether the event of an entry is stored. An end may be stored without its hold.
func (a *Audit) happened(ctx context.Context, e journalEntry) bool {
	value, _ := decode(a.get(ctx, e.Event))
	stored, ok := entryOf(value, e.Event)
	return ok && stored == e
}

// compareEvent compares an event that belongs to no transaction with the journal. event is the ID of its key.
func (c *reconciler) compareEvent(ctx context.Context, event string, referrers []table.Key) (
	found []Finding, missing []journalEntry, isUnsettled bool,
) {
	key, _ := table.ParseKey(event)
	item := c.audit.get(ctx, key)
	value, _ := decode(item)
	e, ok := entryOf(value, key)
	if !ok && len(item) > 0 {
		return nil, nil, false // the scan reports it
	}
	var wanted []journalEntry
	if ok {
		wanted = append(wanted, e)
	}
	missing, found, isUnsettled = c.compareJournal(ctx, event, wanted, referrers)
	return found, missing, isUnsettled
}

// expectInJournal keeps entries for searchJournal. It returns false if there is no room for all: a busy ledger may
// record any number of transactions during an audit.
func (c *reconciler) expectInJournal(missing []journalEntry) (hasRoom bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range missing {
		if len(c.missingFromJournal) >= missingMax {
			return false
		}
		c.missingFromJournal[c.journalHash(e)] = e
	}
	return true
}

// searchJournal reads the journal for the entries that it seems to lack, from the oldest of them, and reports those
// that it does not find. Later rounds read only the pages that were written since the round before.
func (c *reconciler) searchJournal(ctx context.Context) {
	if len(c.missingFromJournal) == 0 {
		return
	}
	from := c.audit.started // pages that were written before were scanned
	for _, e := range c.missingFromJournal {
		if e.At.Before(from) {
			from = e.At
		}
	}
	c.audit.repeat(ctx, func(round, last int) (done bool) {
		began := c.audit.Now()
		for e := range c.audit.journal(ctx, ksuidBefore(from.Add(-clockSkew))) {
			delete(c.missingFromJournal, c.journalHash(e))
		}
		from = began
		if done = len(c.missingFromJournal) == 0; !done && round == last {
			found := c.audit.nameMissing(ctx, slices.Collect(maps.Values(c.missingFromJournal)))
			c.audit.report(ctx, c.unreported(found)...)
		}
		return done
	})
	clear(c.missingFromJournal)
}
