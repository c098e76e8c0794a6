package bench

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"
)

// Most of the processor time of this process is spent by a goroutine that the projection started.
func TestProcessorTimeIsAttributed(t *testing.T) {
	stop, err := watchProjection()
	if err != nil {
		t.Fatal(err)
	}
	inPart(t.Context(), partLoad, func(ctx context.Context) {
		burn(t, 100*time.Millisecond)
		inPart(ctx, partProjection, func(context.Context) {
			done := make(chan struct{})
			go func() { burn(t, 400*time.Millisecond); close(done) }()
			<-done
		})
	})
	if projection, err := stop(); err != nil || projection < 250*time.Millisecond || projection > 600*time.Millisecond {
		t.Errorf("%v, %v", projection, err)
	}
}

// burn uses processor time.
func burn(t *testing.T, period time.Duration) {
	var sum [sha256.Size]byte
	for began, err := cpu(); ; {
		for range 1000 {
			sum = sha256.Sum256(sum[:])
		}
		now, nowErr := cpu()
		if err != nil || nowErr != nil {
			t.Error(err, nowErr)
		}
		if now-began >= period || t.Failed() {
			return
		}
	}
}

func cpu() (time.Duration, error) {
	used, _, err := used()
	return used, err
}
