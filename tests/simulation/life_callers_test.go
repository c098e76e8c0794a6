package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// startLives starts the callers of a history of a Mode, and a sweeper.
func (h *history) startLives() {
	h.life = h.plan.asks(h.knobs)
	h.expireHolds()
	for n, a := range h.life {
		if (a.kind == posts || a.kind == reverses) && !a.hold && !a.following && a.batch == nil {
			h.backdate(a.posting, n)
		}
	}
	wanted := map[int]bool{}
	for _, n := range h.plan.Requests {
		wanted[n] = true
	}
	for n, a := range h.life {
		if !wanted[n] || a.batch != nil && a.batch.id == "" {
			a.posting.id = "" // it is never asked for
			continue
		}
		if a.request != nil {
			h.asked = append(h.asked, a.posting)
		}
	}
	for n, a := range h.life {
		if !wanted[n] || a.following || a.batch != nil {
			continue
		}
		names := []string{a.name}
		if h.meets(Twins, h.plan.draw("callers of", uint64(n)).chance(.15)) {
			names = append(names, a.name+" twin")
		}
		for _, name := range names {
			h.callers.Go(func() {
				if h.sleep(a.begin + h.plan.draw("delay of "+name, 0).between(0, time.Second)) {
					h.live(as(name), a)
				}
			})
		}
	}
	h.callers.Go(func() {
		for ctx := as("sweeper"); time.Since(h.began) < h.knobs.span+time.Minute; {
			if !h.sleep(h.draw(ctx, "sweeps").between(0, 20*time.Second)) {
				return
			}
			h.sweep(ctx, 0)
		}
	})
}

// sweep sweeps once, by a sweeper of any clock.
func (h *history) sweep(ctx context.Context, n int) {
	p := h.born("sweeper", n)
	swept, err := p.ledger.Sweeper().Sweep(ctx)
	h.observe()
	if err == nil {
		h.mu.Lock()
		h.stats.Life.Swept += swept.Expired
		h.mu.Unlock()
	}
}

// live carries one request through.
func (h *history) live(ctx context.Context, a *ask) {
	acknowledged := func() bool { return a.posting.first != nil }
	switch a.kind {
	case posts, reverses:
		h.call(ctx, a.posting)
	case changes:
		h.askFor(ctx, func(d dice) bool { return h.change(ctx, d, a) })
	case batches:
		h.askFor(ctx, func(d dice) bool { return h.postBatch(ctx, d, a) })
	default:
		acknowledged = func() bool { return a.ended }
		h.askFor(ctx, func(d dice) bool { return h.end(ctx, d, a) })
	}
	if a.then != nil && a.then.id != "" && acknowledged() {
		h.live(ctx, a.then)
	}
}

// askFor asks until the answer is final, and then perhaps again.
func (h *history) askFor(ctx context.Context, ask func(d dice) (final bool)) {
	for range 40 {
		d := h.draw(ctx, "calls")
		switch final := ask(d); {
		case final && d.chance(.8):
			return
		case !final && h.meets(Abandon, d.chance(.15)):
			return
		}
		if !h.sleep(d.between(time.Millisecond, pick(d, 100*time.Millisecond, 5*time.Second, 20*time.Second))) {
			return
		}
	}
}

// end makes one call to end a hold, and checks its answer against the model.
func (h *history) end(ctx context.Context, d dice, a *ask) (final bool) {
	ctx, c := h.model.begin(ctx)
	answer, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) (ledger.Ended, error) {
		return endOn(ctx, on.ledger, a)
	})
	h.observe()
	if died {
		h.count(&h.stats.Unanswered)
		return false
	}
	if err == nil {
		h.endAcknowledged(a, answer)
		return true
	}
	var e *ledger.Error
	if !errors.As(err, &e) {
		h.broken("%s: answered with %T: %w", a.name, err, err)
		return true
	}
	switch e.Code {
	case ledger.CodeOutcomeUnknown, ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable:
		h.count(&h.stats.Unanswered)
		return false
	case ledger.CodeHoldEnded, ledger.CodeHoldExpired:
		h.model.endRefused(a, e)
		return true
	case ledger.CodeTransactionNotFound:
		if h.model.ackedBefore(a.of.posting, c) {
			h.broken("%s: %s was acknowledged, and is not found", a.name, a.of.id)
		}
		return false
	}
	h.broken("%s: answered with %w", a.name, err)
	return true
}

