package ledger

import (
	"strings"
	"time"

	"ledger.example/events"
)

// creditsTTL is how long credits that were read may be used. A balance that was wrong for a moment, or a table that was
// restored under a warm process, misleads commands no longer than this and one commandTimeout. Reading one balance anew
// takes a share of one request, and one read unit.
const creditsTTL = 5 * time.Minute

// knownCredits caches, for each pair, an amount that the account is known to have been credited of the asset in
// committed transactions. Credits only grow, so any figure once true stays a safe lower bound, and of two that are
// fresh the higher one is kept. None is used for longer than creditsTTL, as what was read may not have been true. A
// command keeps what it knew for itself (see limit).
//
// Only reads raise it, never what this process posts: a read at the same time may include that posting already, and
// adding it again would be too much.
type knownCredits struct {
	cache *cache[events.Pair, credits]
	now   func() time.Time // the process's clock
}

// credits is what was read of one pair.
type credits struct {
	known     events.Amount
	read      reading
	unguarded bool // there was no guard, or it was told of no change: a hint
}

func newKnownCredits(now func() time.Time) *knownCredits {
	return &knownCredits{newCache[events.Pair](creditsPairs, func(credits) int { return 1 }), now}
}

// of returns what is known of the pair, and whether anything fresh is cached.
func (c *knownCredits) of(p events.Pair) (events.Amount, bool) {
	read, ok := c.entry(p)
	return read.known, ok
}

// entry is of, with all that is cached.
func (c *knownCredits) entry(p events.Pair) (credits, bool) {
	read, ok := c.cache.get(p)
	if !ok || !read.read.within(creditsTTL, c.now) {
		return credits{}, false
	}
	return read, true
}

// found takes in what was read just now, with the guard.
func (c *knownCredits) found(p events.Pair, to events.Amount, guard Guard) {
	c.raise(p, to)
	if guard.Change == 0 {
		c.setUnguarded(p, true)
	}
}

// guarded notes that the pair's guard is there and was told.
func (c *knownCredits) guarded(p events.Pair) {
	if read, ok := c.cache.get(p); ok && read.unguarded {
		c.setUnguarded(p, false)
	}
}

func (c *knownCredits) setUnguarded(p events.Pair, unguarded bool) {
	c.cache.change(p, func(read credits, _ bool) credits {
		read.unguarded = unguarded
		return read
	})
}

// raise takes in what was read just now.
func (c *knownCredits) raise(p events.Pair, to events.Amount) {
	// The texts of a request may be parts of its whole body.
	p = events.Pair{Account: strings.Clone(p.Account), Asset: strings.Clone(p.Asset)}
	c.cache.change(p, func(read credits, ok bool) credits {
		if ok && read.known.Cmp(to) > 0 && read.read.within(creditsTTL, c.now) {
			return read
		}
		return credits{known: to, read: readingNow(c.now)}
	})
}
