package ledger

import (
	"sync"

	"ledger.example/events"
)

// Bounds of what one process remembers, so that it fits the smallest of functions beside everything else.
const (
	definitionsBytes  = 16 << 20 // of accounts, and again of assets: some 50,000 of either
	creditsPairs      = 100_000  // some 20 MB
	definitionMinimum = 256      // bytes of a definition besides its texts, roughly
	limitBytes        = 128      // bytes of one limit of an overdraft, roughly
)

// memory is a map of values that never change (pointers: what they point to), bounded by their weight: when it is full it forgets arbitrary ones,
// which costs a read and nothing else. It is safe for concurrent use.
type memory[K comparable, V any] struct {
	most   int
	weight func(V) int

	mu      sync.RWMutex
	values  map[K]V
	weights int
}

func newMemory[K comparable, V any](most int, weight func(V) int) *memory[K, V] {
	return &memory[K, V]{most: most, weight: weight, values: map[K]V{}}
}

func (m *memory[K, V]) get(k K) (V, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.values[k]
	return v, ok
}

// put remembers v unless k is known already.
func (m *memory[K, V]) put(k K, v V) {
	m.change(k, func(known V, ok bool) V {
		if ok {
			return known
		}
		return v
	})
}

// change replaces what is known of k, atomically. Both values must have the same weight.
func (m *memory[K, V]) change(k K, to func(known V, ok bool) V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.values[k]
	v := to(known, ok)
	if ok {
		m.values[k] = v
		return v
	}
	w := m.weight(v)
	for old, value := range m.values {
		if m.weights+w <= m.most {
			break
		}
		delete(m.values, old)
		m.weights -= m.weight(value)
	}
	m.values[k] = v
	m.weights += w
	return v
}

func accountBytes(a *events.AccountOpened) int {
	return definitionMinimum + len(a.ID) + len(a.Name) + len(a.Profile) + len(a.Actor) + limitBytes*len(a.Overdraft.Limits)
}

func assetBytes(a *events.AssetRegistered) int {
	return definitionMinimum + len(a.ID) + len(a.Name) + len(a.Description) + len(a.Actor)
}
