package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/cmd/ledger/client"
	"ledger.example/events"
)

// loadingAtOnce is how many assets are asked for at the same time.
const loadingAtOnce = 8

// noCost stands for the cost of an asset that has no currency.
const noCost = "-"

// units turns amounts of minor units to what people write and read, by each asset's scale. Assets are immutable: each is
// asked for once. With minor, nothing is asked for and amounts stay as they are.
type units struct {
	api   *client.Client
	minor bool

	mu     sync.Mutex
	assets map[string]client.Asset
}

func newUnits(api *client.Client, minor bool) *units {
	return &units{api: api, minor: minor, assets: make(map[string]client.Asset)}
}

// load learns the given assets and their currencies. Errors: those of client.Asset.
func (u *units) load(ctx context.Context, ids ...string) error {
	if u.minor {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(loadingAtOnce)
	asked := make(map[string]bool)
	for _, id := range ids {
		if asked[id] {
			continue
		}
		asked[id] = true
		g.Go(func() error {
			asset, err := u.asset(ctx, id)
			if err == nil && asset.Currency != nil {
				_, err = u.asset(ctx, *asset.Currency)
			}
			return err
		})
	}
	return g.Wait()
}

func (u *units) asset(ctx context.Context, id string) (client.Asset, error) {
	u.mu.Lock()
	asset, known := u.assets[id]
	u.mu.Unlock()
	if known {
		return asset, nil
	}
	r, err := u.api.Asset(ctx, id)
	if err != nil {
		return client.Asset{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.assets[id] = r.Value
	return r.Value, nil
}

// quantity shows an amount of an asset that was loaded.
func (u *units) quantity(asset string, a events.Amount) string {
	if u.minor {
		return a.String()
	}
	return formatDecimal(a, u.assets[asset].Scale)
}

// cost shows a cost of an asset that was loaded, and the currency that it is in, "" if there is none.
func (u *units) cost(asset string, a events.Amount) (cost, currency string) {
	if u.minor {
		return a.String(), ""
	}
	c := u.assets[asset].Currency
	if c == nil {
		return a.String(), "" // zero: nothing else can be posted
	}
	return formatDecimal(a, u.assets[*c].Scale), *c
}

// costCell shows a cost with its currency, for tables.
func (u *units) costCell(asset string, a events.Amount) string {
	cost, currency := u.cost(asset, a)
	switch {
	case u.minor:
		return cost
	case currency == "":
		return noCost
	}
	return cost + " " + currency
}

// inDecimals shows the figures of a refusal as people read them. Without the asset's scale they stay in minor units, which
// the error says.
func (u *units) inDecimals(ctx context.Context, err error) error {
	var refused *client.Error
	if u.minor || !errors.As(err, &refused) || refused.Code != client.CodeInsufficientFunds || u.load(ctx, refused.Asset) != nil {
		return err
	}
	return refused.Shown(func(a events.Amount) string { return u.quantity(refused.Asset, a) })
}

// parseQuantity reads a quantity of an asset that was loaded.
func (u *units) parseQuantity(asset, text string) (events.Amount, error) {
	if u.minor {
		return parseMinor(text)
	}
	return parseDecimal(text, u.assets[asset].Scale)
}

// parseCost reads a cost of an asset that was loaded.
func (u *units) parseCost(asset, text string) (events.Amount, error) {
	if u.minor {
		return parseMinor(text)
	}
	c := u.assets[asset].Currency
	if c == nil {
		a, err := parseDecimal(text, events.ScaleMax)
		if err == nil && !a.IsZero() {
			err = fmt.Errorf("asset %s has no currency, so it cannot be traded at a cost", asset)
		}
		return a, err
	}
	return parseDecimal(text, u.assets[*c].Scale)
}
