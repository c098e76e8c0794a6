// Package units converts amounts between minor units and decimal numbers, by the scale of each asset.
package units

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
)

// LoadingAtOnce is the most assets that Load reads concurrently. The client should keep as many connections open.
const LoadingAtOnce = 8

// noCost is shown for the cost of an asset that has no currency.
const noCost = "-"

// Units formats and parses amounts by the scale of their asset. It reads each asset once, because assets are immutable.
// With minor, it reads no asset and shows amounts in minor units.
type Units struct {
	*known
	minor    bool
	notation Notation
}

// known has the assets that are loaded.
type known struct {
	api *client.Client

	mu     sync.Mutex
	assets map[string]client.Asset
}

// New returns Units with no assets loaded, in the notation Plain. They are safe for concurrent use.
func New(api *client.Client, minor bool) *Units {
	return &Units{&known{api: api, assets: make(map[string]client.Asset)}, minor, Plain}
}

// In returns Units that read and write amounts in a notation. They share the loaded assets.
func (u *Units) In(n Notation) *Units { return &Units{u.known, u.minor, n} }

// Notation returns the notation of amounts.
func (u *Units) Notation() Notation { return u.notation }

// Load reads assets and their currencies. Errors: those of client.Asset.
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

// Asset returns an asset, from the cache if it is loaded.
func (u *Units) Asset(ctx context.Context, id string) (client.Asset, error) {
	if asset := u.loaded(id); asset.ID != "" {
		return asset, nil
	}
	r, err := u.api.Asset(ctx, id)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == "asset_not_found" {
		hint := ""
		if strings.Trim(id, ".0123456789") == "" {
			hint = "; if it is the amount, write it before the asset"
		}
		return client.Asset{}, &MissingAsset{id, hint, err}
	}
	if err != nil {
		return client.Asset{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.assets[id] = r.Value
	return r.Value, nil
}

// MissingAsset is the refusal of an asset that is not registered.
type MissingAsset struct {
	ID, hint string
	error
}

// Error returns the refusal, with the id and a hint.
func (e *MissingAsset) Error() string { return fmt.Sprintf("%v (asset %q%s)", e.error, e.ID, e.hint) }

// Unwrap returns the refusal.
func (e *MissingAsset) Unwrap() error { return e.error }

// loaded returns an asset that is loaded, otherwise the zero asset.
func (u *known) loaded(id string) client.Asset {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.assets[id]
}

// Quantity formats an amount of a loaded asset.
func (u *Units) Quantity(asset string, a events.Amount) string {
	if u.minor {
		return a.String()
	}
	return u.notation.Print(a.Decimal(u.loaded(asset).Scale))
}

// Cost formats a cost of a loaded asset, and returns its currency, "" if there is none.
func (u *Units) Cost(asset string, a events.Amount) (cost, currency string) {
	if u.minor {
		return a.String(), ""
	}
	c := u.loaded(asset).Currency
	if c == "" {
		return a.String(), "" // always zero
	}
	return u.notation.Print(a.Decimal(u.loaded(c).Scale)), c
}

// CostCell formats a cost with its currency, for tables.
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

// Available formats the available amount of a balance of a loaded asset.
func (u *Units) Available(b client.Balance) string {
	if b.Available == nil {
		return "no limit"
	}
	return u.Quantity(b.Asset, *b.Available)
}

// errorInDecimals is a *client.Error with another text.
type errorInDecimals struct {
	error
	text string
}

func (e errorInDecimals) Error() string { return e.text }
func (e errorInDecimals) Unwrap() error { return e.error }

// InDecimals returns an error with the amounts of a *client.Error as decimal numbers. legs is the asset of each leg of
// the transaction that the request is about, if it is known. If an asset cannot be read, it returns err, whose text
// says that amounts are in minor units.
func (u *Units) InDecimals(ctx context.Context, err error, legs ...string) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok || u.minor {
		return err
	}
	if hasAmounts, invalid := u.LoadRefusal(ctx, refused, legs...); !hasAmounts || invalid != nil {
		return err
	}
	return errorInDecimals{err, refused.Text(u.Quantity, u.CostCell, func(f client.FieldError) string {
		return u.Rule(f, legs...)
	})}
}

// LoadRefusal loads the assets of the amounts in a refusal, and reports whether it has any. For legs, see InDecimals.
// Errors: those of client.Asset.
func (u *Units) LoadRefusal(ctx context.Context, refused *client.Error, legs ...string) (hasAmounts bool, err error) {
	var assets []string
	if refused.Asset != "" {
		assets = append(assets, refused.Asset)
	}
	for _, l := range refused.Left {
		assets = append(assets, l.Asset)
	}
	for _, f := range refused.Fields {
		if asset := assetOf(f, legs); asset != "" {
			assets = append(assets, asset)
		}
	}
	return len(assets) > 0, u.Load(ctx, assets...)
}

// Rule returns the rule of a field with its amount as a decimal number, and with its asset if that is known and the
// rule does not name it. For legs, see InDecimals.
func (u *Units) Rule(f client.FieldError, legs ...string) string {
	amount, named, isCost, ok := f.Amount()
	asset := assetOf(f, legs)
	if !ok || asset == "" {
		return f.Rule
	}
	shown := u.Quantity(asset, amount)
	switch {
	case isCost:
		shown = u.CostCell(asset, amount)
	case named == "":
		shown += " " + asset
	}
	return strings.TrimSuffix(f.Rule, amount.String()) + shown
}

// leg matches the number of the leg that a field is in.
var leg = regexp.MustCompile(`^postings\[([0-9]+)\]`)

// assetOf returns the asset of the amount in a field's rule, "" if it is not known.
func assetOf(f client.FieldError, legs []string) string {
	_, asset, _, ok := f.Amount()
	if !ok || asset != "" || len(legs) == 0 {
		return asset
	}
	n := 0 // quantity and cost of a whole transfer or trade are those of the first leg
	if m := leg.FindStringSubmatch(f.Field); m != nil {
		n, _ = strconv.Atoi(m[1])
	}
	if n >= len(legs) {
		return ""
	}
	return legs[n]
}

// Parse parses an amount of an asset. what names the argument, flag or field, for errors. For people, the amount may
// have the sign of its currency or the asset's id beside it. Errors: AmountError, wrapped, if text is not an amount, or
// one of something else; those of client.Asset.
func (u *Units) Parse(ctx context.Context, what, asset, text string) (events.Amount, error) {
	scale := 0
	if !u.minor {
		a, err := u.Asset(ctx, asset)
		if err != nil {
			return events.Amount{}, err
		}
		scale = a.Scale
	}
	amount, err := u.parse(asset, text, scale)
	if err != nil {
		return amount, fmt.Errorf("%s: %w", what, err)
	}
	return amount, nil
}

func (u *Units) parse(asset, text string, scale int) (events.Amount, error) {
	f, ok := u.notation.Figure(text)
	switch {
	case len(u.notation.groups) == 0, !ok:
		return u.notation.Parse(text, scale)
	case !f.IsOf(asset):
		return events.Amount{}, amountError("%q is not an amount of %s", text, asset)
	}
	return minorUnits(text, f.Decimal, scale)
}

// ParseCost is Parse for an amount of an asset's currency. If the asset has none, it parses an amount of the asset; the
// API then refuses the cost.
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

// AmountError says why a string is not an amount.
type AmountError string

// Error implements error.
func (e AmountError) Error() string { return string(e) }

func amountError(format string, args ...any) error { return AmountError(fmt.Sprintf(format, args...)) }

// Parse is Plain.Parse.
func Parse(s string, scale int) (events.Amount, error) { return Plain.Parse(s, scale) }

// minorUnits converts a decimal number to minor units. Errors quote the text that it was read from. Error: AmountError.
func minorUnits(text, decimal string, scale int) (events.Amount, error) {
	digits, negative := strings.CutPrefix(decimal, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(fraction) > scale {
		places := "places"
		if len(fraction) == 1 {
			places = "place"
		}
		return events.Amount{}, amountError("%q has %d decimal %s, and there are at most %d", text, len(fraction),
			places, scale)
	}
	canonical := strings.TrimLeft(whole+fraction+strings.Repeat("0", scale-len(fraction)), "0")
	if canonical == "" {
		return events.Amount{}, nil
	}
	if negative {
		canonical = "-" + canonical
	}
	a, err := events.ParseAmount(canonical, events.PostedDigits)
	if err != nil { // there are only digits, so there are too many
		return events.Amount{}, amountError("%q has more than %d digits in minor units", text, events.PostedDigits)
	}
	return a, nil
}
