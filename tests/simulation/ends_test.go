package simulation

import (
	"context"

	"ledger.example/events"
	"ledger.example/ledger"
)

// end makes one call to end a hold.
func (h *history) end(ctx context.Context, d dice, a *ask) (final bool) {
	ctx, c := h.model.begin(ctx)
	answer, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) (ledger.Ended, error) {
		return sendEnd(ctx, on.ledger, a)
	})
	h.observe()
	e, again := h.refusal(a.name, err, died)
	switch {
	case again:
		return false
	case e == nil:
		h.endAcknowledged(a, answer)
	case e.Code == ledger.CodeHoldEnded, e.Code == ledger.CodeHoldExpired:
		h.model.endRefused(a, e)
	case e.Code == ledger.CodeTransactionNotFound:
		h.model.notFound(a, c)
		return false
	default:
		h.broken("%s: answered with %w", a.name, err)
	}
	return true
}

func sendEnd(ctx context.Context, l *ledger.Ledger, a *ask) (ledger.Ended, error) {
	if a.kind == releases {
		return l.Release(ctx, ledger.ReleaseRequest{Transaction: a.of.name, Actor: "somebody"})
	}
	return l.Capture(ctx, ledger.CaptureRequest{Transaction: a.of.name, Part: a.part, Actor: "somebody"})
}

// endAcknowledged takes in an answer of success to the end of a hold.
func (h *history) endAcknowledged(a *ask, answer ledger.Ended) {
	wanted := events.OutcomeCaptured
	if a.kind == releases {
		wanted = events.OutcomeReleased
	}
	if answer.End.Outcome != wanted || answer.Transaction.ID != a.of.name {
		h.broken("%s: answered with %+v", a.name, answer)
	}
	if wanted == events.OutcomeCaptured && !isCaptured(answer, a.part) {
		h.broken("%s: %+v was to be captured, and it was %+v", a.name, a.part, answer.End.Legs)
	}
	a.ended = true
	h.model.acknowledgeEnd(answer)
	h.model.firstTold("end of " + a.of.name)
}

// isCaptured reports whether what was captured is what was asked for.
func isCaptured(answer ledger.Ended, part ledger.Part) bool {
	for i, leg := range answer.End.Legs {
		wanted, ok := partOfLeg(part, i)
		if !ok {
			wanted = answer.Transaction.Legs[i].Quantity
		}
		if leg.Quantity.Abs() != wanted.Abs() {
			return false
		}
	}
	return true
}

// partOfLeg is what a part has of a leg; ok is false for the whole.
func partOfLeg(part ledger.Part, i int) (quantity events.Amount, ok bool) {
	switch {
	case part.Postings != nil:
		return part.Postings[i].Quantity, true
	case part.Quantity != nil && i < 2:
		return *part.Quantity, true
	case part.Quantity != nil:
		return part.Cost, true
	}
	return events.Amount{}, false
}

// change makes one call to change an account.
func (h *history) change(ctx context.Context, d dice, a *ask) (final bool) {
	ctx, c := h.model.begin(ctx)
	account, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) (ledger.Account, error) {
		return on.ledger.ChangeAccount(ctx, a.change)
	})
	h.observe()
	e, again := h.refusal(a.name, err, died)
	switch {
	case again:
		return false
	case e == nil:
		h.count("changes acknowledged")
		h.model.acknowledgeChange(a, account)
	case e.Code == ledger.CodeInvalidChange: // a closed account, or one that is not empty
		h.model.unchanged(a, e, c)
	default:
		h.broken("%s: answered with %w", a.name, err)
	}
	return true
}
