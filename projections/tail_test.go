package projections

import (
	"testing"
	"time"

	"ledger.example/events"
)

// sealedTail is a tail of n postings, a millisecond apart, each sealed before the next came.
func sealedTail(n int) (*tail, func(int) events.KSUID) {
	id := func(n int) events.KSUID {
		return events.FirstKSUID(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Millisecond))
	}
	t := &tail{}
	for i := 1; i <= n; i++ {
		t.add(Posting{ID: id(i)}, id(i-1))
	}
	return t, id
}

// What was sealed is let go: the weight is what is kept.
func TestASealedTailIsLetGo(t *testing.T) {
	long, id := sealedTail(16_000)
	r := &refold{tail: long}
	r.stored.Seal.Through = id(16_000)
	if m := r.learned(nil); cap(m.above) > 64 {
		t.Errorf("%d postings, room for %d, a weight of %d", len(m.above), cap(m.above), m.weight())
	}
}

// A tail that is full of sealed postings has room for the next.
func TestAFullTailOfSealedPostings(t *testing.T) {
	full, id := sealedTail(aboveMost)
	full.add(Posting{ID: id(aboveMost + 1)}, id(aboveMost))
	r := &refold{tail: full}
	r.stored.Seal.Through = id(aboveMost)
	if m := r.learned(nil); !m.all || len(m.above) != 1 {
		t.Errorf("all: %v, %d postings", m.all, len(m.above))
	}
}
