package audit

import (
	"context"
	"slices"
	"sync"
	"time"

	"ledger.example/internal/table"
)

// A genuine event that was not listed was nearly always projected, and the reverse: two functions read the stream. An
// event that neither has seen, although both have seen later ones, may never have been in the stream as a new item of
// the ledger: somebody may have added it. A rebuild would make it count, so the audit names it.

const (
	// listedWithin bounds the age of an event that a lister lists. A rebuild lists older ones.
	listedWithin = 10 * time.Minute
	// seenLater is how much later the other events must be: shards of the stream are read at different speeds.
	seenLater = 10 * time.Minute
)

// progress says how far the lister and the projector got. It is safe for concurrent use.
type progress struct {
	mu          sync.Mutex
	first, last time.Time          // of the events that were listed soon after they were recorded
	projected   time.Time          // of the newest posting that a balance counts
	behind      map[table.Key]bool // balances that lack settled postings
}

// list notes the entries of a page of the journal.
func (p *progress) list(page journalPage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range page.Entries {
		if page.Void || page.at.Sub(e.At) > listedWithin {
			continue
		}
		if p.first.IsZero() || e.At.Before(p.first) {
			p.first = e.At
		}
		if e.At.After(p.last) {
			p.last = e.At
		}
	}
}

// project notes the end of a balance.
func (p *progress) project(b balance, now time.Time) {
	at, ok := instantOf(b.Head.Through)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok && at.After(p.projected) && at.Before(now) {
		p.projected = at
	}
}

// lacks notes a balance that lacks settled postings.
func (p *progress) lacks(balance table.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.behind) < maxPartials {
		p.behind[balance] = true
	}
}

// passed reports whether earlier events were listed, and later ones listed and projected.
func (p *progress) passed(e journalEntry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	later := e.At.Add(seenLater)
	return !p.first.IsZero() && p.first.Before(e.At) && p.last.After(later) && p.projected.After(later)
}

// countsNone reports whether all balances of some legs lack postings. These may be the legs'.
func (p *progress) countsNone(legs []leg) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(legs, func(l leg) bool { return !p.behind[table.Balance.Key(l.Account, l.Asset)] })
}

// nameMissing returns the findings about events that no page of the journal has. If an event that was projected is
// missing, too, then those that were recorded at about the same time were lost with it, for example with their page.
func (a *Audit) nameMissing(ctx context.Context, missing []journalEntry) (found []Finding) {
	unseen := make(map[journalEntry]bool)
	var seen []time.Time // when the others were recorded
	for _, e := range missing {
		switch {
		case !a.progress.passed(e):
		case a.isSeen(ctx, e):
			seen = append(seen, e.At)
		default:
			unseen[e] = true
		}
	}
	slices.SortFunc(seen, time.Time.Compare)
	isLost := func(e journalEntry) bool {
		i, _ := slices.BinarySearchFunc(seen, e.At.Add(-clockSkew), time.Time.Compare)
		return i < len(seen) && seen[i].Before(e.At.Add(clockSkew))
	}
	for _, e := range missing {
		code, wanted := JournalBehind, e.String()
		if unseen[e] && !isLost(e) {
			code, wanted = EventUnseen, e.String()+", or no such event"
		}
		found = append(found, Finding{code, e.Event, "", absent, wanted})
	}
	return found
}

// isSeen reports whether a projection shows an event, or a later event needs it. It is true if that is not known.
func (a *Audit) isSeen(ctx context.Context, e journalEntry) bool {
	value, _ := decode(a.get(ctx, e.Event))
	exists := func(k table.Key) bool { return len(a.get(ctx, k)) > 0 }
	shows := func(k table.Key, number int64) bool {
		shown, _ := decode(a.get(ctx, k))
		is, ok := shown.(interface{ shown() numbered })
		return ok && is.shown().Number >= number
	}
	switch v := value.(type) {
	case nil:
		return true
	case header:
		lane := table.Lane(v.ID, a.lanesAt(ctx, v.at))
		return exists(table.Listed.Key(lane, v.Legs[0].ID, v.ID)) || !a.progress.countsNone(v.Legs)
	case outcome:
		return !a.progress.countsNone(v.Legs)
	case account:
		return a.tagsShow(ctx, v.ID, 1)
	case change:
		return exists(table.Change.Key(v.ID, v.Number+1)) || a.tagsShow(ctx, v.ID, v.Number)
	case period:
		return exists(table.Period.Key(table.Number(v.Number + 1)))
	case grant:
		if v.Group != "" {
			return shows(table.GroupMembership.Key(v.Group, v.User), v.Number)
		}
		return shows(table.Membership.Key(v.Account, v.User), v.Number)
	case grouping:
		return shows(table.Grouped.Key(v.Account, v.changed()), v.Number)
	}
	return false // no projection shows it
}
