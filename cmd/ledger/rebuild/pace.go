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
type paced struct {
	projections.Views
	rate int // items a second

	mu   sync.Mutex
	next time.Time // when the next page may be read
}

// Postings implements projections.Views.
func (p *paced) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	if err := p.wait(ctx); err != nil {
		return nil, false, err
	}
	postings, more, err := p.Views.Postings(ctx, k, after, through)
	p.took(len(postings))
	return postings, more, err
}

// Accounts implements projections.Repairs.
func (p *paced) Accounts(ctx context.Context, from string) ([]string, int, string, error) {
	if err := p.wait(ctx); err != nil {
		return nil, 0, "", err
	}
	accounts, read, next, err := p.Views.Accounts(ctx, from)
	p.took(read)
	return accounts, read, next, err
}

// wait returns when the pages read so far are paid for. Error: that of ctx.
func (p *paced) wait(ctx context.Context) error {
	p.mu.Lock()
	due := time.Until(p.next)
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
