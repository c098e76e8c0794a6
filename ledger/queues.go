package ledger

import (
	"context"
	"slices"
	"sync"
)

// takeTurns waits until no earlier command of this process reverses a transaction that the requests reverse: each
// reversal of a transaction needs its next number. A dry run needs none. The caller must call leave. Error:
// CodeContention, so long before the deadline that an attempt would have been in time.
func (l *Ledger) takeTurns(c *command, requests ...*request) (leave func(), _ error) {
	var keys []string
	for _, r := range requests {
		if r.isReversal() && !r.DryRun {
			keys = append(keys, r.reverses)
		}
	}
	if keys == nil {
		return func() {}, nil
	}
	slices.Sort(keys) // all commands wait in the same order, so that none waits for one that waits for it
	keys = slices.Compact(keys)
	end, _ := c.Deadline()
	ctx, cancel := context.WithDeadline(c, end.Add(-batchReserve))
	defer cancel()
	var taken []func()
	leave = func() {
		for _, one := range taken {
			one()
		}
	}
	for _, key := range keys {
		one, ok := l.reversing.enter(ctx, key)
		if !ok {
			leave()
			return nil, busy(CodeContention, "Other reversals of the transaction came first.", context.Cause(ctx))
		}
		taken = append(taken, one)
	}
	return leave, nil
}

// queues let the commands of a process that would contend for one item take turns, in their order. Commands of other
// processes may contend all the same: a queue only saves attempts. It is safe for concurrent use.
type queues struct {
	mu    sync.Mutex
	lines map[string][]chan struct{} // of each command; the first has its turn. A turn closes the channel
}

// enter waits for a turn in the queue of a key. ok is false if ctx ends first and the turn is another one's. Otherwise
// the caller must call leave.
func (q *queues) enter(ctx context.Context, key string) (leave func(), ok bool) {
	turn := make(chan struct{})
	leave = func() { q.leave(key, turn) }
	q.mu.Lock()
	if q.lines == nil {
		q.lines = make(map[string][]chan struct{})
	}
	q.lines[key] = append(q.lines[key], turn)
	isFirst := len(q.lines[key]) == 1
	if isFirst {
		close(turn)
	}
	q.mu.Unlock()
	if isFirst {
		return leave, true
	}
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
