package bench

import (
	"context"
	"errors"
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

// The checks that a run may fail.
const (
	checkRequests  = "requests"  // a request failed
	checkOutcome   = "outcome"   // the outcome of a transaction is unknown
	checkBalance   = "balance"   // a strong read differs from the book
	checkSum       = "sum"       // the balances of an asset do not add up to zero
	checkLimit     = "limit"     // an account is below its limit
	checkProjected = "projected" // the projection differs from the book
	checkUnread    = "unread"    // the checks could not be completed
)

// Failed is a check that failed.
type Failed struct {
	Check    string `json:"check"`    // one of the names above
	Of       string `json:"of"`       // a workload and its round, a transaction, an asset, or an account and an asset
	Expected string `json:"expected"` // in words
	Found    string `json:"found"`
}

func (f Failed) String() string {
	return fmt.Sprintf("%s %s: expected %s, found %s", f.Check, f.Of, f.Expected, f.Found)
}

// fail adds a check that failed.
func (r *Report) fail(check, of, expected, found string) {
	r.Failed = append(r.Failed, Failed{check, of, expected, found})
}

// check adds the requests that failed, and compares every balance of the run, read strongly, with the book. It is a
// failure if the checks are not complete when ctx ends.
func (r *Run) check(ctx context.Context, out *Report) {
	out.Failed = append(out.Failed, r.failed...)
	r.resolve(ctx, out)
	err := r.checkBalances(ctx, out)
	if err == nil && r.Projected {
		var late []Failed
		late, err = r.unprojected(ctx)
		out.Failed = append(out.Failed, late...)
		out.Projected = err == nil
	}
	if err != nil {
		out.fail(checkUnread, "the load", "all balances to be compared", err.Error())
	}
}

// resolve sends the transactions of unknown outcome again, and adds those that were posted to the book.
func (r *Run) resolve(ctx context.Context, out *Report) {
	for _, q := range r.pending {
		_, _, err := r.load.Post(ctx, q.post)
		_, isRefused := errors.AsType[*client.Error](err)
		_, isUnknown := errors.AsType[*client.UnknownError](err) // it may be because of an Error
		switch {
		case err == nil:
			r.book.post(q.legs)
		case isUnknown, !isRefused:
			out.fail(checkOutcome, r.fixture.names[q.legs[0].account], "a known outcome", err.Error())
		}
	}
}

func (r *Run) balance(ctx context.Context, account, asset int, strong bool) (client.Balance, error) {
	b, err := r.observe.Balance(ctx, r.fixture.names[account], r.fixture.assets[asset], strong)
	return b.Value, err
}

// each calls do for each account and asset, concurrently, until a call fails or ctx ends. Both are errors.
func (r *Run) each(ctx context.Context, do func(account, asset int) error) error {
	err := drive(ctx, r.Clients, bound{count: len(*r.book)}, nil, func(_, n int) error {
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

// differs returns the failure for a balance that differs from the book.
func (r *Run) differs(check string, account, asset int, found client.Balance) Failed {
	want := r.book.at(account, asset)
	const format = "quantity %v, net expenditure %v, postings %d"
	return Failed{check, r.fixture.names[account] + " " + r.fixture.assets[asset],
		fmt.Sprintf(format, want.quantity.Load(), want.cost.Load(), want.postings.Load()),
		fmt.Sprintf(format, found.Quantity, found.NetExpenditure, found.Postings)}
}

// checkBalances compares every balance, read strongly, with the book, and adds up each asset.
func (r *Run) checkBalances(ctx context.Context, out *Report) error {
	found := make([]client.Balance, len(*r.book))
	if err := r.each(ctx, func(account, asset int) (err error) {
		found[account*assets+asset], err = r.balance(ctx, account, asset, true)
		return err
	}); err != nil {
		return err
	}
	out.Balances = len(found)
	for asset, name := range r.fixture.assets {
		var quantity, cost events.Amount
		for account := range r.fixture.names {
			b := found[account*assets+asset]
			if !r.book.at(account, asset).agrees(b) {
				out.Failed = append(out.Failed, r.differs(checkBalance, account, asset, b))
			}
			if r.fixture.limited(account) && b.Quantity.Sign() < 0 {
				out.fail(checkLimit, r.fixture.names[account]+" "+name, "not less than 0", b.Quantity.String())
			}
			var err1, err2 error
			quantity, err1 = quantity.Add(b.Quantity)
			cost, err2 = cost.Add(b.NetExpenditure)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
		}
		if !quantity.IsZero() || !cost.IsZero() {
			out.fail(checkSum, name, "quantities and costs that add up to 0",
				fmt.Sprintf("quantities %s, costs %s", quantity, cost))
		}
	}
	return nil
}
