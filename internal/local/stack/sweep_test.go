package stack

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The sweeper runs at once and then every two seconds, even after a failure. Runs do not overlap.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		begun, times := time.Now(), []time.Duration{}
		err := Sweep(ctx, func(context.Context, json.RawMessage) (int, error) {
			if times = append(times, time.Since(begun)); len(times) == 3 {
				end()
			}
			time.Sleep(time.Second)
			return 0, errors.New("of no consequence")
		})
		if err != nil || len(times) != 3 || times[0] != 0 || times[1] != 2*time.Second || times[2] != 4*time.Second {
			t.Errorf("%v at %v", err, times)
		}
	})
}
