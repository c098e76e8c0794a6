package projections

import (
	"testing"
	"time"

	"ledger.example/events"
)

// After many postings, each sealed before the next came, an entry holds no more than it weighs, and there is room for
// the next.
func TestSealedPostingsLeaveTheCache(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	id := func(n int) events.KSUID { return events.FirstKSUID(start.Add(time.Duration(n) * time.Millisecond)) }
	above := &tail{}
	for i := 1; i <= cachedAboveMax+1; i++ {
		above.add(Posting{ID: id(i)}, id(i-1))
	}
	c, b := balanceCache{entries: make(map[events.Pair]*cacheEntry)}, Balance{Seal: Fold{Through: id(cachedAboveMax)}}
	c.Commit(&cacheEntry{}, b, above, nil)
	e, ok := c.Lookup(b)
	if !ok || !e.complete || len(e.above) != 1 || cap(e.above) > 64 || e.weight() != entryWeight+1 || c.weight != 0 {
		t.Errorf("cached %t, complete %t, %d postings in room for %d, a weight of %d", ok, e.complete, len(e.above),
			cap(e.above), e.weight())
	}
}
