package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
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
	under, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	f := r.fixture
	put := func(path, body string) error {
		return r.must(ctx, under, &draft{request: request{method: http.MethodPut, path: path, body: []byte(body)}})
	}
	bodies := [assets]string{cash: `{"name":"Cash","scale":2}`,
		share: `{"name":"Share","scale":0,"currency":"` + f.assets[cash] + `"}`}
	for asset, body := range bodies {
		if err := put("/v1/assets/"+f.assets[asset], body); err != nil {
			return err
		}
	}
	if r.inside != nil {
		if err := r.inside.beginTwin(ctx); err != nil {
			return err
		}
	}
	if _, err := drive(ctx, r.Clients, bound{count: len(f.names)}, func(_, i int) error {
		body := `{"name":"Account"}`
		if !f.limited(i) {
			body = `{"name":"Account","overdraft":"unlimited"}`
		}
		return put("/v1/accounts/"+f.names[i], body)
	}); err != nil {
		return err
	}
	groups := (f.people + accountsAtOnce - 1) / accountsAtOnce
	_, err := drive(ctx, depositsAtOnce, bound{count: deposits * assets * groups}, func(_, n int) error {
		d, first := new(draft), n/assets%groups*accountsAtOnce
		d.deposit(f, f.id("deposit", n), first, min(first+accountsAtOnce, f.people), n%assets)
		return r.must(ctx, under, d)
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// must sends a request that has to succeed.
func (r *Run) must(ctx, under context.Context, d *draft) error {
	out, err := r.call(ctx, under, &d.request, new(bytes.Buffer), new(counts))
	switch {
	case err != nil:
		return err
	case out.code != "" && ctx.Err() != nil:
		return context.Cause(ctx)
	case out.code != "":
		return fmt.Errorf("%s %s: %s", d.method, d.path, out.code)
	}
	r.book.post(d.legs)
	return nil
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
