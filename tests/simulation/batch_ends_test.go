package simulation

import (
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// endingInBatches adds batches that end holds, reverse a credit, and spend what that brings. Meanwhile others end some
// of the holds.
func (g *generator) endingInBatches() {
	for range 1 + g.IntN(3) {
		account, other := jane, joe
		if g.chance(.5) {
			account, other = joe, jane
		}
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
			isCaptured(ledger.Posted{Transaction: hold, End: &end}, op.part)
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
