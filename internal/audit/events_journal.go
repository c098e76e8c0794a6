package audit

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

const (
	// windowEntries is how many entries of the journal are remembered at least, in up to 40 MB: an entry that stands in
	// it again within these is passed over.
	windowEntries = 1 << 20
	// clocksApart is longer before an entry was written than any clock says that what it is of was recorded.
	clocksApart = time.Minute
)

// window remembers the last hashes that it was asked for.
type window struct{ newer, older map[uint64]bool }

// isNew reports whether a hash is none of the last, and remembers it.
func (w *window) isNew(d digest) bool {
	if w.newer[d[0]] || w.older[d[0]] {
		return false
	}
	if len(w.newer) >= windowEntries || w.newer == nil {
		w.newer, w.older = make(map[uint64]bool), w.newer
	}
	w.newer[d[0]] = true
	return true
}

// journaled returns the entry that the journal must have of a header.
func (h header) journaled() entryOf {
	if h.isHold() {
		return entryOf{held, h.at, h.id}
	}
	return entryOf{posted, h.at, h.id}
}

// journaled returns the entry that the journal must have of an end.
func (o outcome) journaled() entryOf { return entryOf{o.how, o.at, o.hold} }

// journaled returns the entries that the journal must have of a transaction.
func (l life) journaled() (all []entryOf) {
	if l.exists {
		all = append(all, l.header.journaled())
	}
	if l.end != nil {
		all = append(all, l.end.journaled())
	}
	return all
}

// key returns the key of the event that an entry is of.
func (e entryOf) key() table.Key {
	if e.event == posted || e.event == held {
		return table.TransactionKey(e.transaction)
	}
	return table.OutcomeKey(e.transaction)
}

func (c *legCheck) journalFact(e entryOf) digest {
	return c.fact("journal", e.event, e.at.Format(instantForm), e.transaction)
}

// noteEntries adds entries that the journal must have or, with the key of a page, subtracts those that it has. One may
// stand in the journal several times: it counts once. Of those that are too far apart to be known, recount knows.
func (c *legCheck) noteEntries(ctx context.Context, entries []entryOf, page ...table.Key) {
	for _, e := range entries {
		d := c.journalFact(e)
		if len(page) > 0 {
			c.mu.Lock()
			isWanted := c.rescanned == nil || c.rescanned[c.bucketOf(e.transaction)]
			isWanted = isWanted && c.listed.isNew(d)
			c.mu.Unlock()
			if !isWanted {
				continue
			}
			d = d.negated()
		}
		c.addAt(ctx, ofJournal, e.transaction, e.at, true, d, page...)
	}
}

// recount reads the journal again for the buckets that are not zero, windowEntries distinct entries at a time, and
// counts each entry once.
func (c *legCheck) recount(ctx context.Context) {
	if c.listed.older == nil {
		return // all entries of the scan were known
	}
	var dirty []int
	for i, b := range c.buckets {
		if !b.isClean(ofJournal) {
			dirty = append(dirty, i)
		}
	}
	c.listed = window{}
	for len(dirty) > 0 && ctx.Err() == nil {
		seen, taken := make(map[uint64]bool), make(map[int]bool)
		for room := windowEntries; len(dirty) > 0 && room > 0; dirty = dirty[1:] {
			taken[dirty[0]] = true
			b := c.buckets[dirty[0]]
			room -= b.items
			b.rests[ofJournal] = b.wanted
		}
		for e := range c.audit.journal(ctx, "") {
			i, d := c.bucketOf(e.transaction), c.journalFact(e)
			if taken[i] && !seen[d[0]] && e.at.Before(c.recentFrom) {
				seen[d[0]] = true
				c.buckets[i].rests[ofJournal].add(d.negated())
			}
		}
	}
}

// journal iterates over the entries of the journal's pages after a text, a KSUID or not.
func (a *Audit) journal(ctx context.Context, after string) iter.Seq[entryOf] {
	return func(yield func(entryOf) bool) {
		for item := range a.itemsOf(table.JournalPK, table.JournalAfter(after, "")).all(ctx) {
			p, _ := as[page](item)
			for _, e := range p.entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// unlisted is what an examined transaction seems to lack in the journal.
type unlisted struct {
	Finding
	at time.Time
}

// compareJournal compares a transaction with the journal's pages that name it. It returns the entries that none of them
// has: another may have them. Those that are too young are left out: then isMoving is true.
func (c *legCheck) compareJournal(ctx context.Context, l life, naming []table.Key) (
	missing []entryOf, found []Finding, isMoving bool,
) {
	wanted := l.journaled()
	missing = slices.Clone(wanted)
	for _, k := range naming {
		if k.PK != table.JournalPK {
			continue
		}
		p, _ := as[page](c.audit.get(ctx, k))
		for _, e := range p.entries {
			switch {
			case e.transaction != l.id:
			case slices.Contains(wanted, e):
				missing = slices.DeleteFunc(missing, func(m entryOf) bool { return m == e })
			case !c.audit.happened(ctx, e):
				found = append(found, Finding{JournalWrong, k, "", e.String(), "no such entry of " +
					strconv.Quote(l.id)})
			}
		}
	}
	settled := slices.DeleteFunc(missing, func(e entryOf) bool { return !e.at.Before(c.recentFrom) })
	return settled, found, len(settled) < len(missing)
}

// happened reports whether an event is stored that an entry is of: an end may have no hold.
func (a *Audit) happened(ctx context.Context, e entryOf) bool {
	switch v, _ := decode(a.get(ctx, e.key())); v := v.(type) {
	case header:
		return v.journaled() == e
	case outcome:
		return v.journaled() == e
	}
	return false
}

// noteUnlisted keeps entries that are to be searched for in the whole journal.
func (c *legCheck) noteUnlisted(missing []entryOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range missing {
		c.unlisted[c.journalFact(e)] = unlisted{Finding{JournalBehind, e.key(), "", absent, e.String()}, e.at}
	}
}

// searchJournal reads the journal from the oldest entry on that examined transactions seem to lack, and reports those
// that it does not have. When it reads it again, it only reads what was written meanwhile.
func (c *legCheck) searchJournal(ctx context.Context) {
	if len(c.unlisted) == 0 {
		return
	}
	from := c.audit.Now()
	for _, e := range c.unlisted {
		if e.at.Before(from) {
			from = e.at
		}
	}
	c.audit.repeat(ctx, examineRounds, examinePause, func(round, last int) (done bool) {
		began := c.audit.Now()
		for e := range c.audit.journal(ctx, ksuidBefore(from.Add(-clocksApart))) {
			delete(c.unlisted, c.journalFact(e))
		}
		from = began
		if done = len(c.unlisted) == 0; !done && round == last {
			var found []Finding
			for e := range maps.Values(c.unlisted) {
				found = append(found, e.Finding)
			}
			c.audit.report(ctx, c.unreported(found)...)
		}
		return done
	})
	clear(c.unlisted)
}
