package rebuild

import (
	"context"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// paced are views that read so many items a second and no more: postings, and what is gone through to find accounts. What is
// read of anything else is little beside it.
//
// What was read is paid for before the next balance is begun, or begun again. While one is read, up to a second's worth of items
// may be owed: a hot balance is written again and again, and each wait between the reading of its version and the write on
// that version would let others come first.
type paced struct {
	projections.Views
	rate int // items a second

	mu   sync.Mutex
	next time.Time // when the next page may be read
}

// Postings implements projections.Views.
func (p *paced) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	if err := p.wait(ctx, time.Second); err != nil {
		return nil, false, err
	}
	postings, more, err := p.Views.Postings(ctx, k, after, through)
	p.took(len(postings))
	return postings, more, err
}

// Accounts implements projections.Repairs.
func (p *paced) Accounts(ctx context.Context, from string) ([]string, int, string, error) {
	if err := p.wait(ctx, 0); err != nil {
		return nil, 0, "", err
	}
	accounts, read, next, err := p.Views.Accounts(ctx, from)
	p.took(read)
	return accounts, read, next, err
}

// Snapshot implements projections.Repairs; that of a balance alone begins a rebuild of it.
func (p *paced) Snapshot(ctx context.Context, k projections.Key, throughs []events.KSUID) (projections.Found[projections.Balance], []projections.Found[projections.Segment], time.Time, error) {
	if len(throughs) == 0 {
		if err := p.wait(ctx, 0); err != nil {
			return projections.Found[projections.Balance]{}, nil, time.Time{}, err
		}
	}
	return p.Views.Snapshot(ctx, k, throughs)
}

// wait returns when no more than what is read in the time owed is still to be paid for. Error: that of ctx.
func (p *paced) wait(ctx context.Context, owed time.Duration) error {
	p.mu.Lock()
	due := time.Until(p.next.Add(-owed)) // less as a time: as a duration, the zero time is so long ago that it would overflow
	p.mu.Unlock()
	if due <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(due)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// took puts off the next page by what so many items cost. A request counts as one at least.
func (p *paced) took(items int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(max(1, items)) * time.Second / time.Duration(p.rate))
}
