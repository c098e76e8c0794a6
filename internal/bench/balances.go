package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/retry"
)

const (
	projectionTimeout = time.Minute           // for the projection to catch up; many times the batching window
	projectionPoll    = 50 * time.Millisecond // between reads of a balance that is behind
	strongEvery       = 20                    // eventual reads are followed by one strong read
)

func (r *Run) balance(ctx context.Context, account, asset int, strong bool) (client.Balance, error) {
	b, err := r.balanceOf(ctx, r.fixture.names[account], r.fixture.assets[asset], strong)
	return b.Value, err
}

// each calls do for each account and asset, concurrently, until a call fails or ctx ends. Both are errors.
func (r *Run) each(ctx context.Context, do func(account, asset int) error) error {
	_, err := drive(ctx, r.Clients, bound{count: len(r.book.sums)}, func(_, n int) error {
		return do(n/assets, n%assets)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unprojected waits until the projection has caught up, at most projectionTimeout, and returns the balances that are
// still behind. A balance has caught up when it agrees with the book or with a strong read. If those two differ, the
// fault is not in the projection. The end of ctx is an error.
func (r *Run) unprojected(ctx context.Context) (late []Failed, err error) {
	deadline := time.Now().Add(projectionTimeout)
	var mu sync.Mutex
	err = r.each(ctx, func(account, asset int) error {
		for read := 1; ctx.Err() == nil; read++ {
			b, err := r.balance(ctx, account, asset, false)
			if err != nil || r.book.at(account, asset).agrees(b) {
				return err
			}
			if read%strongEvery == 0 {
				strong, err := r.balance(ctx, account, asset, true)
				if err != nil || b.Quantity == strong.Quantity && b.NetExpenditure == strong.NetExpenditure &&
					b.Postings == strong.Postings {
					return err
				}
			}
			if time.Now().After(deadline) {
				mu.Lock()
				defer mu.Unlock()
				late = append(late, r.differs(checkProjected, account, asset, b))
				return nil
			}
			_ = retry.Sleep(ctx, projectionPoll) // the loop sees the end of ctx
		}
		return nil
	})
	return late, err
}

// agrees reports whether a balance equals the sums.
func (s *sums) agrees(b client.Balance) bool {
	return b.Quantity == events.NewAmount(s.quantity.Load()) && b.NetExpenditure == events.NewAmount(s.cost.Load()) &&
		b.Postings == s.postings.Load()
}

// differs returns the failure for a balance that differs from the book.
func (r *Run) differs(check string, account, asset int, found client.Balance) Failed {
	want := r.book.at(account, asset)
	const format = "quantity %v, net expenditure %v, postings %d"
	return Failed{check, r.fixture.names[account] + " " + r.fixture.assets[asset],
		fmt.Sprintf(format, want.quantity.Load(), want.cost.Load(), want.postings.Load()),
		fmt.Sprintf(format, found.Quantity, found.NetExpenditure, found.Postings)}
}
