package projections

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"ledger.example/ledger/table"
)

// SettleWindow is how old a posting must be to be counted as settled: longer than a command may live, which is 8 s.
const SettleWindow = 10 * time.Second

// How often and how soon one starts again after a conflict. Twelve tries take up to four seconds, then the batch is left
// to be delivered again.
const (
	conflictTries = 12
	pauseFirst    = 10 * time.Millisecond // the longest first pause; each next may be twice as long
	pauseMost     = 640 * time.Millisecond
)

// Projector refolds. It is safe for concurrent use.
type Projector struct {
	views Views
	now   func() time.Time
	log   *slog.Logger
	pause func(ctx context.Context, try int) error

	memory memory

	window   time.Duration // SettleWindow
	stretch  int64         // StretchPostings
	segments int           // SegmentsMax
	leave    int           // settledMost
	accounts int           // accountsAtOnce
}

// NewProjector returns a projector on views; now is its own clock (nil: time.Now). A nil log is slog.Default().
func NewProjector(views Views, now func() time.Time, log *slog.Logger) *Projector {
	if now == nil {
		now = time.Now
	}
	if log == nil {
		log = slog.Default()
	}
	return &Projector{
		views: views, now: now, log: log, pause: pause, memory: memory{balances: make(map[Key]*remembered)},
		window: SettleWindow, stretch: StretchPostings, segments: SegmentsMax, leave: settledMost, accounts: accountsAtOnce,
	}
}

// Tuning moves the thresholds that only a hot account meets to where a few postings meet them: for simulations.
type Tuning struct {
	Stretch  int64 // settled postings that close a segment, instead of StretchPostings
	Segments int   // segments after which the way so far is saved, instead of SegmentsMax
	Leave    int   // settled postings that may be left above the seal, instead of 64
}

// Tune sets thresholds before p is used. Every value is right, but no other is fast.
func (p *Projector) Tune(t Tuning) {
	p.stretch, p.segments, p.leave = t.Stretch, t.Segments, t.Leave
}

// untilQuiet does what try does, again from its beginning as long as others come first, or as a write's outcome is
// unknown: reading again tells it.
func (p *Projector) untilQuiet(ctx context.Context, attempt func() error) error {
	for try := 1; ; try++ {
		err := attempt()
		if !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrUnknownOutcome) || try == conflictTries {
			return err
		}
		if stopped := p.pause(ctx, try); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

// pause waits before the next try, a random time so that those who met don't meet again. Error: that of ctx.
func pause(ctx context.Context, try int) error {
	most := min(pauseFirst<<min(try-1, 16), pauseMost)
	timer := time.NewTimer(jitter(most))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// jitter returns a random duration below most. It is drawn from the clock, which no two processes read in the same
// nanosecond, and not from the runtime's randomness: where a test sets the clock, the same happens again.
func jitter(most time.Duration) time.Duration {
	return time.Duration(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)).Int64N(int64(most)))
}
