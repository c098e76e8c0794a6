package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// Under a fake clock the default jitter is the same in every run.
func TestDelay(t *testing.T) { synctest.Test(t, testDelay) }

func testDelay(t *testing.T) {
	const ms = time.Millisecond
	for failed, bound := range map[int]time.Duration{
		-1: 20 * ms, 0: 20 * ms, 1: 20 * ms, 2: 40 * ms, 5: 320 * ms, 6: 500 * ms, 7: 500 * ms, math.MaxInt: 500 * ms,
	} {
		for jitter, lower := range map[Jitter]time.Duration{Full: 0, Half: bound / 2} {
			delay := func(random func(int64) int64) time.Duration {
				return Backoff{First: 20 * ms, Max: 500 * ms, Jitter: jitter, Random: random}.Delay(failed)
			}
			least, most := delay(func(int64) int64 { return 0 }), delay(func(n int64) int64 { return n - 1 })
			if usual := delay(nil); least != lower || most != bound-1 || usual < least || usual > most || usual != delay(nil) {
				t.Errorf("after %d failures, jitter %d: %v to %v, usually %v", failed, jitter, least, most, usual)
			}
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("shutdown")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := Sleep(ctx, 0); !errors.Is(err, cause) {
			t.Errorf("a context that had ended: %v", err)
		}
	})
}

func TestDo(t *testing.T) {
	passes, final, late := errors.New("passes"), errors.New("final"), errors.New("no time")
	limit := func(err error) int {
		if err == passes {
			return 3
		}
		return 0
	}
	for name, c := range map[string]struct {
		outcomes []error // of the attempts, in order; all are made
		stop     error   // of every pause
		want     error
	}{
		"success":                {[]error{nil}, nil, nil},
		"success after failures": {[]error{passes, passes, nil}, nil, nil},
		"limit":                  {[]error{passes, passes, passes}, nil, passes},
		"final":                  {[]error{final}, nil, final},
		"final after a failure":  {[]error{passes, final}, nil, final},
		"stopped":                {[]error{passes}, late, errors.Join(late, passes)},
	} {
		attempts, pauses := 0, 0
		err := Do(t.Context(), func(_ context.Context, failed int) error {
			if pauses++; failed != pauses {
				t.Errorf("%s: pause %d has %d failed attempts", name, pauses, failed)
			}
			return c.stop
		}, limit, func() error {
			attempts++
			return c.outcomes[min(attempts, len(c.outcomes))-1]
		})
		if attempts != len(c.outcomes) || fmt.Sprint(err) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v after %d attempts, wanted %v after %d", name, err, attempts, c.want, len(c.outcomes))
		}
	}
}
