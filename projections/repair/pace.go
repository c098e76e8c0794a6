package repair

import (
	"context"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/projections"
)

// paced is a Views with a rate limit for reading postings and for scanning. Other reads are few and not limited.
//
// Most waits are before a balance begins, or begins again. While a balance is read, reads may exceed the rate by one
// second's worth: a hot balance is written often, and a wait between reading its version and writing it would cause a
// conflict.
type paced struct {
	Views
	rate int // items per second; 0: unlimited

	mu   sync.Mutex
	paid time.Time // when the items read so far are within the rate
}

// Postings implements Views.
func (p *paced) Postings(
	ctx context.Context, k events.Pair, after, through events.KSUID,
) (found []projections.Posting, more bool, err error) {
	if err = p.wait(ctx, time.Second); err == nil {
		found, more, err = p.Views.Postings(ctx, k, after, through)
		p.charge(len(found))
	}
	return found, more, err
}

// Accounts implements Views.
func (p *paced) Accounts(ctx context.Context, from string) (accounts []string, read int, next string, err error) {
	if err = p.wait(ctx, 0); err == nil {
		accounts, read, next, err = p.Views.Accounts(ctx, from)
		p.charge(read)
	}
	return accounts, read, next, err
}

// Snapshot implements Views. A snapshot of a balance alone begins an attempt to rebuild it.
func (p *paced) Snapshot(ctx context.Context, k events.Pair, throughs []events.KSUID) (
	balance Stored[projections.Balance], segments []Stored[projections.Segment], at time.Time, err error,
) {
	if len(throughs) == 0 {
		err = p.wait(ctx, 0)
	}
	if err != nil {
		return balance, nil, at, err
	}
	return p.Views.Snapshot(ctx, k, throughs)
}

// wait sleeps until owed before paid. Error: that of ctx.
func (p *paced) wait(ctx context.Context, owed time.Duration) error {
	p.mu.Lock()
	due := time.Until(p.paid.Add(-owed)) // time.Until(p.paid)-owed would overflow for the zero time
	p.mu.Unlock()
	return retry.Sleep(ctx, max(0, due))
}

// charge delays the next reads by the time for items. A request counts as one item at least.
func (p *paced) charge(items int) {
	if p.rate == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(max(1, items)) * time.Second / time.Duration(p.rate))
}
