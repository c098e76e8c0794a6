package projections

import (
	"cmp"
	"slices"
	"sync"

	"ledger.example/events"
)

// Bounds of a projector's cache. It stays below about 10 MB and so fits the smallest Lambda function.
const (
	cachedAboveMax   = 16_384 // postings above one balance's seal: more than 1,000 a second for the settle window
	cachedCountedMax = 16_384 // counted postings of one balance, most of them at or below its seal
	cacheWeightMax   = 65_536 // total weight of all entries
	entryWeight      = 8      // weight of an empty entry; each posting adds 1
)

// balanceCache remembers which postings are counted in the balances that a projector last read or wrote. It lets a
// refold read only the postings that the seal passes. An entry is valid only for a balance equal to the one that it was
// committed with, version included. A full cache drops arbitrary entries. It is safe for concurrent use.
type balanceCache struct {
	mu      sync.Mutex
	entries map[events.Pair]*cacheEntry
	weight  int
}

// cacheEntry holds postings that one balance counts. It is not safe for concurrent use.
type cacheEntry struct {
	balance  Balance
	above    []Posting                 // counted above the seal, ascending
	complete bool                      // above has all of them
	counted  map[events.KSUID]struct{} // some counted postings, most of them at or below the seal
}

// Lookup removes the entry of b from the cache and returns it. ok is false on a cache miss; the entry is then empty.
// The caller owns the entry. It calls Commit only if its refold succeeds: after a failure the stored state is unknown.
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

// Extend adds dirty postings, which e does not have, from their stream records. It reports whether e then has every
// posting to count above the seal. It adds nothing and returns false if e is incomplete or a record has no figures.
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

// Commit puts e into the cache as the entry of b, the stored balance. above, if not nil, has the postings that b counts
// above its seal; otherwise e has them. read has any postings that b counts.
func (c *balanceCache) Commit(e *cacheEntry, b Balance, above *tail, read []events.KSUID) {
	e.balance = b
	if above != nil {
		e.complete, e.above = above.after <= b.Seal.Through, above.postings
	}
	if e.above = cut(e.above, b.Seal.Through); len(e.above) > cachedAboveMax {
		e.complete, e.above = false, nil
	}
	if len(e.counted)+len(read) > cachedCountedMax {
		e.counted = nil // start again with the newest postings
	}
	if e.counted == nil {
		e.counted = make(map[events.KSUID]struct{}, len(read))
	}
	for _, id := range read {
		e.counted[id] = struct{}{}
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

// drop removes an entry. The caller holds c.mu.
func (c *balanceCache) drop(pair events.Pair) {
	if e := c.entries[pair]; e != nil {
		c.weight -= e.weight()
		delete(c.entries, pair)
	}
}

func (e *cacheEntry) weight() int { return entryWeight + len(e.above) + len(e.counted) }

// uncounted returns those of dirty that are not known to be counted.
func (e *cacheEntry) uncounted(dirty []dirtyPosting) (rest []dirtyPosting) {
	for _, d := range dirty {
		_, counted := e.counted[d.id]
		if _, above := e.find(d.id); !above && !counted {
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
	after    events.KSUID // postings is complete after it
	postings []Posting
}

// add appends the next posting. When t is full, it drops the postings at or below seal. If the seal has not moved, it
// drops all.
func (t *tail) add(p Posting, seal events.KSUID) {
	if len(t.postings) >= cachedAboveMax {
		if seal <= t.after {
			t.after, t.postings = p.ID, nil
			return
		}
		t.after, t.postings = seal, cut(t.postings, seal)
	}
	t.postings = append(t.postings, p)
}

// cut returns the postings above seal.
func cut(postings []Posting, seal events.KSUID) []Posting {
	n, _ := slices.BinarySearchFunc(postings, seal, func(p Posting, seal events.KSUID) int {
		if p.ID <= seal {
			return -1
		}
		return 1
	})
	if n > 0 {
		postings = slices.Clone(postings[n:]) // frees the memory of the others
	}
	return postings
}
