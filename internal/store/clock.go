package store

import (
	"sync"
	"time"
)

// DateStep is the resolution of the store's Date header.
const DateStep = time.Second

// Clock estimates the store's clock from its newest reply. The zero value has seen no reply. It is safe for concurrent
// use.
type Clock struct {
	mu             sync.Mutex
	at             time.Time // the store's time in that reply, cut to DateStep
	sent, received time.Time // monotonic; the store made the reply between them
}

// Observe records the store's time in one reply. It ignores a zero time.
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

// Off reports whether the instant t differs from the store's clock by more than ClockTolerance for certain, at
// the given monotonic time. It is also true if no reply was observed. It returns the earliest possible time of the
// store.
func (c *Clock) Off(t, stopwatch time.Time) (off bool, store time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return true, c.at
	}
	earliest := c.at.Add(stopwatch.Sub(c.received))
	latest := c.at.Add(DateStep + stopwatch.Sub(c.sent))
	return t.Before(earliest.Add(-ClockTolerance)) || t.After(latest.Add(ClockTolerance)), earliest
}
