package simulation

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// fits adds transfers of as much as fits, from an account with a limit.
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
// The bound says how much may have been spent before. So the bound and the quantity together are what the source has, as
// the command knows it. If the attempt is applied, that is no more than it has, by one of the limits in force since the
// call began. If less than the most is moved, nobody spent anything in between, so it is no less than what was
// acknowledged before the call began.
func (m *model) checkFit(t events.TransactionPosted, in *dynamodb.TransactWriteItemsInput, a *attempt) {
	c, op := a.call, m.operationOf(t.ID)
	if op == nil || op.fit == nil || c == nil {
		return
	}
	k, moved := pair{Account: t.Legs[0].Account, Asset: t.Legs[0].Asset}, int64Of(t.Legs[1].Quantity)
	isMost := op.fit.UpTo != nil && moved == int64Of(*op.fit.UpTo)
	if moved < int64Of(op.fit.Least()) || !isMost && op.fit.UpTo != nil && moved > int64Of(*op.fit.UpTo) {
		m.fail("%s moves %d, and may move %+v", t.ID, moved, op.fit)
	}
	for _, action := range in.TransactItems {
		if action.Update == nil || table.ItemKey(action.Update.Key) != table.Spend.Key(k.Account, k.Asset) {
			continue
		}
		known := number(action.Update.ExpressionAttributeValues, ":bound") + moved
		a.fits = func() {
			has, had := m.funds[k]-m.unprojected(k), int64(c.acked[k].credits+c.acked[k].returned)
			since := m.inForce(k.Account, c)
			if !slices.ContainsFunc(since, func(v version) bool { return known <= has+op.limit(v, k.Asset) }) {
				m.fail("%s moves %d of %v as if it had %d, and it has received %d", t.ID, moved, k, known, has)
			}
			if isMost {
				return
			}
			m.count("less than the most")
			if !slices.ContainsFunc(since, func(v version) bool { return known >= had+op.limit(v, k.Asset) }) {
				m.fail("%s moves %d of %v, which had received %d before: something is left behind", t.ID, moved, k, had)
			}
		}
	}
}
