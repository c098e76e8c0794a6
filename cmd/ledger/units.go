package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
)

// loadingAtOnce is how many assets are asked for at the same time: a page may show a hundred. The client keeps as many
// connections open.
const loadingAtOnce = 8

// noCost stands for the cost of an asset that has no currency.
const noCost = "-"

// units turns amounts of minor units to what people write and read, by each asset's scale. Assets are immutable: each
// is asked for once. With minor, nothing is asked for and amounts stay as they are.
type units struct {
	api   *client.Client
	minor bool

	mu     sync.Mutex
	assets map[string]client.Asset
}

// newUnits returns units that know no asset yet. They are safe for concurrent use while they load.
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
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
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

// asset returns an asset, from the cache when it is there.
func (u *units) asset(ctx context.Context, id string) (client.Asset, error) {
	u.mu.Lock()
	asset, known := u.assets[id]
	u.mu.Unlock()
	if known {
		return asset, nil
	}
	r, err := u.api.Asset(ctx, id)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == "asset_not_found" {
		hint := ""
		if strings.Trim(id, ".0123456789") == "" {
			hint = "; did you mean it as the amount, which stands before the asset?"
		}
		return client.Asset{}, fmt.Errorf("%w (asset %q%s)", err, id, hint)
	}
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

// available shows what may be spent of a balance whose asset was loaded.
func (u *units) available(b client.Balance) string {
	if b.Available == nil {
		return "no limit"
	}
	return u.quantity(b.Asset, *b.Available)
}

// inDecimals shows the amounts of a refusal as people read them. If an asset's scale cannot be read, they stay in minor
// units, and the error says so.
func (u *units) inDecimals(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || u.minor {
		return err
	}
	var assets []string
	if refused.Asset != "" {
		assets = append(assets, refused.Asset)
	}
	for _, l := range refused.Left {
		assets = append(assets, l.Asset)
	}
	if len(assets) == 0 || u.load(ctx, assets...) != nil {
		return err
	}
	return errors.New(refused.Text(u.quantity, u.costCell))
}

// parse reads an amount of an asset as people write it. what names the argument or flag. A text that is no amount is
// wrong use. Other errors: those of client.Asset.
func (u *units) parse(ctx context.Context, what, asset, text string) (events.Amount, error) {
	scale := 0
	if !u.minor {
		a, err := u.asset(ctx, asset)
		if err != nil {
			return events.Amount{}, err
		}
		scale = a.Scale
	}
	amount, err := parseDecimal(text, scale)
	if err != nil {
		return amount, wrongUse("%s: %w", what, err)
	}
	return amount, nil
}

// parseCost is parse for an amount of an asset's currency. The API refuses any cost of an asset without a currency.
func (u *units) parseCost(ctx context.Context, what, asset, text string) (events.Amount, error) {
	currency := asset
	if !u.minor {
		a, err := u.asset(ctx, asset)
		if err != nil {
			return events.Amount{}, err
		}
		if a.Currency != nil {
			currency = *a.Currency
		}
	}
	return u.parse(ctx, what, currency, text)
}
