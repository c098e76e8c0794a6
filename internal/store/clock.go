package store

import (
	"sync"
	"time"

	"ledger.example/internal/table"
)

// DateStep is what the store's Date is cut to.
const DateStep = time.Second

// Clock is the store's clock by its newest reply. Its zero value knows nothing. It is safe for concurrent use.
type Clock struct {
	mu             sync.Mutex
	at             time.Time // the store's clock in that reply, cut to DateStep
	sent, received time.Time // by the process's stopwatch (monotonic): the reply was made between them
}

// Observe takes in the store's clock in one reply. A zero time says nothing.
func (c *Clock) Observe(at, sent, received time.Time) {
	if at.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if received.After(c.received) {
		c.at, c.sent, c.received = at, sent, received
	}
}

// Off reports whether the instant t is certainly further than table.ClockTolerance from the store's clock when the
// stopwatch shows the given time, or nothing is known of that clock. It also returns the least that the store's clock
// can show.
func (c *Clock) Off(t, stopwatch time.Time) (off bool, store time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return true, c.at
	}
	earliest := c.at.Add(stopwatch.Sub(c.received))
	latest := c.at.Add(DateStep + stopwatch.Sub(c.sent))
	return t.Before(earliest.Add(-table.ClockTolerance)) || t.After(latest.Add(table.ClockTolerance)), earliest
}
