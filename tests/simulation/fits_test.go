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
// If it is less than the most and the attempt is applied, nothing that was acknowledged before the call began is left
// behind, by one of the limits in force since then: the bound is how much was spent, as the command knows it, and
// nothing else passes it.
func (m *model) checkFit(t events.TransactionPosted, in *dynamodb.TransactWriteItemsInput, a *attempt) {
	op := m.operationOf(t.ID)
	c := a.call
	if op == nil || op.fit == nil || c == nil {
		return
	}
	k, moved := pair{Account: t.Legs[0].Account, Asset: t.Legs[0].Asset}, int64Of(t.Legs[1].Quantity)
	most := moved
	if op.fit.UpTo != nil {
		most = int64Of(*op.fit.UpTo)
	}
	if moved < int64Of(op.fit.Least()) || moved > most {
		m.fail("%s moves %d, and may move %+v", t.ID, moved, op.fit)
	}
	if op.fit.UpTo != nil && moved == most || moved == int64Of(op.fit.Least()) { // with less, the guard has to refuse it
		return
	}
	for _, action := range in.TransactItems {
		if action.Update == nil || table.ItemKey(action.Update.Key) != table.Spend.Key(k.Account, k.Asset) {
			continue
		}
		known := number(action.Update.ExpressionAttributeValues, ":bound") + moved
		a.leaves = func() {
			m.count("less than the most")
			had := int64(c.acked[k].credits + c.acked[k].returned)
			covers := func(v version) bool { return known >= had+op.limit(v, k.Asset) }
			if !slices.ContainsFunc(m.inForce(k.Account, c), covers) {
				m.fail("%s moves %d of %v, which had received %d before: something is left behind", t.ID, moved, k, had)
			}
		}
	}
}
