package meter

import (
	"hash/maphash"
	"sync"

	"ledger.example/ledger/table"
)

// imagesSeen is how many images are remembered at least: more than a second's writes and a hot account's tail, in some
// ten megabytes.
const imagesSeen = 1 << 16

// seen remembers the images of items, by hashes of their keys: of the imagesSeen that were written or looked for last, and
// of at most twice as many. It is safe for concurrent use.
type seen struct {
	seed maphash.Seed

	mu       sync.Mutex
	recent   map[uint64]image
	previous map[uint64]image // those of before recent was full
}

func newSeen() *seen { return &seen{seed: maphash.MakeSeed(), recent: make(map[uint64]image)} }

func (s *seen) hash(k table.Key) uint64 {
	return maphash.String(s.seed, k.PK)*spread + maphash.String(s.seed, k.SK)
}

// of returns an item as it was seen last, and whether it ever was.
func (s *seen) of(k table.Key) (i image, known bool) {
	at := s.hash(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(at)
}

// set remembers an item as it is now, and returns it as it was seen last, and whether it ever was.
func (s *seen) set(k table.Key, now image) (before image, known bool) {
	at := s.hash(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known = s.get(at)
	s.put(at, now)
	return before, known
}

// get is called with the lock held.
func (s *seen) get(at uint64) (i image, known bool) {
	if i, known = s.recent[at]; known {
		return i, true
	}
	if i, known = s.previous[at]; known {
		s.put(at, i)
	}
	return i, known
}

// put is called with the lock held.
func (s *seen) put(at uint64, i image) {
	if len(s.recent) >= imagesSeen {
		s.previous, s.recent = s.recent, make(map[uint64]image, imagesSeen)
	}
	s.recent[at] = i
}
