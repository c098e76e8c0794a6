package simulation

import (
	"strings"
	"time"

	"ledger.example/internal/table"
)

// guardOfRate is what a guard has of a rate.
type guardOfRate struct{ slot, counted, back int64 }

// takeGuardRates checks what a guard has of rates: slots never go back, and in a slot nothing falls. After a debit, no
// more is used than the version of the account allows that the guard has.
func (m *model) takeGuardRates(k pair, item table.Item) {
	for attribute := range item {
		name, isSlot := strings.CutSuffix(attribute, ":Slot")
		if !isSlot {
			continue
		}
		at := windowKey{pair: k, rate: name}
		was, now := m.windows.guards[at], guardOfRate{
			number(item, attribute), number(item, name+":Counted"), number(item, name+":Back"),
		}
		m.windows.guards[at] = now
		isDebit := now.slot > was.slot || now.counted > was.counted
		for _, v := range m.versions[k.Account] {
			if limit := v.rates[name[len("Rate:"):]]; isDebit && v.number == number(item, table.AttrChange) && now.counted-now.back > limit {
				m.fail("the guard of %v goes from %+v to %+v of %s, of which version %d allows %d", k, was, now, name, v.number, limit)
			}
		}
		switch {
		case now.slot > was.slot && was.slot > 0:
			m.count("windows opened")
		case now.slot < was.slot || now.slot == was.slot && (now.counted < was.counted || now.back < was.back):
			m.fail("the guard of %v goes from %+v to %+v of %s", k, was, now, name)
		}
	}
}

// roomNow returns the least that limits over time leave of a pair now; ok is false if it has none.
func (m *model) roomNow(k pair, v version) (room int64, ok bool) {
	if k.Asset != usd {
		return 0, false
	}
	for name, limit := range v.rates {
		if left := limit - m.windows.used[windowKey{k, name, slotOf(name, time.Now())}]; !ok || left < room {
			room, ok = left, true
		}
	}
	return max(0, room), ok
}
