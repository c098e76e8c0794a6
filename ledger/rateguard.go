package ledger

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// The attributes of a rate in a guard: its name is between the prefix and one of the suffixes.
const (
	ratePrefix    = "Rate:"
	slotSuffix    = ":Slot"
	countedSuffix = ":Counted"
	backSuffix    = ":Back"
)

// readRates reads the rates of a guard; nil if it has none.
func readRates(r *table.Reader, item table.Item) (rates map[string]rateState) {
	for attribute := range item {
		name, isSlot := strings.CutSuffix(attribute, slotSuffix)
		name, isRate := strings.CutPrefix(name, ratePrefix)
		if !isSlot || !isRate {
			continue
		}
		if rates == nil {
			rates = make(map[string]rateState)
		}
		rates[name] = rateState{
			slot: r.Integer(attribute), counted: r.Amount(ratePrefix + name + countedSuffix),
			back: r.Amount(ratePrefix + name + backSuffix),
		}
	}
	return rates
}

// spendWithRates is spend for a pair with rates, or that gets something back from a hold. It is still one update.
//
// A debit counts in the slot that the guard has, or opens a newer one. Slots never go back, and what a slot has counted
// never falls: so a refusal by a rate is as final as one by funds.
func (l *limit) spendWithRates(m *table.ItemEncoder) table.Write {
	w := rateWrite{m: m, conditions: []string{"#form = :form"}, Write: table.Write{
		Key: table.Spend.Key(l.pair.Account, l.pair.Asset), ReturnOld: true,
		Names:  map[string]string{"#form": table.AttrForm},
		Values: table.Item{":form": m.Amount(events.NewAmount(events.Form))},
	}}
	if !l.backOnly {
		w.spend(l)
	}
	for i := range l.rates {
		w.count(&l.rates[i], strconv.Itoa(i))
	}
	return w.done()
}

// rateWrite is the update of a guard while it is built.
type rateWrite struct {
	table.Write
	m                      *table.ItemEncoder
	conditions, sets, adds []string
}

// spend adds what limit.spend does for a pair without rates.
func (w *rateWrite) spend(l *limit) {
	bound := l.bound()
	if slices.ContainsFunc(l.rates, func(u rateUse) bool { return u.opens() && u.neverFits() }) {
		bound = impassable // sent nevertheless: its refusal proves what the guard has
	}
	w.conditions = append(w.conditions, "#change = :change", "#spent <= :bound")
	w.adds = append(w.adds, "#spent :gross")
	maps.Copy(w.Names, spendNames)
	w.Values[":gross"], w.Values[":bound"] = w.m.Amount(l.gross), w.m.Amount(bound)
	w.Values[":change"] = w.m.Amount(events.NewAmount(l.account.Version))
}

// count adds the i-th rate. To count in the slot that the guard has, the condition is that it still has this slot, and
// has counted at most the cap. To open a newer slot, it is that the guard's is older, or absent if it was absent when
// it was read. To give back only, it is that the guard still has the slot of the hold.
func (w *rateWrite) count(u *rateUse, i string) {
	slot := w.name("#slot"+i, u.name, slotSuffix)
	is := w.value(":slot"+i, events.NewAmount(u.slot))
	if !u.limited {
		w.conditions = append(w.conditions, slot+" = "+is)
		w.adds = append(w.adds, w.name("#back"+i, u.name, backSuffix)+" "+w.value(":back"+i, u.back))
		return
	}
	counted := w.name("#counted"+i, u.name, countedSuffix)
	gross := w.value(":counted"+i, u.counted)
	if !u.opens() {
		w.conditions = append(w.conditions, slot+" = "+is, counted+" <= "+w.value(":cap"+i, u.cap()))
		w.adds = append(w.adds, counted+" "+gross)
		if !u.back.IsZero() {
			w.adds = append(w.adds, w.name("#back"+i, u.name, backSuffix)+" "+w.value(":back"+i, u.back))
		}
		return
	}
	w.conditions = append(w.conditions, u.opening(slot, is))
	back := w.name("#back"+i, u.name, backSuffix) + " = " + w.value(":back"+i, u.back)
	w.sets = append(w.sets, slot+" = "+is, counted+" = "+gross, back)
}

// name names an attribute of a rate in the expressions.
func (w *rateWrite) name(as, rate, suffix string) string {
	w.Names[as] = ratePrefix + rate + suffix
	return as
}

// value names an amount in the expressions.
func (w *rateWrite) value(as string, a events.Amount) string {
	w.Values[as] = w.m.Amount(a)
	return as
}

func (w *rateWrite) done() table.Write {
	w.If = strings.Join(w.conditions, " AND ")
	if w.sets != nil {
		w.Update = "SET " + strings.Join(w.sets, ", ") + " "
	}
	if w.adds != nil {
		w.Update += "ADD " + strings.Join(w.adds, ", ")
	}
	return w.Write
}
