package simulation

import (
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// fits adds a transfer of as much as fits from an account with a limit, or a split from both of them.
func (g *generator) fits(account string, begin time.Duration) {
	fit := ledger.Fit{}
	least := pick(g.dice, int64(1), 1, 10, 30)
	if g.chance(.6) {
		fit.UpTo = new(g.amount(30, 200))
	}
	if g.chance(.4) {
		fit.Keep = events.NewAmount(pick(g.dice, int64(-30), -200, 15))
	}
	if least > 1 {
		fit.AtLeast = new(events.NewAmount(least))
	}
	to, asset := pick(g.dice, bank, shop), pick(g.dice, usd, usd, aapl)
	op := g.post(begin, func(note ledger.Annotation) ledger.Request {
		return ledger.PostTransfer{Annotation: note, From: account, To: to, Asset: asset, Fit: &fit}
	}, legOf(account, asset, events.NewAmount(-least)), legOf(to, asset, events.NewAmount(least)))
	if n := int64Of(fit.Keep); g.chance(.4) {
		other := map[string]string{jane: joe, joe: jane}[account]
		share, _ := ledger.ParseShare("1/3")
		bounds := ledger.Fit{UpTo: fit.UpTo, AtLeast: fit.AtLeast}
		op.build = func(note ledger.Annotation) ledger.Request {
			return ledger.PostSplit{Annotation: note, Asset: asset, Fit: &bounds,
				Sources: []ledger.Source{{Account: account, Keep: fit.Keep}, {Account: other, Keep: events.NewAmount(n)}},
				To:      []ledger.Portion{{Account: to, Share: share}, {Account: to, Rest: 1}}}
		}
		op.legs = append(op.legs, legOf(other, asset, events.NewAmount(-least)))
	}
	op.fit = &fit
	if g.chance(.2) {
		op.asHold(200 * time.Second)
	}
}

// limit returns how far below zero the operation may bring the pair of an account of this version.
func (op *operation) limit(v version, asset string) int64 {
	if op == nil || op.fit == nil {
		return v.limits[asset]
	}
	return min(v.limits[asset], -int64Of(op.fit.Keep))
}

// operationOf returns the operation that posts a transaction, nil if there is none.
func (h *history) operationOf(transaction string) *operation {
	if i := slices.IndexFunc(h.operations, func(op *operation) bool { return op.name == transaction }); i >= 0 {
		return h.operations[i]
	}
	return nil
}

// checkFit checks how much an attempt moves as much as fits of. It is at least the least quantity and at most the most.
// The bound of a source says how much may have been spent before. So the bound and what it gives together are what it
// has, as the command knows it. If the attempt is applied, that is no more than it has, by one of the limits in force
// since the call began. If it gives less than is asked of it, it gives all that it has as the command knows it: nobody
// spent anything in between, the bound is what was spent before, and it has no less than what was acknowledged before
// the call began. An attempt with a negative bound is never applied.
func (m *model) checkFit(t events.TransactionPosted, in *dynamodb.TransactWriteItemsInput, a *attempt) {
	c, op := a.call, m.operationOf(t.ID)
	if op == nil || op.fit == nil || c == nil {
		return
	}
	s, moved, last := map[pair]given{}, int64(0), ""
	for _, leg := range t.Legs {
		k := pair{Account: leg.Account, Asset: leg.Asset}
		if gives := -int64Of(leg.Quantity); gives > 0 {
			s[k], moved, last = given{gives: gives}, moved+gives, leg.Account
		}
	}
	for _, action := range in.TransactItems {
		for k, of := range s {
			if action.Update != nil && table.ItemKey(action.Update.Key) == table.Spend.Key(k.Account, k.Asset) {
				of.isLimited, of.bound = true, number(action.Update.ExpressionAttributeValues, ":bound")
				if s[k] = of; of.bound < 0 {
					return
				}
			}
		}
	}
	if moved < int64Of(op.fit.Least()) || op.fit.UpTo != nil && moved > int64Of(*op.fit.UpTo) {
		m.fail("%s moves %d, and may move %+v", t.ID, moved, op.fit)
	}
	isMost := op.fit.UpTo != nil && moved == int64Of(*op.fit.UpTo)
	a.fits = func() {
		for _, leg := range op.legs { // its sources, in order
			k := pair{Account: leg.Account, Asset: leg.Asset}
			if leg.Quantity.Sign() < 0 {
				m.checkSource(t, op, c, k, s[k], isMost && leg.Account == last)
			}
			if isMost && leg.Account == last {
				return // nothing is asked of those after it
			}
		}
	}
}

// given is what a source gives in an attempt, and how much its guard lets be spent before.
type given struct {
	gives, bound int64
	isLimited    bool // false: it gives nothing
}

// checkSource checks what a source of an applied attempt gives: see checkFit. isAsked says that it gives all that is
// asked of it.
func (m *model) checkSource(t events.TransactionPosted, op *operation, c *call, k pair, s given, isAsked bool) {
	has, had := m.funds[k]-m.unprojected(k), int64(c.acked[k].credits+c.acked[k].returned)
	since := m.inForce(k.Account, c)
	isRated := func(v version) bool { return k.Asset == usd && len(v.rates) > 0 }
	known := s.bound + s.gives
	switch {
	case !s.isLimited && !slices.ContainsFunc(since, func(v version) bool {
		return v.state != events.StateOpen || isRated(v) || had+op.limit(v, k.Asset) <= m.spent[k]
	}):
		m.fail("%s takes nothing of %v, which had received %d before, and %d are spent", t.ID, k, had, m.spent[k])
	case !s.isLimited:
	case !slices.ContainsFunc(since, func(v version) bool { return known <= has+op.limit(v, k.Asset) }):
		m.fail("%s moves %d of %v as if it had %d, and it has received %d", t.ID, s.gives, k, known, has)
	case isAsked:
	case !slices.ContainsFunc(since, func(v version) bool { return known >= had+op.limit(v, k.Asset) }):
		m.fail("%s moves %d of %v, which had received %d before: something is left behind", t.ID, s.gives, k, had)
	case !slices.ContainsFunc(since, isRated):
		m.count("less than the most")
		m.windows.later = append(m.windows.later, func() { // when its guard is visible
			if before, ok := m.spentBefore[k][known]; !ok || before != s.bound {
				m.fail("%s moves %d of %v, which had spent %d, and could spend %d", t.ID, s.gives, k, before, known)
			}
		})
	}
}

// sources are the pairs that the operation takes as much as fits from.
func (op *operation) sources(asset string) (all []pair) {
	for _, leg := range op.legs {
		if k := (pair{Account: leg.Account, Asset: leg.Asset}); op.fit != nil && k.Asset == asset && leg.Quantity.Sign() < 0 {
			all = append(all, k)
		}
	}
	return all
}

// checkTogether checks a refusal because of several sources. It is right if less than what was requested is what they
// had together at some instant of the call, each by one of the limits in force: of what it had received before the call
// began, and of what its limits over time left.
func (m *model) checkTogether(op *operation, sources []pair, e *ledger.Error, c *call) {
	requested := int64Of(e.Funds.Requested)
	versions, funds := map[pair][]version{}, map[pair][]int64{} // in force, and what the pair had by each
	for _, k := range sources {
		versions[k] = m.inForce(k.Account, c)
		had := int64(c.acked[k].credits+c.acked[k].returned) - m.spent[k] + op.effectBefore(m, k)
		for _, v := range versions[k] {
			has := had + op.limit(v, k.Asset)
			if v.state != events.StateOpen {
				has = 0
			}
			funds[k] = append(funds[k], has)
		}
	}
	m.windows.later = append(m.windows.later, func() {
		until := c.answered.Add(20 * m.knobs.itemDelay) // what guards counted may be visible only later
		for _, at := range c.instants() {
			together := int64(0)
			for _, k := range sources {
				least := requested
				for i, v := range versions[k] {
					least = min(least, funds[k][i], m.windows.room(v, k, at, c.sent, until))
				}
				together += max(least, 0)
			}
			if together < requested {
				return
			}
		}
		m.fail("%s: refused (%+v), but the sources had %v, and no more was used than this: %+v", op.name, e.Funds, funds,
			m.windows.log)
	})
}

// room is the least that the limits over time of a version left of a pair from one time to another, for KSUIDs of an
// instant.
func (w *windows) room(v version, k pair, at, since, until time.Time) int64 {
	room := int64(math.MaxInt64)
	for name, limit := range v.rates {
		if k.Asset == usd {
			room = min(room, limit-w.most(windowKey{k, name, slotOf(name, at)}, since, until))
		}
	}
	return room
}
