package books

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bojanz/currency"

	"ledger.example/client"
	"ledger.example/events"
)

const (
	// costPlaces bounds the scale of a commodity that stands only in costs and prices.
	costPlaces = 2
	// inferredPlaces bounds the scale of a commodity all of whose amounts are inferred.
	inferredPlaces = 8
)

// decimals has the decimals of a commodity in the book: the most of an amount that is written in a posting, of one that
// the program inferred, and of a cost or price. -1 is none.
type decimals struct {
	written, inferred, weighed int
	at                         Position // of the first posting with the most written decimals
	amount                     Amount   // of that posting
}

// scale returns the scale of a new asset. A number that nobody wrote does not decide it: such numbers are rounded.
func (d *decimals) scale(name string) int {
	usual, isCurrency := usualDecimals(name)
	switch {
	case d.written >= 0:
		return max(d.written, usual)
	case isCurrency:
		return usual
	case d.inferred >= 0:
		return min(max(d.inferred, d.weighed), inferredPlaces)
	default:
		return min(max(d.weighed, 0), costPlaces)
	}
}

// usualDecimals returns the decimals of a currency in ISO 4217, by its code or its symbol in English texts.
func usualDecimals(name string) (decimals int, isCurrency bool) {
	if code, ok := currencySymbols()[name]; ok {
		name = code
	}
	digits, isCurrency := currency.GetDigits(name)
	return int(digits), isCurrency
}

// currencySymbols has the codes of currencies by their symbols, such as $.
var currencySymbols = sync.OnceValue(func() map[string]string {
	codes := make(map[string]string)
	for _, code := range currency.GetCurrencyCodes() {
		if symbol, ok := currency.GetSymbol(code, currency.NewLocale("en")); ok {
			codes[symbol] = code
		}
	}
	return codes
})

// count counts the decimals of an entry's amounts, and its postings with a weight.
func (m *mapping) count(t Transaction) {
	of := func(commodity string) *decimals {
		if m.decimals[commodity] == nil {
			m.decimals[commodity] = &decimals{written: -1, inferred: -1, weighed: -1}
		}
		return m.decimals[commodity]
	}
	for _, p := range t.Postings {
		d, n := of(p.Quantity.Commodity), p.Quantity.Number
		switch {
		case p.Inferred:
			d.inferred = max(d.inferred, n.decimals())
		case n.decimals() > d.written:
			d.written, d.at, d.amount = n.decimals(), t.position(p), p.Quantity
		}
		if p.Weight == nil {
			continue
		}
		w := of(p.Weight.Commodity)
		w.weighed = max(w.weighed, p.Weight.Number.decimals())
		if m.weights[p.Quantity.Commodity] == nil {
			m.weights[p.Quantity.Commodity] = make(map[string]int)
		}
		m.weights[p.Quantity.Commodity][p.Weight.Commodity]++
	}
}

// defineAssets writes a line for each asset that the ledger does not have. Existing assets keep their scale and
// currency.
func (m *mapping) defineAssets(ctx context.Context) error {
	var fresh []string
	for _, name := range slices.Sorted(maps.Keys(m.assets.ids)) {
		assetID := m.assets.ids[name]
		given, isGiven := m.Scales[name]
		r, err := m.Ledger.Asset(ctx, assetID)
		switch {
		case err == nil:
			m.scales[assetID], m.hasAsset[assetID] = r.Value.Scale, true
			if r.Value.Currency != "" {
				m.currencies[assetID] = r.Value.Currency
			}
			if isGiven && given != r.Value.Scale {
				m.wrong(Position{}, "--scale %s=%d: the ledger has the asset %q already, with %d decimals, which "+
					"stay. %s", name, given, assetID, r.Value.Scale, anotherID(name, assetID))
			}
			continue
		case !isAbsent(err, "asset_not_found"):
			return err
		}
		fresh = append(fresh, name)
		m.scales[assetID] = given
		if !isGiven {
			m.scales[assetID] = m.decide(name, m.decimals[name])
		}
	}
	for _, name := range fresh {
		assetID := m.assets.ids[name]
		postings := m.weights[name]
		for _, c := range slices.SortedFunc(maps.Keys(postings), func(a, b string) int { // the most frequent one
			return cmp.Or(cmp.Compare(postings[b], postings[a]), strings.Compare(a, b))
		})[:min(1, len(postings))] {
			if currency := m.assets.ids[c]; !m.leads(currency, assetID) {
				m.currencies[assetID] = currency
			}
		}
	}
	written := make(map[string]bool)
	var write func(name string)
	write = func(name string) { // its currency first
		assetID := m.assets.ids[name]
		if written[assetID] || !slices.Contains(fresh, name) {
			return
		}
		written[assetID] = true
		if currency := m.currencies[assetID]; currency != "" {
			write(m.assets.names[currency])
		}
		m.define(Position{}, client.KindAsset, client.Line[client.Asset]{Request: client.Asset{
			ID: assetID, Name: nameOf(name, assetID), Scale: m.scales[assetID], Currency: m.currencies[assetID]}})
	}
	for _, name := range fresh {
		write(name)
	}
	return nil
}

// leads reports whether the chain of currencies from one asset leads to another. A cycle cannot be registered.
func (m *mapping) leads(from, to string) bool {
	for ; from != ""; from = m.currencies[from] {
		if from == to {
			return true
		}
	}
	return false
}

// decide returns the scale of a new asset, and says which line decided it if that is not the usual scale of a currency.
func (m *mapping) decide(name string, d *decimals) int {
	scale := d.scale(name)
	usual, isCurrency := usualDecimals(name)
	switch {
	case scale > events.ScaleMax:
		m.wrong(d.at, "%s %s has %d decimals, and an asset has at most %d: round the number", d.amount.Number, name,
			scale, events.ScaleMax)
	case isCurrency && scale > usual:
		m.at = d.at
		m.note(fmt.Sprintf("the asset %s has %d decimals and not the usual %d, because of %s %s", name, scale, usual,
			d.amount.Number, name))
	}
	return scale
}

// anotherID says how a commodity gets another id than that of an asset which the ledger has.
func anotherID(name, assetID string) string {
	return fmt.Sprintf("Or give the commodity an asset of its own: --ids FILE, with the line %s",
		strings.TrimSpace(csvLine(name, assetID+"-2")))
}

// csvLine returns a line of CSV.
func csvLine(fields ...string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(fields) // to memory, it never fails
	w.Flush()
	return b.String()
}
