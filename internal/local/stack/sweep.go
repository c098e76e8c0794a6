package stack

import (
	"context"
	"encoding/json"
	"time"
)

// sweepPeriod is how often the sweeper runs. In AWS it is a minute (template.yaml), but here somebody is waiting, and a
// sweep that finds nothing costs four queries.
const sweepPeriod = 2 * time.Second

// Sweep invokes the sweeper at once, and then every sweepPeriod, until ctx ends, which is success. A sweep that
// fails has logged why, and the next one tries again.
func Sweep[Out any](ctx context.Context, sweeper func(context.Context, json.RawMessage) (Out, error)) error {
	ticks := time.NewTicker(sweepPeriod)
	defer ticks.Stop()
	for {
		_, _ = sweeper(ctx, nil)
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}
