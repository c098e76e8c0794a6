package ledger

import (
	"sync"
	"time"

	"ledger.example/events"
)

// Bounds of what one process caches, so that it fits the smallest of functions beside everything else.
const (
	definitionsBytes  = 16 << 20 // of accounts, and again of assets: some 50,000 of either
	groupsBytes       = 2 << 20  // of groups
	creditsPairs      = 100_000  // some 20 MB
	definitionMinimum = 256      // bytes of a definition besides its texts, roughly
	limitBytes        = 128      // bytes of one limit of an overdraft, roughly
)

// cache is a map that is bounded by the weight of its values. When it is full it evicts arbitrary ones, each of which
// costs one read later. Pointers in it point to what never changes. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	most   int
	weight func(V) int

	mu      sync.RWMutex
	values  map[K]V
	weights int // the sum over values
}

func newCache[K comparable, V any](most int, weight func(V) int) *cache[K, V] {
	return &cache[K, V]{most: most, weight: weight, values: map[K]V{}}
}

func (c *cache[K, V]) get(k K) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	v, ok := c.values[k]
	return v, ok
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

// change replaces the value of k, atomically.
func (c *cache[K, V]) change(k K, to func(cached V, ok bool) V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.values[k]
	v := to(cached, ok)
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

// reading is when something was read, by two clocks: the stopwatch may stand still while a function is frozen or a
// machine asleep, and the process's clock may be set back.
type reading struct {
	stopwatch time.Time
	clock     int64 // in nanoseconds since 1970
}

func readingNow(now func() time.Time) reading {
	return reading{stopwatch: time.Now(), clock: now().UnixNano()}
}

// within reports whether the reading is younger than age.
func (r reading) within(age time.Duration, now func() time.Time) bool {
	return time.Since(r.stopwatch) < age && now().UnixNano()-r.clock < int64(age)
}

func accountBytes(a *Account) int {
	texts := len(a.ID) + len(a.Name) + len(a.Profile) + len(a.OpenedBy) + len(a.ChangedBy)
	size := definitionMinimum + texts + limitBytes*len(a.Overdraft.Limits)
	if a.Version > 1 {
		o := a.opening
		size += definitionMinimum + len(o.Name) + len(o.Profile) + limitBytes*len(o.Overdraft.Limits)
	}
	return size
}

func assetBytes(a *events.AssetRegistered) int {
	return definitionMinimum + len(a.ID) + len(a.Name) + len(a.Description) + len(a.Actor)
}

func groupBytes(g *events.GroupRegistered) int {
	return definitionMinimum + len(g.ID) + len(g.Name) + len(g.Description) + len(g.Actor)
}
