package ledger

import (
	"fmt"
	"testing"
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
