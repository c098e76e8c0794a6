package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ledger.example/events"
)

// ruleUnlimitedRates is the rule of rates in an account without a limit: no guard counts its debits.
const ruleUnlimitedRates = "must not be given for an account whose overdraft is unlimited"

// rates checks limits over time, each by itself and together.
func (f *faults) rates(rates []events.Rate) {
	if len(rates) > events.RatesMax {
		f.check(Field{Name: "rates"}, fmt.Sprintf("must have at most %d items", events.RatesMax))
	}
	ofAsset, seen := make(map[string]int), make(map[events.Rate]bool)
	for i, r := range withZones(slices.Clone(rates)) {
		field := func(name string) Field { return Field{Leg: i + 1, List: "rates", Name: name} }
		f.check(field("asset"), idViolation(r.Asset))
		if r.Per != events.PerDay && r.Per != events.PerWeek && r.Per != events.PerMonth {
			f.check(field("per"), "must be day, week or month")
		}
		if !IsZone(r.Zone) {
			f.check(field("zone"), RuleZone)
		}
		f.check(field("quantity"), positiveViolation(r.Quantity))
		if ofAsset[r.Asset]++; ofAsset[r.Asset] == events.AssetRatesMax+1 {
			f.check(field("asset"), fmt.Sprintf("must have at most %d rates", events.AssetRatesMax))
		}
		if r.Quantity = (events.Amount{}); seen[r] {
			f.check(field(""), "must differ from the others in its asset, its time or its zone")
		}
		seen[r] = true
	}
}

// withZones sets the zones that are not given.
func withZones(rates []events.Rate) []events.Rate {
	for i := range rates {
		rates[i].Zone = cmp.Or(rates[i].Zone, "UTC")
	}
	return rates
}

// checkRateAssets returns CodeAssetNotFound for rates of unregistered assets.
func (l *Ledger) checkRateAssets(ctx context.Context, rates []events.Rate) error {
	var ids []string
	for _, r := range rates {
		ids = append(ids, r.Asset)
	}
	slices.Sort(ids)
	return l.checkRegistered(ctx, slices.Compact(ids), func(asset string) Field {
		i := slices.IndexFunc(rates, func(r events.Rate) bool { return r.Asset == asset })
		return Field{Leg: i + 1, List: "rates", Name: "asset"}
	})
}

// cloneRates copies rates and their texts, in the order in which they are stored.
func cloneRates(rates []events.Rate) []events.Rate {
	rates = slices.Clone(rates)
	for i := range rates {
		r := &rates[i]
		r.Asset, r.Per, r.Zone = strings.Clone(r.Asset), events.Per(strings.Clone(string(r.Per))), strings.Clone(r.Zone)
	}
	events.SortRates(withZones(rates))
	return rates
}
