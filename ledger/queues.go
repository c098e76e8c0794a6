package ledger

import (
	"context"
	"slices"
	"sync"
)

// queues let the commands of a process that would contend for one item take turns, in their order. Commands of other
// processes may contend all the same: a queue only saves attempts. It is safe for concurrent use.
type queues struct {
	mu    sync.Mutex
	lines map[string][]chan struct{} // of each command; the first has its turn. A turn closes the channel
}

// enter waits for a turn in the queue of a key. ok is false if ctx ends first. Otherwise the caller must call leave.
func (q *queues) enter(ctx context.Context, key string) (leave func(), ok bool) {
	turn := make(chan struct{})
	leave = func() { q.leave(key, turn) }
	q.mu.Lock()
	if q.lines == nil {
		q.lines = make(map[string][]chan struct{})
	}
	if q.lines[key] = append(q.lines[key], turn); len(q.lines[key]) == 1 {
		close(turn)
	}
	q.mu.Unlock()
	select {
	case <-turn:
		return leave, true
	case <-ctx.Done():
		leave()
		return nil, false
	}
}

// leave takes a command out of a line, and gives its turn to the next one if it has it.
func (q *queues) leave(key string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[key]
	at := slices.Index(line, turn)
	line = slices.Delete(line, at, at+1)
	switch {
	case len(line) == 0:
		delete(q.lines, key)
	case at == 0:
		close(line[0])
		fallthrough
	default:
		q.lines[key] = line
	}
}
