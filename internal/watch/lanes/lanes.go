// Package lanes decides how many lanes the ledger-wide lists have: see table.Lanes. Only operators do, over the table.
package lanes

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
)

// decisionTime bounds a decision, from the read that told the store's time to the last moment at which its put is sent.
// The store applies no request later than five minutes after that, and so minutes before the growth is in force.
const decisionTime = 10 * time.Second

// attemptsMax is how many times in a row a decision is made again: others keep coming first, or the store throttles.
const attemptsMax = 20

var backoff = retry.Backoff{First: 50 * time.Millisecond, Max: time.Second}

// Rule is the rule of a number of lanes.
var Rule = fmt.Sprintf("must be a power of two, at most %d", events.LanesMax)

// ErrFewer means that there are more lanes already.
var ErrFewer = errors.New("lanes are never taken away")

// Valid reports whether there can be n lanes.
func Valid(n int) bool { return n >= 1 && n <= events.LanesMax && bits.OnesCount(uint(n)) == 1 }

// Read returns the log of growths, strongly consistent.
func Read(ctx context.Context, t table.Table) (log table.Lanes, err error) {
	err = retry.Do(ctx, backoff.Sleep, table.Attempts(attemptsMax, attemptsMax), func() error {
		log, err = table.ReadLanes(ctx, t, time.Now())
		return err
	})
	return log, err
}

// Grow decides that there are n lanes, from table.LanesLead after now by the store's clock. It returns the growth, and
// whether this call decided it: it does nothing if n lanes were decided before. It is safe to repeat, and for several
// callers at once. Errors: ErrFewer; those of table.Table.
func Grow(ctx context.Context, t table.Table, n int) (grown events.LanesGrown, decided bool, err error) {
	if !Valid(n) {
		return grown, false, errors.New(Rule)
	}
	err = retry.Do(ctx, backoff.Sleep, table.Attempts(attemptsMax, attemptsMax), func() error {
		grown, decided, err = decide(ctx, t, n)
		return err
	})
	return grown, decided, err
}

// decide is one attempt of Grow.
func decide(ctx context.Context, t table.Table, n int) (grown events.LanesGrown, decided bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, decisionTime)
	defer cancel()
	log, err := table.ReadLanes(ctx, t, time.Now())
	if err != nil {
		return grown, false, err
	}
	var last events.LanesGrown
	if all := log.Grown(); len(all) > 0 {
		last = all[len(all)-1]
	}
	switch has := log.Largest(); {
	case n == has:
		return last, false, nil
	case n < has:
		return grown, false, fmt.Errorf("%w: there are %d, or will be", ErrFewer, has)
	}
	grown = events.LanesGrown{Number: last.Number + 1, Lanes: n, From: log.ReadAt().Add(table.LanesLead)}
	if grown.From.Before(last.From) {
		grown.From = last.From
	}
	_, err = t.Write(ctx, table.Write{Item: table.EventItem(grown), If: table.IfAbsent})
	return grown, err == nil, err
}
