package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// independent is the context key for requests to the store that are made for a batch that is not atomic.
type independent struct{}

// countTogether counts writes that have several requests of a batch that is not atomic.
func (h *history) countTogether(ctx context.Context, parameters any, err error) {
	in, writes := parameters.(*dynamodb.TransactWriteItemsInput)
	if !writes || ctx.Value(independent{}) == nil {
		return
	}
	headers := 0
	for _, action := range in.TransactItems {
		if action.Put == nil {
			continue
		}
		if _, header := table.Transaction.Parse(table.ItemKey(action.Put.Item)); header {
			headers++
		}
	}
	switch {
	case headers < 2:
	case err == nil:
		h.count("written together")
	default:
		h.count("not written together")
	}
}

// postBatch makes one call with a batch, and checks the answer to each member against the model.
func (h *history) postBatch(ctx context.Context, d dice, b *operation) (final bool) {
	members := slices.DeleteFunc(slices.Clone(b.members), func(op *operation) bool { return op.skipped })
	if len(members) == 0 {
		return true
	}
	complete := true
	if !b.atomic && members[0].count > 0 && d.chance(.3) { // a retry may have some of the requests only
		members = slices.DeleteFunc(members, func(op *operation) bool { return op != members[0] && d.chance(.5) })
		complete = false
	}
	if !b.atomic {
		ctx = context.WithValue(ctx, independent{}, true)
	}
	var requests []ledger.Request
	var calls []callStart
	for _, op := range members {
		requests = append(requests, op.request())
		calls = append(calls, op.startCall())
		defer func() { op.inFlight-- }()
	}
	c, results, e, again := ask(ctx, h, d, b, func(ctx context.Context, on *process) ([]ledger.BatchResult, error) {
		return on.ledger.PostBatch(ctx, requests, b.atomic)
	})
	switch {
	case again:
	case e != nil && (!b.atomic || e.Request < 1 || e.Request > len(members)):
		h.fail("%s: refused as a whole: %+v", b.name, e)
		return true
	case e == nil && len(results) != len(members):
		h.fail("%s: %d answers to %d requests", b.name, len(results), len(members))
		return true
	case b.atomic:
		h.count("atomic batches")
	}
	final = complete
	for i, op := range members {
		answer, failed := ledger.Posted{}, e
		switch {
		case again:
		case e == nil:
			h.count("requests in batches")
			if op.endsHold() && b.atomic {
				h.count("ends in atomic batches")
			} else if op.endsHold() {
				h.count("ends in batches")
			}
			answer = results[i].Posted
			if failed = results[i].Err; failed != nil && b.atomic {
				h.fail("%s: member %s of an atomic batch is refused alone: %w", b.name, op.name, failed)
			}
		case i != e.Request-1: // refused because another member is
			if calls[i].wasAcknowledged && !op.alone {
				h.fail("%s: refused (%w), but its member %s was acknowledged", b.name, e, op.name)
			}
			op.calls[c] = e.Code
			op.refusedForGood = e.Code == ledger.CodeInsufficientFunds && calls[i].wasOnly(op)
			continue
		}
		again := h.noteAnswer(op, c, failed, again && e == nil)
		if op.endsHold() {
			final = h.checkEndAnswer(op, c, answer, failed, again) && final
			continue
		}
		final = h.checkAnswer(ctx, d, op, calls[i], c, op.body, answer, failed, again) && final
	}
	return final
}

// effectBefore returns what the earlier members of op's atomic batch credit k with, minus what they debit. Members that
// are stored already do not count, because the guard includes them.
func (op *operation) effectBefore(m *model, k pair) (net int64) {
	if op.batch == nil || !op.batch.atomic {
		return 0
	}
	for _, member := range op.batch.members {
		if member == op {
			break
		}
		if !m.isStored(member) && !member.skipped {
			debits, credits := member.effect(k)
			net += credits - debits
		}
	}
	return net
}

