package ledger

import (
	"context"
	"strings"
	"sync"
	"time"

	"ledger.example/events"
)

// creditsTTL is how long cached credits may be used. It bounds how long a wrong balance, or a table that was restored
// under a running process, can mislead commands: this and one commandTimeout. A refresh costs one read unit and a share
// of one request.
const creditsTTL = 5 * time.Minute

// knownCredits caches, for each pair, an amount that committed transactions have credited. Credits only grow, so every
// such amount stays a safe lower bound, and the higher of two fresh amounts is kept. An amount expires after
// creditsTTL, in case it was wrong when it was read. A command keeps the amounts that it has used (see limit).
//
// Only reads raise an amount. The postings of this process do not: a concurrent read may include them already, and they
// would be counted twice.
type knownCredits struct {
	cache *cache[events.Pair, credits]
	now   func() time.Time // the process's clock

	mu    sync.Mutex
	reads map[events.Pair]chan struct{} // the newest exact read of a pair that is in flight; closed at its end
}

// credits is the cache entry of one pair.
type credits struct {
	amount    events.Amount
	readAt    readTime
	unguarded bool // the guard is missing or has no version; a hint
}

func newKnownCredits(now func() time.Time) *knownCredits {
	return &knownCredits{
		cache: newCache[events.Pair](creditsPairs, func(credits) int { return 1 }), now: now,
		reads: make(map[events.Pair]chan struct{}),
	}
}

// beginRead notes that an exact read of a pair begins. The caller must call end.
func (c *knownCredits) beginRead(p events.Pair) (end func()) {
	read := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads[p] = read
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(read)
		if c.reads[p] == read {
			delete(c.reads, p)
		}
	}
}

// readWait is how long a command waits for the exact read of another one.
const readWait = 500 * time.Millisecond

// awaitRead waits for the exact read of a pair that is in flight, if there is one.
func (c *knownCredits) awaitRead(ctx context.Context, p events.Pair) {
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	c.mu.Lock()
	read := c.reads[p]
	c.mu.Unlock()
	if read == nil {
		return
	}
	select {
	case <-read:
	case <-ctx.Done():
	}
}

// fresh returns the cached credits of a pair, and whether there is a fresh entry.
func (c *knownCredits) fresh(p events.Pair) (events.Amount, bool) {
	entry, ok := c.freshEntry(p)
	return entry.amount, ok
}

// freshEntry returns the fresh cache entry of a pair.
func (c *knownCredits) freshEntry(p events.Pair) (credits, bool) {
	entry, ok := c.cache.get(p)
	if !ok || !entry.readAt.within(creditsTTL, c.now) {
		return credits{}, false
	}
	return entry, true
}

// addLookup caches credits and a guard that were just read.
func (c *knownCredits) addLookup(p events.Pair, to events.Amount, guard guard) {
	c.raise(p, to)
	if guard.version == 0 {
		c.setUnguarded(p, true)
	}
}

// markGuarded records that the pair's guard exists and has a version.
func (c *knownCredits) markGuarded(p events.Pair) {
	if entry, ok := c.cache.get(p); ok && entry.unguarded {
		c.setUnguarded(p, false)
	}
}

func (c *knownCredits) setUnguarded(p events.Pair, unguarded bool) {
	c.cache.change(p, func(entry credits, _ bool) credits {
		entry.unguarded = unguarded
		return entry
	})
}

// raise caches credits that were just read.
func (c *knownCredits) raise(p events.Pair, to events.Amount) {
	// The texts of a request may be parts of its whole body.
	p = events.Pair{Account: strings.Clone(p.Account), Asset: strings.Clone(p.Asset)}
	c.cache.change(p, func(entry credits, ok bool) credits {
		if ok && entry.amount.Cmp(to) > 0 && entry.readAt.within(creditsTTL, c.now) {
			return entry
		}
		return credits{amount: to, readAt: readTimeNow(c.now)}
	})
}
