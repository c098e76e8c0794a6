package memdb

import (
	"context"
	"slices"
	"time"

	"ledger.example/internal/table"
)

const (
	// changesAhead is how many changes a store may be ahead of a reader of its streams before writers of events wait:
	// some seconds of a projector's work.
	changesAhead = 20_000
	// waitMost bounds the wait of one write. A reader that stopped reading slows the writers, and does not end them.
	waitMost = time.Second
	// dropAtOnce is how many changes that all readers have read are dropped together.
	dropAtOnce = 10_000
)

// readers are the positions of those who read the streams: of each iterator that began at the trim horizon, how many
// changes lie before it. What one of them has not read stays in memory. A write never waits for a reader that has no
// more than changesAhead changes before it.
//
// A projector writes projections, and those must not wait for the projector. So only writes of events wait. The store's
// lock guards the readers.
type readers struct {
	at   []int
	read chan struct{} // closed and replaced when a reader goes on
}

// add registers a reader and returns its number.
func (r *readers) add(at int) (number int) {
	r.at = append(r.at, at)
	return len(r.at) - 1
}

// move notes that a reader has read the changes before at.
func (r *readers) move(number, at int) {
	if number >= len(r.at) || at <= r.at[number] {
		return // an iterator may be used again
	}
	r.at[number] = at
	if r.read != nil {
		close(r.read)
		r.read = nil
	}
}

// drop drops changes from memory: those that all readers have read or, without a reader, all but the newest. The lock
// is held.
func (s *Store) drop() {
	drop, least := len(s.changes)-changesKept, changesKept
	if len(s.readers.at) > 0 {
		drop, least = slices.Min(s.readers.at)-s.trimmed, dropAtOnce
	}
	if drop >= least {
		s.changes = slices.Clone(s.changes[drop:])
		s.trimmed += drop
	}
}

// awaitReaders waits while a reader is too far behind, at most waitMost, if one of the requests puts an event.
func (s *Store) awaitReaders(ctx context.Context, requests []writeRequest) {
	if !slices.ContainsFunc(requests, func(r writeRequest) bool {
		return r.action == putting && table.IsEvent(table.TextOf(r.Item[table.AttrSK]))
	}) {
		return
	}
	read := s.behind()
	if read == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, waitMost)
	defer cancel()
	for ; read != nil; read = s.behind() {
		select {
		case <-read:
		case <-ctx.Done():
			return
		}
	}
}

// behind returns nil if no reader is too far behind, else a channel that is closed when one goes on.
func (s *Store) behind() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.readers.at) == 0 || s.trimmed+len(s.changes)-slices.Min(s.readers.at) <= changesAhead {
		return nil
	}
	if s.readers.read == nil {
		s.readers.read = make(chan struct{})
	}
	return s.readers.read
}
