package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"ledger.example/cmd/ledger/client"
)

const (
	// settlePatience is how long everything may take to be projected that was posted: many times the window in which
	// the stream is gathered.
	settlePatience = time.Minute
	// settlePoll is how often a balance is looked at meanwhile.
	settlePoll = 50 * time.Millisecond
	// strongLooks is after how many looks a balance is also read strongly.
	strongLooks = 20
	// lookTries is how often a balance is asked for at most, when it isn't answered.
	lookTries = 5
)

// balance reads one balance of the run, past what is measured.
func (r *run) balance(ctx context.Context, account, asset int, strong bool) (client.Balance, error) {
	b, err := r.balanceOf(ctx, r.cast.names[account], r.cast.assets[asset], strong)
	if err != nil {
		err = fmt.Errorf("the balance of %s in %s: %w", r.cast.names[account], r.cast.assets[asset], err)
	}
	return b, err
}

func (r *run) balanceOf(ctx context.Context, account, asset string, strong bool) (client.Balance, error) {
	req := request{method: "GET", path: "/v1/accounts/" + account + "/balances/" + asset}
	if strong {
		req.query = "consistency=strong"
	}
	for try := 1; ; try++ {
		var buffer bytes.Buffer
		a, err := r.look.send(ctx, &req, &buffer)
		if err == nil && a.status != 200 {
			err = fmt.Errorf("it was answered %d", a.status)
		}
		var b client.Balance
		if err == nil {
			err = json.Unmarshal(a.body, &b)
		}
		if err == nil || try == lookTries || !wait(ctx, max(pause(try), retryAfter(a))) {
			return b, err
		}
	}
}

// each calls do for each account and asset of the run, clients of them at once, until one fails or ctx ends, which is an error.
func (r *run) each(ctx context.Context, do func(account, asset int) error) error {
	_, err := drive(ctx, r.Clients, bound{count: len(r.cast.names) * assets}, func(_, n int) error {
		return do(n/assets, n%assets)
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// settle waits until all that was acknowledged is projected, as far as that can be told, and not for ever; nothing where
// nothing projects. What is not projected in the end is for the checks to find.
func (r *run) settle(ctx context.Context) error {
	if !r.Projected {
		return nil
	}
	if _, err := r.unprojected(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// lagging is a balance that did not become what it should be.
type lagging struct {
	account, asset int
	found          client.Balance
}

// unprojected waits as settle does, and returns the balances that are still not what they should be. What the projection should
// be is what the books say, or else what a strong read does: if those differ, that is not the projection's fault.
func (r *run) unprojected(ctx context.Context) ([]lagging, error) {
	deadline := time.Now().Add(settlePatience)
	var mu sync.Mutex
	var late []lagging
	err := r.each(ctx, func(account, asset int) error {
		for look := 1; ctx.Err() == nil; look++ {
			b, err := r.balance(ctx, account, asset, false)
			if err == nil && !r.book.at(account, asset).agrees(b) {
				strong := b
				if look%strongLooks == 0 {
					strong, err = r.balance(ctx, account, asset, true)
				}
				switch {
				case err != nil:
				case look%strongLooks == 0 && same(b, strong):
					return nil
				case time.Now().After(deadline):
					mu.Lock()
					defer mu.Unlock()
					late = append(late, lagging{account, asset, b})
					return nil
				default:
					wait(ctx, settlePoll)
					continue
				}
			}
			return err
		}
		return nil
	})
	return late, err
}

// agrees tells whether a balance is what was counted.
func (f *figures) agrees(b client.Balance) bool {
	return b.Quantity.String() == amount(f.quantity.Load()) && b.NetExpenditure.String() == amount(f.cost.Load()) &&
		b.Postings == f.postings.Load()
}

// same tells whether two answers say the same of a balance.
func same(a, b client.Balance) bool {
	return a.Quantity == b.Quantity && a.NetExpenditure == b.NetExpenditure && a.Postings == b.Postings
}
