package ledger

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
)

func TestCacheIsBounded(t *testing.T) {
	m := newCache[string](100, func(v string) int { return len(v) })
	for i := range 1000 {
		k := fmt.Sprint(i)
		m.put(k, "0123456789")
		if v, ok := m.get(k); !ok || v != "0123456789" {
			t.Fatalf("%s was evicted at once", k)
		}
		if len(m.values) > 10 || m.weights > 100 {
			t.Fatalf("%d values of weight %d are kept", len(m.values), m.weights)
		}
	}
	m.put("large", string(make([]byte, 150))) // beyond the bound alone: kept until the next
	m.put("small", "x")
	if len(m.values) > 2 || m.weights > 151 {
		t.Errorf("%d values of weight %d are kept", len(m.values), m.weights)
	}
	m.put("small", "y")
	if v, _ := m.get("small"); v != "x" {
		t.Errorf("a definition was replaced by %q", v)
	}
}

func TestKnownCreditsOnlyRise(t *testing.T) {
	c := newKnownCredits(time.Now)
	p := events.Pair{Account: "jane", Asset: "USD"}
	if _, ok := c.fresh(p); ok {
		t.Error("known before anything was read")
	}
	c.raise(p, events.Amount{})
	if known, ok := c.fresh(p); !ok || !known.IsZero() {
		t.Errorf("zero was not cached: %v %v", known, ok)
	}
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range int64(1000) {
				n := events.NewAmount(i*8 + int64(w))
				c.raise(p, n)
				if known, _ := c.fresh(p); known.Cmp(n) < 0 {
					t.Errorf("%v after it was raised to %v", known, n)
				}
			}
		})
	}
	all.Wait()
	if known, _ := c.fresh(p); known != events.NewAmount(7999) {
		t.Errorf("%v is known, want 7999", known)
	}
	if known, _ := c.fresh(events.Pair{Account: "jane", Asset: "EUR"}); !known.IsZero() {
		t.Errorf("another pair has %v", known)
	}
}