func endOn(ctx context.Context, l *ledger.Ledger, a *ask) (ledger.Ended, error) {
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
	a.ended, a.first = true, answer
	h.model.acknowledgeEnd(answer)
	h.model.firstTold("end of " + a.of.name)
}

// isCaptured reports whether what was captured is what was asked for.
func isCaptured(answer ledger.Ended, part ledger.Part) bool {
	for i, leg := range answer.End.Legs {
		wanted := answer.Transaction.Legs[i].Quantity
		switch {
		case part.Postings != nil:
			wanted = part.Postings[i].Quantity
		case part.Quantity != nil && i < 2:
			wanted = *part.Quantity
		case part.Quantity != nil:
			wanted = part.Cost
		}
		if leg.Quantity.Abs() != wanted.Abs() {
			return false
		}
	}
	return true
}

// declinedLife checks a refusal that only requests of a Mode meet. ours is false for others.
func (h *history) declinedLife(p *posting, e *ledger.Error, c *call, had bool) (final, ours bool) {
	a := h.askOf(p)
	if a == nil {
		return false, false
	}
	if had && e.Code != ledger.CodeTransactionNotFound {
		h.broken("%s: refused although it was acknowledged: %w", p.id, e)
		return true, true
	}
	p.refused, p.declined = true, string(e.Code)
	switch e.Code {
	case ledger.CodeInvalidRequest: // its time was over, or is too near by the clock of whom was asked
		if left := time.Until(h.began.Add(a.expires)); !a.hold || a.expires == 0 || left > skewMost+slowMost {
			h.broken("%s: refused %v before it would expire: %w", p.id, left, e)
		}
		return true, true
	case ledger.CodeTransactionNotFound:
		if h.model.ackedBefore(a.of.posting, c) {
			h.broken("%s: %s was acknowledged, and is not found", p.id, a.of.id)
		}
		return false, a.kind == reverses
	case ledger.CodeAccountFrozen, ledger.CodeAccountClosed:
		p.final = e.Code == ledger.CodeAccountFrozen
		h.model.barred(a, e, c)
		return true, true
	case ledger.CodeExceedsReversible:
		p.final = true
		h.count(&h.stats.Life.Exceeded)
		h.model.exceeds(a, e)
		return true, a.kind == reverses
	case ledger.CodeNothingToReverse:
		h.model.nothingToReverse(a, c)
		return false, a.kind == reverses
	case ledger.CodeUnbalanced, ledger.CodeInvalidTransaction:
		return true, a.kind == reverses && a.of.kind == reverses // the legs of what is reversed were drawn before
	}
	return false, false
}

// askOf returns the ask of a posting; nil for one of no Mode.
func (h *history) askOf(p *posting) *ask {
	for _, a := range h.life {
		if a.posting == p {
			return a
		}
	}
	return nil
}

// sweepUp lets what is due be swept, while nothing goes wrong by itself any more.
func (h *history) sweepUp() {
	if h.plan.Mode == "" {
		return
	}
	for tries := 0; ; tries++ {
		last, open := h.model.openUntil(h.began.Add(time.Hour))
		if len(open) == 0 {
			return
		}
		if wait := time.Until(last.Add(2 * skewMost)); wait > 0 && !h.sleep(wait) {
			return
		}
		p := h.born(afterwards, 0)
		if _, err := p.ledger.Sweeper().Sweep(as(fmt.Sprintf("last sweep %d", tries))); err != nil {
			h.broken("a sweep at rest: %w", err)
		}
		h.observe()
		if h.forgotten > 0 {
			for _, id := range open {
				if _, err := p.ledger.Expire(as(fmt.Sprintf("last end %d of %s", tries, id)), id); err != nil {
					h.broken("%s is not ended at rest: %w", id, err)
				}
			}
			h.observe()
		}
		if tries == 60 {
			h.broken("the holds %v are held for ever", open)
		}
		if !h.sleep(20 * time.Second) {
			return
		}
	}
}
