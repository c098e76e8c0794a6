package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// Rating is the mode of limits over time: accounts spend around the end of a day, which is also the end of a month.
const Rating Mode = "rating"

// RatesOf returns the plan of a seed in TestRates.
func RatesOf(seed uint64) Plan { return planOf(seed, Rating) }

// TestRates runs histories of accounts with limits over time. A day ends meanwhile.
func TestRates(t *testing.T) { runHistories(t, RatesOf, 120) }

// start is when a history begins: at any time, or less than a minute before a day and a month end.
func (p Plan) start() time.Time {
	if p.Mode != Rating {
		return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(2026, time.February, 1, 0, 0, 0, 0, time.UTC).Add(-p.draw("edge", 0).between(time.Second, 40*time.Second))
}

// rates draws the limits over time of an account, all in USD. Each has another limit.
func (d dice) rates() (all []events.Rate) {
	for _, per := range []events.Per{events.PerDay, events.PerMonth, events.PerWeek} {
		if d.chance(.6) {
			all = append(all, events.Rate{Asset: usd, Per: per, Zone: "UTC",
				Quantity: events.NewAmount(pick(d, int64(40), 60, 90, 150) * map[events.Per]int64{"day": 1, "month": 2, "week": 3}[per])})
		}
	}
	return all
}

// ratesOf returns the limits over time that an account is opened with.
func (h *history) ratesOf(account string) []events.Rate {
	if h.plan.Mode != Rating {
		return nil
	}
	all := h.plan.draw("rates of "+account, 0).rates()
	events.SortRates(all)
	return all
}

// rating adds what an account spends, holds and gets back, alone and in batches, and changes of its limits.
func (g *generator) rating() {
	for _, account := range []string{jane, joe} {
		g.transfer(bank, account, usd, events.NewAmount(pick(g.dice, int64(60), 2000, 100_000, 100_000)), 0)
	}
	focus := pick(g.dice, jane, jane, "")
	who := func() string {
		if focus != "" {
			return focus
		}
		return pick(g.dice, jane, joe)
	}
	spends := func(account string, begin time.Duration) *operation {
		op := g.transfer(account, pick(g.dice, bank, shop), usd, g.amount(3, pick(g.dice, 40, 40, 100)), begin)
		if g.chance(.15) {
			op.asHold(pick(g.dice, 8*time.Second, 200*time.Second))
		}
		return op
	}
	for range 6 + g.IntN(12) {
		spends(who(), 2*time.Second+g.seconds(30))
	}
	for range 1 + g.IntN(4) {
		g.heldAndEnded(who(), 2*time.Second+g.seconds(20))
	}
	for range g.IntN(4) {
		b := g.add(&operation{kind: kindBatch, begin: 4*time.Second + g.seconds(24), atomic: g.chance(.6)})
		account := who()
		for range 2 + g.IntN(3) {
			g.joinBatch(b, spends(account, b.begin))
		}
	}
	for range g.IntN(3) {
		fund := g.transfer(bank, who(), usd, g.amount(20, 60), g.seconds(10))
		g.reverse(fund, g.partOf(fund), fund.begin+g.seconds(20))
	}
	for range g.IntN(3) {
		g.fits(who(), 2*time.Second+g.seconds(30))
	}
	for range g.IntN(4) {
		op := g.add(&operation{kind: kindChange, begin: 2*time.Second + g.seconds(28)})
		rates := g.rates()
		op.change = ledger.ChangeAccount{ID: who(), Actor: op.name, Rates: &rates}
	}
	if g.chance(.2) {
		g.changeAny(who(), g.seconds(30))
	}
}

// heldAndEnded adds a hold, and what ends it: alone, or in an atomic batch in which the account spends.
func (g *generator) heldAndEnded(account string, begin time.Duration) {
	hold := g.transfer(account, pick(g.dice, bank, shop), usd, g.amount(20, 90), begin)
	hold.asHold(pick(g.dice, 9*time.Second, 200*time.Second, 200*time.Second))
	for range 1 + g.IntN(2) {
		later := begin + 2*time.Second + g.seconds(14)
		end := pick(g.dice, (*generator).release, (*generator).capture)(g, hold, later)
		if !g.chance(.4) {
			continue
		}
		b := g.add(&operation{kind: kindBatch, begin: later, atomic: true})
		end.legs = end.brings()
		g.joinBatch(b, end)
		for range 1 + g.IntN(2) {
			g.joinBatch(b, g.transfer(account, bank, usd, g.amount(10, 90), later))
		}
		g.Shuffle(len(b.members), func(i, j int) { b.members[i], b.members[j] = b.members[j], b.members[i] })
	}
}

// slotOf is the number of the day, the month or the week with an instant, by the name of a rate of UTC.
func slotOf(name string, at time.Time) int64 {
	at = at.UTC()
	switch name {
	case "month@UTC":
		return int64(at.Year()*100 + int(at.Month()))
	case "week@UTC":
		for at.Weekday() != time.Monday {
			at = at.AddDate(0, 0, -1)
		}
	}
	return int64(at.Year()*10_000 + int(at.Month())*100 + at.Day())
}

// ratesByName are the limits over time of a version.
func ratesByName(all []events.Rate) map[string]int64 {
	byName := map[string]int64{}
	for _, r := range all {
		byName[r.Name()] = int64Of(r.Quantity)
	}
	return byName
}

// windowKey is a day, a week or a month of a pair.
type windowKey struct {
	pair
	rate string
	slot int64
}

// use is what was used of a window at a time.
type use struct {
	seen time.Time // by the model: not before it happened
	windowKey
	change, used int64
}

// windows are what the model knows of limits over time.
type windows struct {
	used   map[windowKey]int64
	log    []use // each change of used
	ended  map[string]bool
	guards map[windowKey]guardOfRate // of the newest slot, which the key does not have
	later  []func()                  // checks at the end
}

func newWindows() windows {
	return windows{used: map[windowKey]int64{}, ended: map[string]bool{}, guards: map[windowKey]guardOfRate{}}
}

func (w *windows) add(k windowKey, quantity int64) {
	w.used[k] += quantity
	w.log = append(w.log, use{time.Now(), k, quantity, w.used[k]})
}

// least returns the least that can have been used of a window when an attempt was applied, of which the model sees used.
// Commits become visible item by item, and not in the order in which they are applied. So what was seen since the attempt
// was sent may have been applied later, and what is given back a little later may have been applied before.
func (w *windows) least(k windowKey, used int64, a *attempt, seen time.Time, late time.Duration) int64 {
	for i, u := range w.log {
		isOwn := a.logged[0] <= i && i < a.logged[1]
		if u.windowKey != k || isOwn {
			continue
		}
		isBefore := i < a.logged[0]
		if isBefore && u.change > 0 && !u.seen.Before(a.sentAt) || !isBefore && u.change < 0 && u.seen.Before(seen.Add(late)) {
			used -= max(u.change, -u.change)
		}
	}
	return used
}

// instants are those that KSUIDs of the call may have: one in each second, and the last.
func (c *call) instants() (all []time.Time) {
	last := c.answered.Add(maxSkew)
	for at := c.sent.Add(-maxSkew); at.Before(last); at = at.Add(time.Second) {
		all = append(all, at)
	}
	return append(all, last)
}

// most returns the most that can have been used of a window from one time to another, by what was seen until then.
// Commits become visible item by item, and not in the order in which they are applied: so what was given back meanwhile
// may have been applied after all that was used.
func (w *windows) most(k windowKey, since, until time.Time) (most int64) {
	for _, u := range w.log {
		switch {
		case u.windowKey != k || u.seen.After(until):
		case u.seen.Before(since):
			most = u.used
		default:
			most += max(u.change, 0)
		}
	}
	return most
}

// giveBack counts what the end of a hold gives back to the windows that the hold is counted in.
func (m *model) giveBack(e events.HoldEnded) {
	hold := m.headers[e.Transaction]
	if m.windows.ended[e.Transaction] || len(hold.Legs) != len(e.Legs) {
		return
	}
	m.windows.ended[e.Transaction] = true
	for i, leg := range hold.Legs {
		for _, name := range leg.CountedNames() {
			k := windowKey{pair{Account: leg.Account, Asset: leg.Asset}, name, slotOf(name, leg.ID.Time())}
			if back := int64Of(e.Legs[i].Quantity) - int64Of(leg.Quantity); back > 0 {
				m.windows.add(k, -back)
				m.count("given back to rates")
			}
		}
	}
}

// checkRates counts the debits of a transaction, and checks that limits over time in force since the call began allow
// them: those that count the debits.
func (m *model) checkRates(t events.TransactionPosted, a *attempt) {
	debits, names := map[pair]int64{}, map[pair]string{}
	for _, leg := range t.Legs {
		if leg.Quantity.Sign() < 0 {
			k := pair{Account: leg.Account, Asset: leg.Asset}
			debits[k] -= int64Of(leg.Quantity)
			names[k] = leg.Counted
		}
	}
	isCounted := t.Reverses == "" && !t.IsBackdated()
	for k, quantity := range debits {
		counted := events.Leg{Counted: names[k]}.CountedNames()
		for _, name := range counted {
			m.windows.add(windowKey{k, name, slotOf(name, t.Legs[0].ID.Time())}, quantity)
		}
		if len(m.versions[k.Account]) == 0 || !isCounted {
			if len(counted) > 0 {
				m.fail("%s: %v is counted by %v", t.ID, k, counted)
			}
			continue
		}
		if len(counted) > 0 {
			m.count("counted by rates")
		}
		used, seen, since := maps.Clone(m.windows.used), time.Now(), m.inForce(k.Account, a.call)
		allows := func(v version) bool {
			if len(counted) != len(v.rates) && k.Asset == usd {
				return false
			}
			return !slices.ContainsFunc(counted, func(name string) bool {
				limit, has := v.rates[name]
				window := windowKey{k, name, slotOf(name, t.Legs[0].ID.Time())}
				return !has || m.windows.least(window, used[window], a, seen, 20*m.knobs.itemDelay) > limit
			})
		}
		m.windows.later = append(m.windows.later, func() {
			if !slices.ContainsFunc(since, allows) {
				m.fail("%s debits %d of %v, counted by %v: more than any limit in force allows; used are %v, versions %+v",
					t.ID, quantity, k, counted, used, since)
			}
		})
	}
}

// checkRateExceeded checks a refusal by a limit over time. A version in force since the call began has it. At some time
// since then so much was used that the request was not allowed. A batch uses more by its earlier requests.
func (m *model) checkRateExceeded(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count("rate_exceeded answers")
	if e.Rate == nil {
		m.fail("%s: refused without figures", op.name)
		return
	}
	k, limit, requested := pair{Account: e.Account, Asset: e.Rate.Asset}, int64Of(e.Rate.Quantity), int64Of(e.Rate.Requested)
	isIt := func(v version) bool { return v.rates[e.Rate.Name()] == limit }
	if !slices.ContainsFunc(m.inForce(k.Account, c), isIt) || int64Of(e.Rate.Used)+requested <= limit {
		m.fail("%s: refused by no limit in force: %+v", op.name, e.Rate)
	}
	if op.batch != nil {
		return
	}
	m.windows.later = append(m.windows.later, func() {
		until := c.answered.Add(20 * m.knobs.itemDelay) // what the guard counted may be visible only later
		for _, at := range c.instants() {
			k := windowKey{k, e.Rate.Name(), slotOf(e.Rate.Name(), at)}
			if m.windows.most(k, c.sent, until)+requested > limit {
				return
			}
		}
		m.fail("%s: refused (%+v), but no more was used than this: %+v", op.name, e.Rate, m.windows.log)
	})
}
