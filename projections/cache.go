package projections

import (
	"cmp"
	"slices"
	"sync"

	"ledger.example/events"
)

// Bounds of a projector's cache. It stays below some 10 MB, so that it fits the smallest of functions.
const (
	cachedAboveMax  = 16_384 // postings above one balance's seal: those of more than a thousand a second
	cachedOthersMax = 16_384 // other postings of one balance
	cacheWeightMax  = 65_536 // weights of all entries
	entryWeight     = 8      // weight of an entry itself; each of its postings weighs 1
)

// balanceCache knows which postings the balances count that a projector wrote or read last. A refold then reads only
// what the seal is to pass. An entry is good for the very balance that it was committed with, version included, and
// for no other. When the cache is full, arbitrary entries are dropped. It is safe for concurrent use.
type balanceCache struct {
	mu      sync.Mutex
	entries map[events.Pair]*cacheEntry
	weight  int
}

// cacheEntry is what is known of the postings that one balance counts. One goroutine at a time uses it.
type cacheEntry struct {
	balance  Balance
	above    []Posting                 // counted above the seal, ascending
	complete bool                      // above has all of them
	others   map[events.KSUID]struct{} // some of those that are counted, most of them at or below the seal
}

// Lookup removes the entry of b from the cache and returns it; ok reports whether there was one. Otherwise it returns
// an empty entry. The caller owns the entry, and calls Commit only if its refold succeeds: after any failure nothing
// is known.
func (c *balanceCache) Lookup(b Balance) (entry *cacheEntry, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry = c.entries[b.Pair]
	c.drop(b.Pair)
	if entry == nil || entry.balance != b {
		return &cacheEntry{}, false
	}
	return entry, true
}

// Extend adds postings that the stream showed and that e does not have. It reports whether e then has every posting
// that is to be counted above the seal. If it cannot have, because figures are missing, nothing is added.
func (e *cacheEntry) Extend(dirty []dirtyPosting) bool {
	if !e.complete || slices.ContainsFunc(dirty, func(d dirtyPosting) bool { return d.figures == nil }) {
		return false
	}
	for _, d := range dirty {
		at, _ := e.find(d.id)
		e.above = slices.Insert(e.above, at, Posting{ID: d.id, Figures: *d.figures})
	}
	return true
}

// Commit puts e into the cache as the entry of b, the balance as it is stored by now. above, if not nil, is what b
// counts above its seal; read are postings that b counts, wherever they are.
func (c *balanceCache) Commit(e *cacheEntry, b Balance, above *tail, read []events.KSUID) {
	e.balance = b
	if above != nil {
		e.complete = above.after <= b.Seal.Through
		above.cut(b.Seal.Through)
		e.above = above.postings
	}
	if len(e.others)+len(read) > cachedOthersMax {
		e.others = nil // the newest are as likely to be asked for
	}
	if e.others == nil {
		e.others = make(map[events.KSUID]struct{}, len(read))
	}
	for _, id := range read {
		e.others[id] = struct{}{}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(b.Pair)
	for pair := range c.entries {
		if c.weight+e.weight() <= cacheWeightMax {
			break
		}
		c.drop(pair)
	}
	c.entries[b.Pair] = e
	c.weight += e.weight()
}

// drop removes an entry. The lock is held.
func (c *balanceCache) drop(pair events.Pair) {
	if e := c.entries[pair]; e != nil {
		c.weight -= e.weight()
		delete(c.entries, pair)
	}
}

func (e *cacheEntry) weight() int { return entryWeight + len(e.above) + len(e.others) }

// uncounted returns those of dirty that are not known to be counted.
func (e *cacheEntry) uncounted(dirty []dirtyPosting) (rest []dirtyPosting) {
	for _, d := range dirty {
		_, other := e.others[d.id]
		if _, above := e.find(d.id); !above && !other {
			rest = append(rest, d)
		}
	}
	return rest
}

// find returns where in e.above a posting is, or would be.
func (e *cacheEntry) find(id events.KSUID) (int, bool) {
	return slices.BinarySearchFunc(e.above, id, func(p Posting, id events.KSUID) int { return cmp.Compare(p.ID, id) })
}

// tail collects the postings above a seal while a refold counts them.
type tail struct {
	after    events.KSUID // postings has all those counted after it
	postings []Posting
}

// add adds the next posting. Postings at or below seal may be dropped. If there is no room even so, all are.
func (t *tail) add(p Posting, seal events.KSUID) {
	if len(t.postings) >= cachedAboveMax {
		if seal <= t.after {
			t.after, t.postings = p.ID, nil
			return
		}
		t.cut(seal)
	}
	t.postings = append(t.postings, p)
}

// cut drops the postings at or below seal.
func (t *tail) cut(seal events.KSUID) {
	n, _ := slices.BinarySearchFunc(t.postings, seal, func(p Posting, seal events.KSUID) int {
		if p.ID <= seal {
			return -1
		}
		return 1
	})
	if n > 0 {
		t.postings = slices.Clone(t.postings[n:]) // releases the memory of the rest
	}
	t.after = max(t.after, seal)
}
