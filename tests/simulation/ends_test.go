package simulation

import (
	"context"

	"ledger.example/events"
	"ledger.example/ledger"
)

// end makes one call to capture or release a hold.
func (h *history) end(ctx context.Context, d dice, op *operation) (final bool) {
	c, answer, e, again := ask(ctx, h, d, op, func(ctx context.Context, on *process) (ledger.Posted, error) {
		return on.ledger.Post(ctx, op.request())
	})
	return h.checkEndAnswer(op, c, answer, e, again)
}

// checkEndAnswer checks the answer to one call to end a hold against the model. It reports whether the answer is final.
func (h *history) checkEndAnswer(op *operation, c *call, answer ledger.Posted, e *ledger.Error, again bool) (final bool) {
	switch {
	case again:
		return false
	case e == nil:
		h.endAcknowledged(op, answer)
	case e.Code == ledger.CodeHoldEnded, e.Code == ledger.CodeHoldExpired:
		h.model.checkEndRefusal(op, e)
	case e.Code == ledger.CodeTransactionNotFound:
		h.model.checkNotFound(op, c)
		return false
	case e.Code == ledger.CodeCostRequired && op.forgotCost():
		h.count("cost_required answers")
	default:
		h.fail("%s: answered with %w", op.name, e)
	}
	return true
}

// endAcknowledged checks and stores an answer that acknowledges a capture or release.
func (h *history) endAcknowledged(op *operation, answer ledger.Posted) {
	wanted := events.OutcomeCaptured
	if op.kind == kindRelease {
		wanted = events.OutcomeReleased
	}
	if answer.Ended.Outcome != wanted || answer.Header.ID != op.target.name {
		h.fail("%s: answered with %+v", op.name, answer)
	}
	if op.forgotCost() {
		h.fail("%s: captured without the cost: %+v", op.name, answer.Ended.Legs)
	}
	if wanted == events.OutcomeCaptured && !isCaptured(answer, op.part) {
		h.fail("%s: asked to capture %+v, but captured %+v", op.name, op.part, answer.Ended.Legs)
	}
	op.endAcknowledged = true
	h.model.acknowledgeEnd(answer)
	h.model.stampAck("end of " + op.target.name)
}

// isCaptured reports whether the captured part is the requested one.
func isCaptured(answer ledger.Posted, part ledger.Part) bool {
	if part.Quantity != nil && answer.Header.Kind == events.KindTransaction {
		return isInProportion(answer.Ended.Legs, answer.Header.Legs, int64Of(*part.Quantity))
	}
	for i, leg := range answer.Ended.Legs {
		wanted, ok := partOfLeg(part, i)
		if !ok {
			wanted = answer.Header.Legs[i].Quantity
		}
		if leg.Quantity.Abs() != wanted.Abs() {
			return false
		}
	}
	return true
}

// isInProportion reports whether a quantity is taken of each side, and of each leg what is due, within one unit.
func isInProportion(taken, of []events.Leg, quantity int64) bool {
	sides, whole := [2]int64{}, -int64Of(of[0].Quantity) // the debit is first
	for i, leg := range taken {
		n, planned := int64Of(leg.Quantity.Abs()), int64Of(of[i].Quantity.Abs())
		sides[min(i, 1)] += n
		if off := n*whole - quantity*planned; max(off, -off) >= whole {
			return false
		}
	}
	return sides == [2]int64{quantity, quantity}
}

// partOfLeg returns the quantity that a part has of the i-th leg. ok is false if the part is the whole transaction.
func partOfLeg(part ledger.Part, i int) (quantity events.Amount, ok bool) {
	switch {
	case part.Postings != nil:
		return part.Postings[i].Quantity, true
	case part.Quantity != nil && i < 2:
		return *part.Quantity, true
	case part.Quantity != nil:
		if part.Cost == nil {
			return events.Amount{}, true
		}
		return *part.Cost, true
	}
	return events.Amount{}, false
}

// change makes one call to change an account.
func (h *history) change(ctx context.Context, d dice, op *operation) (final bool) {
	c, account, e, again := ask(ctx, h, d, op, func(ctx context.Context, on *process) (ledger.Account, error) {
		return on.ledger.ChangeAccount(ctx, op.change)
	})
	switch {
	case again:
		return false
	case e == nil:
		h.count("changes acknowledged")
		h.model.acknowledgeChange(op, account)
	case e.Code == ledger.CodeInvalidChange: // a closed account, or one that is not empty
		h.model.checkInvalidChange(op, e, c)
	default:
		h.fail("%s: answered with %w", op.name, e)
	}
	return true
}
