package bench

import (
	"context"
	"fmt"
	"time"

	"ledger.example/client"
)

const (
	// warmingCount and warmingPeriod bound the warm-up before the first slice, which is not reported. The JVM of
	// DynamoDB Local compiles code during it.
	warmingCount  = 500
	warmingPeriod = 2 * time.Second
	// If slices last coldLeast or more, a DynamoDB Local that was just started is warmed up with coldCount requests,
	// within coldPeriod. It needs that many to reach its full speed.
	coldLeast  = 5 * time.Second
	coldCount  = 5_000
	coldPeriod = 30 * time.Second
	// A deposit credits accountsAtOnce accounts, and depositsAtOnce deposits are in flight: large transactions are slow
	// in DynamoDB Local.
	accountsAtOnce = 20
	depositsAtOnce = 2
)

// prepare registers the assets, opens the accounts and makes the deposits.
func (r *Run) prepare(ctx context.Context) error {
	defer r.watchSilence(ctx)()
	f := r.fixture
	for _, a := range []client.Asset{
		{ID: f.assets[cash], Name: "Cash", Scale: 2}, {ID: f.assets[share], Name: "Share", Currency: f.assets[cash]},
	} {
		if _, _, err := r.observe.RegisterAsset(ctx, a); err != nil {
			return err
		}
	}
	if r.inside != nil {
		if err := r.inside.beginTwin(ctx); err != nil {
			return err
		}
	}
	if _, err := drive(ctx, r.Clients, bound{count: len(f.names)}, func(_, i int) error {
		_, _, err := r.observe.OpenAccount(ctx, client.Account{
			ID: f.names[i], Name: "Account", Overdraft: client.Overdraft{Unlimited: !f.limited(i)},
		})
		r.noteSuccess()
		return err
	}); err != nil {
		return err
	}
	groups := (f.people + accountsAtOnce - 1) / accountsAtOnce
	_, err := drive(ctx, depositsAtOnce, bound{count: deposits * assets * groups}, func(_, n int) error {
		d, first := new(draft), n/assets%groups*accountsAtOnce
		d.deposit(f, f.id("deposit", n), first, min(first+accountsAtOnce, f.people), n%assets)
		_, err := r.observe.Send(ctx, client.Command{Kind: client.KindTransaction, ID: d.names, Body: d.body})
		if err == nil {
			r.noteSuccess()
			r.book.post(d.legs)
		}
		return err
	})
	return err
}

// warmUp runs a load that is not reported, and checks that it is projected.
func (r *Run) warmUp(ctx context.Context) error {
	b := bound{min(r.Count, warmingCount), min(r.Period, warmingPeriod)}
	if r.Local != nil && r.Local.IsCold && r.Period >= coldLeast {
		b = bound{count: coldCount, period: coldPeriod}
	}
	if _, err := r.drive(ctx, slot{workload: Uniform}, b, &r.warming, nil); err != nil || !r.Projected {
		return err
	}
	late, err := r.unprojected(ctx)
	if ctx.Err() != nil {
		return nil // the checks report it
	}
	if err == nil && len(late) > 0 {
		err = fmt.Errorf("%d balances are not projected after %s: use --no-pump for a ledger without a projector",
			len(late), projectionTimeout)
	}
	return err
}
