package books

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// balance adds up what an entry lacks to zero. A program accepts a small rest, and a ledger does not.
func (m *mapping) balance(t Transaction) {
	left := make(map[string]*big.Rat) // by commodity
	for _, p := range t.Postings {
		of := p.Quantity
		if p.Weight != nil {
			of = *p.Weight
		}
		if left[of.Commodity] == nil {
			left[of.Commodity] = new(big.Rat)
		}
		left[of.Commodity].Add(left[of.Commodity], of.Number.value())
	}
	for commodity, rest := range left {
		scale := m.scales[m.assets.ids[commodity]]
		if units, _, err := (Number{exact: rest}).minor(scale); err != nil || units.IsZero() {
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
