package repair

import (
	"context"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/projections"
)

// paced are views that read at most rate items a second: postings, and what is gone through to find accounts. All other
// reads are few beside them.
//
// Items are paid for by waiting before the next balance begins, or begins again. While a balance is read, up to a
// second's worth may be owed: a hot balance is written again and again, and waits between reading its version and
// writing would let others come first.
type paced struct {
	Views
	rate int // items a second; 0: as many as can be

	mu   sync.Mutex
	paid time.Time // when everything is paid for
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

// Snapshot implements Views. That of a balance alone begins a rebuild of it.
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

// wait returns when at most owed is still to be paid for. Error: that of ctx.
func (p *paced) wait(ctx context.Context, owed time.Duration) error {
	p.mu.Lock()
	due := time.Until(p.paid.Add(-owed)) // subtracted from the time: until the zero time it is the least duration
	p.mu.Unlock()
	return retry.Sleep(ctx, max(0, due))
}

// charge puts off the next reads by what items cost. A request counts as one at least.
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
