package stack

import (
	"context"
	"encoding/json"
	"time"
)

// sweepPeriod is how often the sweeper runs. In AWS it is a minute (template.yaml). Here a developer is waiting, and a
// sweep without results takes only four queries.
const sweepPeriod = 2 * time.Second

// Sweep invokes the sweeper at once, and then every sweepPeriod. When ctx ends it returns nil. It ignores failures,
// which the sweeper has logged.
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
