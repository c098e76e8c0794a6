package ledger

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"ledger.example/events"
)

// Bounds of the caches of one process, so that they fit into the smallest function.
const (
	definitionsBytes  = 16 << 20 // of accounts, and as many of assets: about 50,000 of each
	groupsBytes       = 2 << 20
	reversedBytes     = 8 << 20 // of transactions with their reversals
	creditsPairs      = 100_000 // about 20 MB
	definitionMinimum = 256     // estimated bytes of a definition without its texts
	limitBytes        = 128     // estimated bytes of one overdraft limit
)

// cache is a map that is bounded by the weight of its values. When it is full it evicts arbitrary entries; each costs
// one read later. It copies what it is given and what it returns, so nobody can write what it holds. It is safe for
// concurrent use.
type cache[K comparable, V any] struct {
	most   int
	weight func(V) int
	clone  func(V) V // returns a copy that shares nothing that can be written

	mu      sync.RWMutex
	values  map[K]V
	weights int // the sum over values
}

func newCache[K comparable, V any](most int, weight func(V) int, clone func(V) V) *cache[K, V] {
	return &cache[K, V]{most: most, weight: weight, clone: clone, values: map[K]V{}}
}

// itself is the clone of a value that has nothing behind it.
func itself[V any](v V) V { return v }

func (c *cache[K, V]) get(k K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	v, ok := c.values[k]
	return c.clone(v), ok
}

// put adds v unless k is cached already.
func (c *cache[K, V]) put(k K, v V) {
	c.change(k, func(cached V, ok bool) V {
		if ok {
			return cached
		}
		return v
	})
}

// change replaces the value of k, atomically. to must not write what is behind the cached value.
func (c *cache[K, V]) change(k K, to func(cached V, ok bool) V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.values[k]
	v := c.clone(to(cached, ok))
	w := c.weight(v)
	if ok {
		c.weights -= c.weight(cached)
		delete(c.values, k)
	}
	for old, value := range c.values {
		if c.weights+w <= c.most {
			break
		}
		delete(c.values, old)
		c.weights -= c.weight(value)
	}
	c.weights += w
	c.values[k] = v
}

// readTime is the time of a read by two clocks. The monotonic clock may stop while a function is frozen or a machine is
// suspended, and the wall clock may be set back.
type readTime struct {
	monotonic time.Time
	wall      int64 // nanoseconds since 1970
}

func readTimeNow(now func() time.Time) readTime {
	return readTime{monotonic: time.Now(), wall: now().UnixNano()}
}

// within reports whether the time is less than age ago, by both clocks.
func (r readTime) within(age time.Duration, now func() time.Time) bool {
	return time.Since(r.monotonic) < age && now().UnixNano()-r.wall < int64(age)
}

func accountBytes(a Account) int {
	size := definitionBytes(a) + limitBytes*(len(a.Overdraft.Limits)+len(a.highest)+len(a.Rates))
	size += metadataBytes(a.Metadata)
	if a.Version > 1 {
		size += metadataBytes(a.opening.Metadata) + definitionBytes(a.opening) +
			limitBytes*(len(a.opening.Overdraft.Limits)+len(a.opening.Rates))
	}
	return size
}

// metadataBytes counts the texts of metadata.
func metadataBytes(metadata map[string]string) (size int) {
	for key, value := range metadata {
		size += limitBytes + len(key) + len(value)
	}
	return size
}

// definitionBytes counts the texts of a definition.
func definitionBytes[E any](definition E) int {
	size, v := definitionMinimum, reflect.ValueOf(definition)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String {
			size += f.Len()
		}
	}
	return size
}

// How old a cached account may be. Debits of limited accounts may use any age, because their guards have the newest
// version.
const (
	debitAge  = time.Minute      // for debits of accounts without a limit
	creditAge = 15 * time.Minute // for credits
)

// knownAccounts caches accounts. It keeps the newest version read of each.
type knownAccounts struct {
	cache *cache[string, knownAccount]
	now   func() time.Time // the process's clock
}

type knownAccount struct {
	account Account
	readAt  readTime
}

func newKnownAccounts(now func() time.Time) *knownAccounts {
	weight := func(a knownAccount) int { return accountBytes(a.account) }
	clone := func(a knownAccount) knownAccount { return knownAccount{a.account.clone(), a.readAt} }
	return &knownAccounts{newCache[string](definitionsBytes, weight, clone), now}
}

// anyAge returns a cached account of any age.
func (k *knownAccounts) anyAge(id string) (Account, bool) {
	known, ok := k.cache.get(id)
	return known.account, ok
}

// fresh returns a cached account that is fresh enough for debits, credits or both.
func (k *knownAccounts) fresh(id string, debited, credited bool) (Account, bool) {
	known, ok := k.cache.get(id)
	switch {
	case !ok,
		credited && !known.readAt.within(creditAge, k.now),
		debited && known.account.Overdraft.Unlimited && !known.readAt.within(debitAge, k.now):
		return Account{}, false
	}
	return known.account, true
}

// add caches an account that was read at readAt or later.
func (k *knownAccounts) add(a Account, readAt readTime) {
	k.cache.change(a.ID, func(known knownAccount, ok bool) knownAccount {
		if ok && known.readAt.within(creditAge, k.now) && (known.account.Version > a.Version ||
			known.account.Version == a.Version && known.readAt.monotonic.After(readAt.monotonic)) {
			return known
		}
		return knownAccount{a, readAt}
	})
}

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
		cache: newCache[events.Pair](creditsPairs, func(credits) int { return 1 }, itself), now: now,
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

// fresh returns the cache entry of a pair, unless it is absent or has expired.
func (c *knownCredits) fresh(p events.Pair) (credits, bool) {
	entry, ok := c.cache.get(p)
	if !ok || !entry.readAt.within(creditsTTL, c.now) {
		return credits{}, false
	}
	return entry, true
}

// setUnguarded records whether the guard of a pair is missing or has no version, if the pair is cached.
func (c *knownCredits) setUnguarded(p events.Pair, unguarded bool) {
	if entry, ok := c.cache.get(p); !ok || entry.unguarded == unguarded {
		return
	}
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
