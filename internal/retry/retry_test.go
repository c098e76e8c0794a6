package retry

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestDelay(t *testing.T) {
	least := func(int64) int64 { return 0 }
	most := func(n int64) int64 { return n - 1 }
	const ms = time.Millisecond
	for _, c := range []struct {
		failed int
		bound  time.Duration
	}{{-1, 20 * ms}, {0, 20 * ms}, {1, 20 * ms}, {2, 40 * ms}, {5, 320 * ms}, {6, 500 * ms}, {7,
		500 * ms}, {math.MaxInt, 500 * ms}} {
		for jitter, lower := range map[Jitter]time.Duration{Full: 0, Half: c.bound / 2} {
			b := Backoff{First: 20 * ms, Max: 500 * ms, Jitter: jitter, Random: least}
			if got := b.Delay(c.failed); got != lower {
				t.Errorf("after %d failures, jitter %d: at least %v, want %v", c.failed, jitter, got, lower)
			}
			b.Random = most
			if got := b.Delay(c.failed); got != c.bound-1 {
				t.Errorf("after %d failures, jitter %d: at most %v, want %v", c.failed, jitter, got, c.bound-1)
			}
			b.Random = nil
			if got := b.Delay(c.failed); got < lower || got >= c.bound {
				t.Errorf("after %d failures, jitter %d: %v is not from %v to %v", c.failed, jitter, got, lower,
					c.bound)
			}
		}
	}
}

// Under a fake clock the default jitter is the same in every run.
func TestDelaysRepeatUnderAFakeClock(t *testing.T) {
	history := func() (delays [10]time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			for i := range delays {
				start := time.Now()
				if err := (Backoff{First: time.Second, Max: time.Minute}).Sleep(t.Context(), i); err != nil {
					t.Fatal(err)
				}
				delays[i] = time.Since(start)
			}
		})
		return delays
	}
	if first, second := history(), history(); first != second {
		t.Errorf("%v and then %v", first, second)
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
	for _, c := range []struct {
		name     string
		outcomes []error // of the attempts, in order
		stop     error   // of every pause
		want     []error // in what Do returns; none: nil
		attempts int
	}{
		{"success", []error{nil}, nil, nil, 1},
		{"success after failures", []error{passes, passes, nil}, nil, nil, 3},
		{"limit", []error{passes, passes, passes, nil}, nil, []error{passes}, 3},
		{"final", []error{final, nil}, nil, []error{final}, 1},
		{"final after a failure", []error{passes, final, nil}, nil, []error{final}, 2},
		{"stopped", []error{passes, nil}, late, []error{passes, late}, 1},
	} {
		attempts, pauses := 0, 0
		err := Do(t.Context(), func(_ context.Context, failed int) error {
			if pauses++; failed != pauses {
				t.Errorf("%s: pause %d has %d failed attempts", c.name, pauses, failed)
			}
			return c.stop
		}, limit, func() error {
			attempts++
			return c.outcomes[attempts-1]
		})
		if attempts != c.attempts || (err == nil) != (len(c.want) == 0) {
			t.Errorf("%s: %v after %d attempts, wanted %v after %d", c.name, err, attempts, c.want, c.attempts)
		}
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v does not hold %v", c.name, err, want)
			}
		}
	}
}
