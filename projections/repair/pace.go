package repair

import (
	"context"
	"sync"
	"time"

	"ledger.example/internal/retry"
	"ledger.example/internal/store"
)

// paced is a store.Table with a rate limit for reading postings and the journal, for scans, and for reads of many keys.
// Other reads are few and not limited.
//
// Most waits are before a balance begins, or begins again. While a balance is read, reads may exceed the rate by one
// second's worth: a hot balance is written often, and a wait between reading its version and writing it would cause a
// conflict.
type paced struct {
	store.Table
	rate int // items per second; 0: unlimited

	mu   sync.Mutex
	paid time.Time // when the items read so far are within the rate
}

// Query implements store.Table.
func (p *paced) Query(ctx context.Context, q store.Query) (page store.Page, err error) {
	if q.Limit == 1 || !store.Posting.Is(q.Within.From) && q.Partition != store.Journal.PK() {
		return p.Table.Query(ctx, q)
	}
	if err = p.wait(ctx, time.Second); err == nil {
		page, err = p.Table.Query(ctx, q)
		p.charge(len(page.Items))
	}
	return page, err
}

// Scan implements store.Table.
func (p *paced) Scan(ctx context.Context, s store.Scan) (page store.Page, err error) {
	if err = p.wait(ctx, 0); err == nil {
		page, err = p.Table.Scan(ctx, s)
		p.charge(page.Count)
	}
	return page, err
}

// BatchGet implements store.Table.
func (p *paced) BatchGet(ctx context.Context, keys []store.Key, c store.Consistency) (
	items []store.Item, at time.Time, err error,
) {
	if err = p.wait(ctx, 0); err == nil {
		items, at, err = p.Table.BatchGet(ctx, keys, c)
		p.charge(len(keys))
	}
	return items, at, err
}

// Get implements store.Table. The read of a balance alone begins an attempt to rebuild it.
func (p *paced) Get(ctx context.Context, k store.Key, c store.Consistency) (store.Item, time.Time, error) {
	if _, _, ok := store.Balance.Parse(k); ok {
		if err := p.wait(ctx, 0); err != nil {
			return nil, time.Time{}, err
		}
	}
	return p.Table.Get(ctx, k, c)
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