// batching adds batches in which an account spends what an earlier or a later member brings it.
func (g *generator) batching() {
	for range 1 + g.IntN(2) {
		g.fund(pick(g.dice, 0., 10))
	}
	for range 2 + g.IntN(3) {
		b := g.add(&operation{kind: kindBatch, begin: 2*time.Second + g.seconds(20), atomic: g.chance(.6)})
		account, before := pick(g.dice, jane, joe), g.chance(.4) // before: a debit precedes the credit that covers it
		for i := range 1 + g.IntN(4) {
			if !before && g.chance(.3) {
				account = pick(g.dice, jane, joe)
			}
			spent := before && i%2 == 0 || !before && g.chance(.6)
			from, to := bank, account
			if spent {
				from, to = account, pick(g.dice, bank, shop)
			}
			op := g.transfer(from, to, usd, g.amount(5, 40), b.begin)
			if spent && g.chance(.3) {
				op.asHold(200 * time.Second)
			}
			g.joinBatch(b, op)
		}
	}
	for range 1 + g.IntN(4) {
		g.transfer(pick(g.dice, jane, joe), bank, usd, g.amount(1, 40), 2*time.Second+g.seconds(20))
	}
	if g.chance(.3) {
		g.changeAny(pick(g.dice, jane, joe), g.seconds(25))
	}
	g.sharing()
	g.endingInBatches()
	g.colliding()
}

// two returns the accounts with a limit, in any order.
func (g *generator) two() (account, other string) {
	if g.chance(.5) {
		return joe, jane
	}
	return jane, joe
}

// sharing adds batches that are not atomic, whose members debit the same account, so that they are written together.
// Some members also credit it, often with more. Some debit another account as well.
func (g *generator) sharing() {
	for range 1 + g.IntN(3) {
		b := g.add(&operation{kind: kindBatch, begin: 2*time.Second + g.seconds(20)})
		account, other := g.two()
		g.transfer(bank, account, usd, g.amount(10, 300), g.seconds(b.begin.Seconds()))
		for range 2 + g.IntN(4) {
			quantity := g.amount(1, 40)
			legs := []ledger.LegRequest{legOf(account, usd, quantity.Neg()), legOf(shop, usd, quantity)}
			switch g.IntN(6) {
			case 0, 1:
				own := g.amount(1, 80)
				legs = append(legs, legOf(bank, usd, own.Neg()), legOf(account, usd, own))
			case 2:
				also := g.amount(1, 20)
				legs = append(legs, legOf(other, usd, also.Neg()), legOf(bank, usd, also))
			}
			op := g.transaction(b.begin, legs...)
			if g.chance(.2) {
				op.asHold(200 * time.Second)
			}
			g.joinBatch(b, op)
		}
	}
}

// endingInBatches adds batches that end holds, reverse a credit, and spend what that brings. Meanwhile others end some
// of the holds.
func (g *generator) endingInBatches() {
	for range 1 + g.IntN(3) {
		account, other := g.two()
		fund := g.transfer(bank, account, usd, g.amount(60, 150), g.seconds(3))
		b := g.add(&operation{kind: kindBatch, begin: 11*time.Second + g.seconds(6), atomic: g.chance(.6)})
		for range 1 + g.IntN(3) {
			from, to := account, pick(g.dice, bank, other)
			if g.chance(.3) {
				from, to = bank, account
			}
			placed := 5*time.Second + g.seconds(4)
			hold := g.transfer(from, to, usd, g.amount(2, 30), placed).asHold(pick(g.dice, 7*time.Second, 200*time.Second, 200*time.Second))
			end := (*generator).release
			if g.chance(.6) {
				end = (*generator).capture
			}
			member := end(g, hold, b.begin)
			member.legs = member.brings()
			g.joinBatch(b, member)
			if g.chance(.2) {
				g.release(hold, b.begin-2*time.Second+g.seconds(6))
			}
		}
		if g.chance(.5) {
			back := g.reverse(fund, g.partOf(fund), b.begin)
			back.legs = back.brings()
			g.joinBatch(b, back)
			if g.chance(.3) {
				g.reverse(fund, g.partOf(fund), b.begin-2*time.Second+g.seconds(6))
			}
		}
		for range g.IntN(3) {
			g.joinBatch(b, g.transfer(account, pick(g.dice, bank, shop), usd, g.amount(5, 60), b.begin))
		}
		g.Shuffle(len(b.members), func(i, j int) { b.members[i], b.members[j] = b.members[j], b.members[i] })
		g.transfer(account, bank, usd, g.amount(1, 60), 6*time.Second+g.seconds(12))
	}
}

