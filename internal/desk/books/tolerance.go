package books

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// balance adds up what an entry lacks to zero. A program accepts a small rest, and a ledger does not. What can come
// from the program's rounding of prices is no rest.
func (m *mapping) balance(t Transaction) {
	left, unsure := make(map[string]*big.Rat), make(map[string]*big.Rat) // by commodity
	for _, p := range t.Postings {
		of := p.Quantity
		if p.Weight != nil {
			of = *p.Weight
		}
		if left[of.Commodity] == nil {
			left[of.Commodity], unsure[of.Commodity] = new(big.Rat), new(big.Rat)
		}
		left[of.Commodity].Add(left[of.Commodity], of.Number.value())
		unsure[of.Commodity].Add(unsure[of.Commodity], p.WeightError.value())
	}
	for commodity, rest := range left {
		scale := m.scales[m.assets.ids[commodity]]
		units, _, err := (Number{exact: rest}).minor(scale)
		if err != nil || units.IsZero() || new(big.Rat).Abs(rest).Cmp(unsure[commodity]) <= 0 {
			continue
		}
		if m.rests[commodity] == nil {
			m.rests[commodity] = &tolerated{noted: noted{first: m.at}}
		}
		m.rests[commodity].times++
		m.rests[commodity].sum.Sub(&m.rests[commodity].sum, rest)
	}
}

// tolerated has what entries lack to zero.
type tolerated struct {
	noted
	sum big.Rat
}

// noteRests notes what the account Conversion got from entries that do not sum to zero.
func (m *mapping) noteRests() {
	for _, commodity := range slices.Sorted(maps.Keys(m.rests)) {
		rest := m.rests[commodity]
		m.out.Notes = append(m.out.Notes, rest.String(fmt.Sprintf("entries do not sum to zero, within the program's "+
			"tolerance: the account %s gets the rest, %s %s", Conversion,
			rest.sum.FloatString(m.scales[m.assets.ids[commodity]]), commodity)))
	}
}
