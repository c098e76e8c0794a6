package projections

import (
	"slices"
	"strings"
	"sync"

	"ledger.example/events"
)

// Bounds of what one projector remembers: some 10 MB, so that it fits the smallest of functions beside everything else.
const (
	aboveMost      = 16_384 // postings above one balance's seal: more than a thousand a second
	belowMost      = 16_384 // postings besides
	rememberedMost = 65_536 // the weights of all balances
	balanceWeight  = 8      // of a balance itself, in postings
)

// remembered is which postings one balance counts, as a projector knows that wrote it or read it last. It holds for the very
// balance that is stored with it, version and all, and for no other.
type remembered struct {
	balance Balance
	above   []Posting                 // those counted above its seal, ascending
	all     bool                      // that above has all of them
	below   map[events.KSUID]struct{} // some of all that are counted, most of them at or below it
}

func (m *remembered) weight() int { return balanceWeight + len(m.above) + len(m.below) }

// without returns marks without those that are known to be counted; nil knows none.
func (m *remembered) without(marks []mark) []mark {
	if m == nil {
		return marks
	}
	var unknown []mark
	for _, mark := range marks {
		if _, counted := m.below[mark.id]; counted {
			continue
		}
		if _, counted := m.find(mark.id); !counted {
			unknown = append(unknown, mark)
		}
	}
	return unknown
}

// find returns where above a posting is or would be.
func (m *remembered) find(id events.KSUID) (int, bool) {
	return slices.BinarySearchFunc(m.above, id, func(p Posting, id events.KSUID) int { return strings.Compare(string(p.ID), string(id)) })
}

// add takes in that postings are counted.
func (m *remembered) add(read []events.KSUID) {
	if len(m.below)+len(read) > belowMost {
		m.below = nil // the newest are as likely to be asked for
	}
	if m.below == nil {
		m.below = make(map[events.KSUID]struct{}, len(read))
	}
	for _, id := range read {
		m.below[id] = struct{}{}
	}
}

// memory is what a projector remembers of balances. Who takes one owns it, and puts it back if it still holds: whatever goes
// wrong meanwhile, it is forgotten. When there is too much, arbitrary ones are forgotten. It is safe for concurrent use.
type memory struct {
	mu       sync.Mutex
	balances map[Key]*remembered
	weight   int
}

// take returns what is remembered of k, nil if nothing, and forgets it.
func (m *memory) take(k Key) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.balances[k]
	m.forget(k)
	return taken
}

func (m *memory) put(r *remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(r.balance.Key)
	for k := range m.balances {
		if m.weight+r.weight() <= rememberedMost {
			break
		}
		m.forget(k)
	}
	m.balances[r.balance.Key] = r
	m.weight += r.weight()
}

// forget drops k. The lock is held.
func (m *memory) forget(k Key) {
	if r := m.balances[k]; r != nil {
		m.weight -= r.weight()
		delete(m.balances, k)
	}
}
