// Package units shows amounts of minor units as people write and read them, by the scale of each asset.
package units

import (
	"cmp"
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

// LoadingAtOnce is how many assets are asked for at the same time: a page may show a hundred. The client keeps as many
// connections open.
const LoadingAtOnce = 8

// noCost stands for the cost of an asset that has no currency.
const noCost = "-"

// Units turns amounts of minor units to what people write and read, by each asset's scale. Assets are immutable: each
// is asked for once. With minor, nothing is asked for and amounts stay as they are.
type Units struct {
	api   *client.Client
	minor bool

	mu     sync.Mutex
	assets map[string]client.Asset
}

// New returns Units that know no asset yet. They are safe for concurrent use.
func New(api *client.Client, minor bool) *Units {
	return &Units{api: api, minor: minor, assets: make(map[string]client.Asset)}
}

// Load learns the given assets and their currencies. Errors: those of client.Asset.
func (u *Units) Load(ctx context.Context, ids ...string) error {
	if u.minor {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(LoadingAtOnce)
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		g.Go(func() error {
			asset, err := u.Asset(ctx, id)
			if err == nil && asset.Currency != "" {
				_, err = u.Asset(ctx, asset.Currency)
			}
			return err
		})
	}
	return g.Wait()
}

// Asset returns an asset, from the cache when it is there.
func (u *Units) Asset(ctx context.Context, id string) (client.Asset, error) {
	if asset := u.known(id); asset.ID != "" {
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

// known returns an asset that was loaded, else the zero asset.
func (u *Units) known(id string) client.Asset {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.assets[id]
}

// Quantity shows an amount of an asset that was loaded.
func (u *Units) Quantity(asset string, a events.Amount) string {
	if u.minor {
		return a.String()
	}
	return Format(a, u.known(asset).Scale)
}

// Cost shows a cost of an asset that was loaded, and the currency that it is in, "" if there is none.
func (u *Units) Cost(asset string, a events.Amount) (cost, currency string) {
	if u.minor {
		return a.String(), ""
	}
	c := u.known(asset).Currency
	if c == "" {
		return a.String(), "" // zero: nothing else can be posted
	}
	return Format(a, u.known(c).Scale), c
}

// CostCell shows a cost with its currency, for tables.
func (u *Units) CostCell(asset string, a events.Amount) string {
	cost, currency := u.Cost(asset, a)
	switch {
	case u.minor:
		return cost
	case currency == "":
		return noCost
	}
	return cost + " " + currency
}

// Available shows what may be spent of a balance whose asset was loaded.
func (u *Units) Available(b client.Balance) string {
	if b.Available == nil {
		return "no limit"
	}
	return u.Quantity(b.Asset, *b.Available)
}

// InDecimals shows the amounts of a refusal as people read them. If an asset's scale cannot be read, they stay in minor
// units, and the error says so.
func (u *Units) InDecimals(ctx context.Context, err error) error {
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
	if len(assets) == 0 || u.Load(ctx, assets...) != nil {
		return err
	}
	return errors.New(refused.Text(u.Quantity, u.CostCell))
}

// Parse reads an amount of an asset as people write it. what names the argument or flag. Errors: AmountError of a text
// that is no amount, wrapped; those of client.Asset.
func (u *Units) Parse(ctx context.Context, what, asset, text string) (events.Amount, error) {
	scale := 0
	if !u.minor {
		a, err := u.Asset(ctx, asset)
		if err != nil {
			return events.Amount{}, err
		}
		scale = a.Scale
	}
	amount, err := Parse(text, scale)
	if err != nil {
		return amount, fmt.Errorf("%s: %w", what, err)
	}
	return amount, nil
}

// ParseCost is parse for an amount of an asset's currency. The API refuses any cost of an asset without a currency.
func (u *Units) ParseCost(ctx context.Context, what, asset, text string) (events.Amount, error) {
	currency := asset
	if !u.minor {
		a, err := u.Asset(ctx, asset)
		if err != nil {
			return events.Amount{}, err
		}
		currency = cmp.Or(a.Currency, asset)
	}
	return u.Parse(ctx, what, currency, text)
}
