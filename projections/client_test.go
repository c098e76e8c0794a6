package projections_test

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// client is the store as one process sees it: a request may fail, be applied although it fails, or long after it; the
// process may die at any of them.
type client struct {
	*viewstest.Memory
	w        *world
	commands bool          // it writes only to raise versions
	fault    float64       // chance that a request fails
	skew     time.Duration // of the process's clock
	dead     bool

	balance projections.Balance // the last read
	segment projections.Segment // the last found
}

var errDead = errors.New("the process died")

func (c *client) clock() time.Time { return c.w.now.Add(c.skew) }

// reach is where anything may happen before a request is done.
func (c *client) reach() error {
	c.w.yield()
	switch {
	case c.w.stopping:
		c.dead = true
	case c.w.chance(c.fault):
		c.dead = c.w.chance(.5)
		if !c.dead {
			return table.ErrThrottled
		}
		c.w.stats.crashes++
	}
	if c.dead {
		return errDead
	}
	return nil
}

func (c *client) Balance(ctx context.Context, k projections.Key) (projections.Balance, time.Time, error) {
	if err := c.reach(); err != nil {
		return projections.Balance{}, time.Time{}, err
	}
	b, at, err := c.Memory.Balance(ctx, k)
	c.balance = b
	if c.w.defect == "ownclock" {
		at = c.clock()
	}
	return b, at, err
}

func (c *client) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	if err := c.reach(); err != nil {
		return nil, false, err
	}
	page, more, err := c.Memory.Postings(ctx, k, after, through)
	if c.w.defect == "eventual" {
		lag := []time.Duration{0, 0, 0, 500 * time.Millisecond, 3 * time.Second}[c.w.rng.IntN(5)]
		var seen []projections.Posting
		for _, p := range page {
			if !c.w.born[p.ID].After(c.w.now.Add(-lag)) {
				seen = append(seen, p)
			}
		}
		return seen, more && len(seen) > 0, err
	}
	if len(page) > 0 && c.w.chance(.02) { // a page that was cut before its first posting
		return nil, true, err
	}
	return page, more, err
}

func (c *client) SegmentFrom(ctx context.Context, k projections.Key, id events.KSUID) (projections.Segment, error) {
	if err := c.reach(); err != nil {
		return projections.Segment{}, err
	}
	s, err := c.Memory.SegmentFrom(ctx, k, id)
	c.segment = s
	return s, err
}

func (c *client) Together(ctx context.Context, k projections.Key, through events.KSUID) (projections.Balance, projections.Segment, error) {
	if err := c.reach(); err != nil {
		return projections.Balance{}, projections.Segment{}, err
	}
	if c.w.defect == "apart" {
		return c.balance, c.segment, nil
	}
	return c.Memory.Together(ctx, k, through)
}

func (c *client) Summary(ctx context.Context, account string) (projections.Summary, error) {
	if err := c.reach(); err != nil {
		return projections.Summary{}, err
	}
	return c.Memory.Summary(ctx, account)
}

func (c *client) NextAsset(ctx context.Context, account, after string) (string, error) {
	if err := c.reach(); err != nil {
		return "", err
	}
	return c.Memory.NextAsset(ctx, account, after)
}

func (c *client) Write(ctx context.Context, change projections.Change) error {
	if err := c.reach(); err != nil {
		return err
	}
	if c.w.defect == "nobump" && c.commands {
		return nil
	}
	if c.w.chance(c.fault * 3) {
		switch c.w.rng.IntN(3) {
		case 0: // never arrived
		case 1: // applied, but the answer is lost
			_ = c.apply(ctx, change)
		case 2: // applied much later
			at := c.w.now.Add(time.Duration(c.w.rng.Float64() * 60 * float64(time.Second)))
			c.w.start(1, func() {
				for c.w.now.Before(at) && !c.w.stopping {
					c.w.yield()
				}
				_ = c.apply(ctx, change)
			})
		}
		if c.w.chance(.3) {
			c.dead = true
			c.w.stats.crashes++
			return errDead
		}
		return table.ErrUnknownOutcome
	}
	err := c.apply(ctx, change)
	if errors.Is(err, table.ErrConflict) {
		c.w.stats.conflicts++
	}
	return err
}

func (c *client) apply(ctx context.Context, change projections.Change) error {
	if c.w.defect == "noversion" {
		change.Balance.Version = c.w.balance(change.Balance.Key).Version
	}
	if len(change.Segments) > c.w.segments {
		c.w.broken("%d segments in one change of at most %d", len(change.Segments), c.w.segments)
	}
	before := c.w.balance(change.Balance.Key).Seal
	c.w.committing++
	err := c.Memory.Write(ctx, change)
	c.w.committing--
	if err == nil {
		c.w.stats.writes++
		if after := change.Balance.Seal; after.Through == before.Through && after.Count > before.Count {
			c.w.stats.corrections++
		}
	} else if !errors.Is(err, table.ErrConflict) {
		c.w.broken("write that the store refuses: %w", err)
	}
	c.w.sound()
	return err
}

func (c *client) Snapshot(ctx context.Context, k projections.Key, throughs []events.KSUID) (projections.Found[projections.Balance], []projections.Found[projections.Segment], time.Time, error) {
	if err := c.reach(); err != nil {
		return projections.Found[projections.Balance]{}, nil, time.Time{}, err
	}
	return c.Memory.Snapshot(ctx, k, throughs)
}

func (c *client) SnapshotAccount(ctx context.Context, account string, assets []string) (projections.Found[projections.Summary], []projections.Found[projections.Balance], time.Time, error) {
	if err := c.reach(); err != nil {
		return projections.Found[projections.Summary]{}, nil, time.Time{}, err
	}
	return c.Memory.SnapshotAccount(ctx, account, assets)
}

func (c *client) StoredSegments(ctx context.Context, k projections.Key, after events.KSUID) ([]projections.Found[projections.Segment], bool, error) {
	if err := c.reach(); err != nil {
		return nil, false, err
	}
	return c.Memory.StoredSegments(ctx, k, after)
}

func (c *client) NextOf(ctx context.Context, account string, by projections.Listing, after string) (string, error) {
	if err := c.reach(); err != nil {
		return "", err
	}
	return c.Memory.NextOf(ctx, account, by, after)
}

func (c *client) WriteSummary(ctx context.Context, s projections.Summary, mark projections.Mark) error {
	if err := c.reach(); err != nil {
		return err
	}
	err := c.Memory.WriteSummary(ctx, s, mark)
	c.w.sound()
	return err
}
