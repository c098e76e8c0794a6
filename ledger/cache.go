package ledger

import (
	"sync"
	"time"

	"ledger.example/events"
)

// Bounds of the caches of one process, so that they fit into the smallest function.
const (
	definitionsBytes  = 16 << 20 // of accounts, and as many of assets: about 50,000 of each
	groupsBytes       = 2 << 20
	creditsPairs      = 100_000 // about 20 MB
	definitionMinimum = 256     // estimated bytes of a definition without its texts
	limitBytes        = 128     // estimated bytes of one overdraft limit
)

// cache is a map that is bounded by the weight of its values. When it is full it evicts arbitrary entries; each costs
// one read later. Pointers in it point to immutable values. It is safe for concurrent use.
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

func accountBytes(a *Account) int {
	texts := len(a.ID) + len(a.Name) + len(a.Profile) + len(a.OpenedBy) + len(a.ChangedBy)
	size := definitionMinimum + texts + limitBytes*(len(a.Overdraft.Limits)+len(a.highest))
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