// colliding adds atomic batches whose members collide with what others send at the same time: the same transactions
// alone, reversals of the same transactions, and ends of the same holds.
func (g *generator) colliding() {
	for range 1 + g.IntN(2) {
		account, quantity := pick(g.dice, jane, joe, shop, shop), g.amount(60, 150)
		b := g.add(&operation{kind: kindBatch, begin: 10*time.Second + g.seconds(8), atomic: true})
		within := pick(g.dice, .2, 1, 4)
		begin := func() time.Duration { return b.begin + g.seconds(within) - time.Duration(within*.5e9) }
		for range 1 + g.IntN(2) {
			op := g.transfer(bank, account, usd, g.amount(1, 20), begin()-pick(g.dice, 0, 0, 4*time.Second))
			op.alone = true
			g.joinBatch(b, op)
		}
		for range 1 + g.IntN(2) {
			of := g.transfer(bank, account, usd, quantity, g.seconds(3))
			for range 1 + g.IntN(3) {
				g.reverse(of, g.smallPart(), begin())
			}
			back := g.reverse(of, pick(g.dice, ledger.Part{}, g.smallPart(), g.smallPart()), b.begin)
			back.legs = back.brings()
			g.joinBatch(b, back)
		}
		for range g.IntN(3) {
			hold := g.transfer(bank, account, usd, quantity, 2*time.Second+g.seconds(3)).asHold(200 * time.Second)
			end, part := pick(g.dice, (*generator).release, (*generator).capture), g.smallPart()
			for _, at := range []time.Duration{b.begin, begin()} {
				op := end(g, hold, at)
				if op.kind == kindCapture && g.chance(.9) { // mostly the same end
					op.part = part
				}
				if at == b.begin {
					op.legs = op.brings()
					g.joinBatch(b, op)
				}
			}
		}
		g.Shuffle(len(b.members), func(i, j int) { b.members[i], b.members[j] = b.members[j], b.members[i] })
	}
}

// smallPart draws a part of a transfer to capture or reverse.
func (g *generator) smallPart() ledger.Part { return ledger.Part{Quantity: new(g.amount(1, 12))} }

// joinBatch makes an operation a member of a batch.
func (g *generator) joinBatch(b, op *operation) {
	op.batch = b
	b.members = append(b.members, op)
}

// brings returns what the end of a hold credits and gives back, and what a reversal of a part moves.
func (op *operation) brings() (legs []ledger.LegRequest) {
	for i, leg := range op.target.legs {
		taken, isPart := partOfLeg(op.part, i)
		if !isPart {
			taken = leg.Quantity
		}
		if taken = taken.Abs(); op.kind == kindRelease {
			taken = events.Amount{}
		}
		isDebit := leg.Quantity.Sign() < 0
		switch {
		case op.kind == kindReverse && !isDebit:
			taken = taken.Neg()
		case op.kind != kindReverse && isDebit: // what is not captured
			taken, _ = leg.Quantity.Abs().Sub(taken)
		}
		legs = append(legs, legOf(leg.Account, leg.Asset, taken))
	}
	return legs
}

// asksFor reports whether an end is the one that the operation asks for.
func (op *operation) asksFor(hold events.TransactionPosted, end events.HoldEnded) bool {
	return op.kind == kindRelease && end.Outcome == events.OutcomeReleased ||
		op.kind == kindCapture && end.Outcome == events.OutcomeCaptured &&
			isCaptured(ledger.Posted{Transaction: events.Transaction{Header: hold, Ended: &end}}, op.part)
}

// writer returns the call that wrote a header or an end with these legs; nil if no caller's call did.
func (m *model) writer(legs []events.Leg) *call {
	if a := m.attempts[legs[0].ID]; a != nil {
		return a.call
	}
	return nil
}

// isStored reports whether an operation, or an end of its hold, is stored.
func (m *model) isStored(op *operation) bool {
	if op.endsHold() {
		_, ended := m.outcomes[op.target.name]
		return ended
	}
	_, exists := m.headers[op.name]
	return exists
}
