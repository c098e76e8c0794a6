package table

import (
	"errors"
	"fmt"
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

// CompareClock compares this process's clock with the store's time in a reply to a request that was sent at a monotonic
// time. The error, for people, says that they differ by more than ClockTolerance, or that the store's is not known.
func CompareClock(now func() time.Time, at, sent time.Time) error {
	var clock Clock
	clock.Observe(at, sent, time.Now())
	switch off, db := clock.Off(now(), time.Now()); {
	case at.IsZero():
		return errors.New("the store did not tell its time, so this machine's clock could not be compared with it")
	case off:
		return fmt.Errorf("this machine's clock says %s, and the store's says %s: they may differ by %v. Nothing was "+
			"judged. Set the clock, and run again", now().UTC().Format(time.RFC3339), db.UTC().Format(time.RFC3339),
			ClockTolerance)
	}
	return nil
}
