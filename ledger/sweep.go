package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/table"
)

const (
	// sweepTime is how long a sweep begins to end holds. Those under way get their time: a command takes at most
	// commandTimeout. The function that sweeps every minute has a minute.
	sweepTime = 45 * time.Second
	// sweepEnds is how many holds a sweep ends at a time.
	sweepEnds = 8
)

// Sweeper ends the holds whose time is over. Several may run at once: a hold ends once.
type Sweeper struct {
	ledger  *Ledger
	journal Journal
	log     *slog.Logger
}

// Sweeper returns the sweeper of l's holds.
func (l *Ledger) Sweeper() *Sweeper { return &Sweeper{ledger: l, journal: l.journal, log: l.log} }

// Swept is what one sweep found and did.
type Swept struct {
	Due     int           // holds that were listed as due
	Expired int           // of these, those that the sweep ended
	Ended   int           // those that had ended before: the list lags
	Failed  int           // those that could not be ended; the next sweep tries again
	Delay   time.Duration // the longest that one of Expired and Failed was due
	Partial bool          // the time was up before all that was due was listed
}

// Sweep ends what is due, until nothing is or sweepTime is over. Its cost is that of what is due, and one request for
// each shard of open holds. The error is that of lists that could not be read; what the others named was swept.
func (s *Sweeper) Sweep(ctx context.Context) (Swept, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime+commandTimeout)
	defer cancel()
	listing, stop := context.WithTimeout(ctx, sweepTime)
	defer stop()

	due := make(chan DueHold)
	lists := make([]error, table.OpenHoldsShards)
	var listers, enders errgroup.Group
	for shard := range lists {
		listers.Go(func() error {
			lists[shard] = s.list(listing, shard, due)
			return nil
		})
	}
	var all Swept
	var mu sync.Mutex
	for range sweepEnds {
		enders.Go(func() error {
			for hold := range due {
				one := s.end(ctx, hold)
				mu.Lock()
				all.add(one)
				mu.Unlock()
			}
			return nil
		})
	}
	_ = listers.Wait() // their errors are in lists
	close(due)
	_ = enders.Wait()

	var failed error
	for _, err := range lists {
		if errors.Is(err, errTimeUp) {
			all.Partial = true
			continue
		}
		failed = errors.Join(failed, err)
	}
	s.report(ctx, all, failed)
	return all, failed
}

// errTimeUp says that not all of a list was read, as the sweep's time was up.
var errTimeUp = errors.New("time is up")

// list sends what is due in a shard, those that expire first first.
func (s *Sweeper) list(ctx context.Context, shard int, due chan<- DueHold) error {
	until := s.ledger.now().Add(-clockTolerance)
	var last DueHold
	for more := true; more; {
		var page []DueHold
		err := s.ledger.read(ctx, func(ctx context.Context) (_ time.Time, err error) {
			page, more, err = s.journal.DueHolds(ctx, shard, until, last)
			return time.Time{}, err
		})
		switch {
		case ctx.Err() != nil:
			return errTimeUp
		case err != nil:
			return fmt.Errorf("shard %d of the open holds: %w", shard, err)
		}
		for _, hold := range page {
			select {
			case due <- hold:
				last = hold
			case <-ctx.Done():
				return errTimeUp
			}
		}
	}
	return nil
}

// end ends one hold.
func (s *Sweeper) end(ctx context.Context, hold DueHold) Swept {
	ended, err := s.ledger.Expire(ctx, hold.ID)
	delay := s.ledger.now().Sub(hold.ExpiresAt.Add(clockTolerance))
	if e, ok := errors.AsType[*Error](err); ended.Replayed || ok && e.Code == CodeHoldEnded {
		return Swept{Due: 1, Ended: 1}
	}
	if err != nil {
		s.log.WarnContext(ctx, "hold is due and was not ended", "transaction", hold.ID, "expires_at", hold.ExpiresAt,
			"error", err)
		return Swept{Due: 1, Failed: 1, Delay: delay}
	}
	return Swept{Due: 1, Expired: 1, Delay: delay}
}

func (a *Swept) add(b Swept) {
	a.Due += b.Due
	a.Expired += b.Expired
	a.Ended += b.Ended
	a.Failed += b.Failed
	a.Delay = max(a.Delay, b.Delay)
}

// report logs a sweep. ExpiryDelay and HoldsExpired are counted as metrics. While lists cannot be read, nobody knows
// what is overdue: then there is no delay, which alarms too.
func (s *Sweeper) report(ctx context.Context, all Swept, failed error) {
	attributes := []any{"due", all.Due, "ended_before", all.Ended, "failed", all.Failed, "partial", all.Partial,
		"HoldsExpired", all.Expired}
	if failed != nil {
		s.log.ErrorContext(ctx, "sweep of due holds", append(attributes, "error", failed)...)
		return
	}
	s.log.InfoContext(ctx, "sweep of due holds", append(attributes, "ExpiryDelay", all.Delay.Milliseconds())...)
}
