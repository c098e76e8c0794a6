package projections

import (
	"testing"
	"time"

	"ledger.example/events"
)

// An entry must free the memory of postings that the seal has passed: its capacity must match its weight.
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
		t.Errorf("cached %t, complete %t, %d postings, capacity %d, weight %d", ok, e.complete, len(e.above),
			cap(e.above), e.weight())
	}
}
