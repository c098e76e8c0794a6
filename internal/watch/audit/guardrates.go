package audit

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"ledger.example/internal/table"
)

// guardRate is what a guard has of a rate.
type guardRate struct {
	Slot    int64    `is:"slot"` // the newest day, week or month that it counted in
	Counted *big.Int `is:"sum"`  // the debits there
	Back    *big.Int `is:"sum"`  // of these, given back by holds that ended
}

func (g guardRate) equal(h guardRate) bool {
	return g.Slot == h.Slot && g.Counted.Cmp(h.Counted) == 0 && g.Back.Cmp(h.Back) == 0
}

// The name of a rate's attribute in a guard is this, the name of the rate, a colon and the name of the field.
const ratePrefix = "Rate:"

// readGuardRates reads the rates of a guard, by name.
func readGuardRates(r *reader) map[string]guardRate {
	all := make(map[string]guardRate)
	for attribute := range r.item {
		text, isRate := strings.CutPrefix(attribute, ratePrefix)
		at := strings.LastIndexByte(text, ':')
		if !isRate || at < 0 || !isCounted(text[:at]) || strings.Contains(text, " ") {
			continue // finish reports what is left
		}
		all[text[:at]] = guardRate{}
	}
	for name := range all {
		one := &reader{item: make(attributes), path: r.path + ratePrefix + name + ":", faults: r.faults}
		for _, c := range []string{"Slot", "Counted", "Back"} {
			if v, ok := r.item[ratePrefix+name+":"+c]; ok {
				one.item[c] = v
				r.taken = append(r.taken, ratePrefix+name+":"+c)
			}
		}
		var g guardRate
		one.fill(&g)
		all[name] = g
	}
	return all
}

// judgeRates compares the guard's rates with what postings counted. It cannot judge a rate of a zone that is not known
// here.
func (c *comparison) judgeRates(key table.Key, counted map[string]span) {
	stored := make(map[string]guardRate)
	if c.guard != nil {
		stored = maps.Clone(c.guard.rates)
	}
	names := maps.Clone(stored)
	for name := range counted {
		names[name] = stored[name]
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, isKnown := slotOf(name, c.settled); !isKnown {
			continue
		}
		is, isStored := stored[name]
		right, isCounted := counted[name]
		was, ought := absent, absent
		if isStored {
			was = span{is.Slot, new(big.Int).Sub(is.Counted, is.Back)}.String()
		}
		if isCounted {
			ought = right.String()
		}
		if was != ought {
			c.addIssue(GuardWrong, key, ratePrefix+name+":Counted", was, ought, wrong, lasting)
		}
	}
}

func (s span) String() string { return fmt.Sprintf("%s in %d", s.used, s.slot) }
