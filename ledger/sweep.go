package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/table"
)

const (
	// sweepTime is how long a sweep starts commands that end holds. Commands in flight get commandTimeout more. Both
	// fit into the minute of the function that sweeps.
	sweepTime = 45 * time.Second
	// sweepEnds is how many holds a sweep ends at a time, for each lane that the list has, and sweepEndsMax at most.
	sweepEnds, sweepEndsMax = 8, 64
	// sweepLists is how many lanes a sweep reads at a time.
	sweepLists = 32
)

// Swept is the result of one sweep.
type Swept struct {
	Due     int           // holds that were listed as due
	Expired int           // due holds that the sweep ended
	Ended   int           // due holds that had ended before, because the list lags
	Failed  int           // due holds that could not be ended; the next sweep retries them
	Delay   time.Duration // the longest time that a hold of Expired or Failed was due
	Partial bool          // sweepTime was over before all due holds were listed
}

// Sweep ends due holds, until none is left or sweepTime is over. Several may run at once, because a hold ends once. It
// makes one request for each lane of open holds, one a minute for the log of lanes, and those that end the due holds.
// The error joins the errors of the lanes that could not be listed; the others were swept.
func (l *Ledger) Sweep(ctx context.Context) (Swept, error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime+commandTimeout)
	defer cancel()
	listing, stop := context.WithTimeout(ctx, sweepTime)
	defer stop()

	var all Swept
	var mu sync.Mutex
	lanes, err := l.lanesOfHolds(listing)
	lists := make([]error, len(lanes), len(lanes)+1)
	var listers, enders errgroup.Group
	listers.SetLimit(sweepLists)
	enders.SetLimit(min(sweepEnds*max(1, len(lanes)), sweepEndsMax))
	for i, lane := range lanes {
		listers.Go(func() error {
			lists[i] = l.eachDue(listing, lane, func(hold string, expires time.Time) {
				enders.Go(func() error { // waits while the most holds are being ended
					if listing.Err() != nil {
						return nil // eachDue returns errTimeUp
					}
					one := l.endDue(ctx, hold, expires)
					mu.Lock()
					defer mu.Unlock()
					all.add(one)
					return nil
				})
			})
			return nil
		})
	}
	_ = errors.Join(listers.Wait(), enders.Wait()) // their errors are in lists and all

	var failed error
	for _, err := range append(lists, err) {
		if errors.Is(err, errTimeUp) {
			all.Partial = true
		} else {
			failed = errors.Join(failed, err)
		}
	}
	l.reportSweep(ctx, all, failed)
	return all, failed
}

// lanesOfHolds returns the lanes of the list of open holds.
func (l *Ledger) lanesOfHolds(ctx context.Context) (lanes []string, err error) {
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		known, err := l.lanes.Recent(ctx)
		lanes = known.All()
		return time.Time{}, err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errTimeUp
	case err != nil:
		return nil, fmt.Errorf("lanes of the open holds: %w", err)
	}
	return lanes, nil
}

// errTimeUp is the error of a list that was not read to its end within sweepTime.
var errTimeUp = errors.New("time is up")

// duePage is how many due holds are listed in one request.
const duePage = 100

// eachDue calls do for the due holds of a lane, by expiry. The list is a projection and eventually consistent: a
// listed hold may have ended. Malformed entries are skipped: the audit reports them.
func (l *Ledger) eachDue(ctx context.Context, lane string, do func(hold string, expires time.Time)) error {
	until := l.now().Add(-clockTolerance)
	q := table.Query{
		Index: table.IndexInverse, Partition: table.OpenHold.PK2(lane),
		Within: table.OpenHold.Partitions().Through(events.FormatTime(until)), Limit: duePage,
	}
	for item, err := range l.items(ctx, q) {
		text, hold, ok := table.OpenHold.Parse(table.ItemKey(item))
		expires, malformed := events.ParseTime(text)
		switch {
		case ctx.Err() != nil:
			return errTimeUp
		case err != nil:
			return fmt.Errorf("lane %s of the open holds: %w", lane, err)
		case ok && malformed == nil:
			do(hold, expires)
		}
	}
	if ctx.Err() != nil {
		return errTimeUp
	}
	return nil
}

// endDue ends one hold.
func (l *Ledger) endDue(ctx context.Context, hold string, expires time.Time) Swept {
	ended, err := l.Expire(ctx, hold)
	delay := l.now().Sub(expires.Add(clockTolerance))
	if e, ok := errors.AsType[*Error](err); ended.Replayed || ok && e.Code == CodeHoldEnded {
		return Swept{Due: 1, Ended: 1}
	}
	if err != nil {
		l.log.WarnContext(ctx, "hold is due and was not ended", "transaction", hold, "expires_at", expires,
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

// reportSweep logs a sweep, unless no hold was due, because metrics cost money in each month in which they have a
// value. ExpiryDelay and HoldsExpired are metrics. If lists could not be read, the delay is unknown and not logged.
func (l *Ledger) reportSweep(ctx context.Context, all Swept, failed error) {
	if failed == nil && all == (Swept{}) {
		return
	}
	attributes := []any{"due", all.Due, "ended_before", all.Ended, "failed", all.Failed, "partial", all.Partial,
		"HoldsExpired", all.Expired}
	if failed != nil {
		l.log.ErrorContext(ctx, "sweep of due holds", append(attributes, "error", failed)...)
		return
	}
	l.log.InfoContext(ctx, "sweep of due holds", append(attributes, "ExpiryDelay", all.Delay.Milliseconds())...)
}
