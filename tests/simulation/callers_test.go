package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// perform runs a command in the n-th command process. died: the process crashed meanwhile, so there is no answer.
func perform[T any](h *history, n int, do func(*process) (T, error)) (t T, err error, died bool) {
	p := h.commandProcesses[n]
	if p.dead {
		p = h.startProcess("command", n)
		h.commandProcesses[n] = p
	}
	t, err = do(p)
	return t, err, p.dead
}

// startCallers starts the callers of the plan's operations, those of definitions, and either the sweeper or the changes
// of access.
func (h *history) startCallers() {
	h.operations = h.plan.operations(h.knobs)
	for n, op := range h.operations {
		h.prepare(n, op)
		op.skipped = !slices.Contains(h.plan.Operations, n) || op.batch != nil && op.batch.skipped
	}
	for n, op := range h.operations {
		if op.skipped || op.isNext || op.batch != nil && !op.alone {
			continue
		}
		names := []string{op.name}
		if h.occurs(Twins, h.plan.draw("callers of", uint64(n)).chance(.15)) {
			names = append(names, op.name+" twin")
		}
		for _, name := range names {
			h.callers.Go(func() {
				if h.sleep(op.begin + h.plan.draw("delay of "+name, 0).between(0, time.Second)) {
					h.call(as(name), op)
				}
			})
		}
	}
	h.startDefinitions()
	if h.plan.Mode == PostsOnly {
		h.startAccessChanges()
	} else {
		h.callers.Go(h.sweepPeriodically)
	}
}

// sweepPeriodically ends expired holds every few seconds, each time in a new process.
func (h *history) sweepPeriodically() {
	for ctx := as("sweeper"); time.Since(h.began) < h.knobs.span+time.Minute; {
		if !h.sleep(h.draw(ctx, "sweeps").between(0, 20*time.Second)) {
			return
		}
		swept, err := h.startProcess("sweeper", 0).ledger.Sweep(ctx)
		h.observe()
		if err == nil {
			for range swept.Expired {
				h.count("holds swept")
			}
		}
	}
}

// callByKind has, for each kind of operation, the function that makes one call and checks the answer against the model.
// It reports whether the answer is final.
var callByKind = map[string]func(*history, context.Context, dice, *operation) (final bool){
	kindPost: (*history).post, kindReverse: (*history).post, kindCapture: (*history).end, kindRelease: (*history).end,
	kindChange: (*history).change, kindBatch: (*history).postBatch, kindClosing: (*history).closing,
}

// call makes calls for an operation until the answer is final, and sometimes one more. If the operation succeeded, it
// goes on with the next one.
func (h *history) call(ctx context.Context, op *operation) {
	for range 40 {
		d := h.draw(ctx, "calls")
		final := callByKind[op.kind](h, ctx, d, op)
		if final && d.chance(.8) || !final && h.occurs(Abandon, d.chance(.25)) {
			break
		}
		if !h.sleep(d.between(time.Millisecond, pick(d, 100*time.Millisecond, 5*time.Second, 30*time.Second))) {
			return
		}
	}
	if op.next != nil && !op.next.skipped && (op.acknowledged != nil || op.endAcknowledged) {
		h.call(ctx, op.next)
	}
}

// ask makes one call for an operation in a random command process. again: the outcome is unknown, or the answer asks for
// a retry. e is nil if the call succeeded, and if the process died without an answer.
func ask[T any](ctx context.Context, h *history, d dice, op *operation, do func(context.Context, *process) (T, error)) (
	c *call, answer T, e *ledger.Error, again bool,
) {
	ctx, c = h.model.beginCall(ctx)
	answer, err, died := perform(h, d.IntN(len(h.commandProcesses)), func(on *process) (T, error) { return do(ctx, on) })
	c.answered = time.Now()
	h.observe()
	e, ok := errors.AsType[*ledger.Error](err)
	if died {
		e = nil
	} else if err != nil && !ok {
		h.fail("%s: the error has type %T: %w", op.name, err, err)
		died = true
	}
	return c, answer, e, h.noteAnswer(op, c, e, died)
}

// noteAnswer notes the code of an answer that says that nothing was written. again: see ask.
func (h *history) noteAnswer(op *operation, c *call, e *ledger.Error, died bool) (again bool) {
	op.calls[c] = ""
	if e != nil && e.Code != ledger.CodeOutcomeUnknown {
		op.calls[c] = e.Code
	}
	if again = died || e != nil && slices.Contains(retried, e.Code); again {
		h.count("unanswered")
	}
	return again
}

// retried are the codes after which a caller sends the same request again.
var retried = []ledger.Code{
	ledger.CodeOutcomeUnknown, ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable,
}

// post makes one call to post or reverse.
func (h *history) post(ctx context.Context, d dice, op *operation) (final bool) {
	body := op.body
	if h.occurs(OtherBody, op.acknowledged != nil && d.chance(.1)) {
		body = op.otherBody
	}
	p := op.startCall()
	defer func() { op.inFlight-- }()
	c, answer, e, again := ask(ctx, h, d, op, func(ctx context.Context, on *process) (ledger.Posted, error) {
		return on.ledger.Post(ctx, body)
	})
	return h.checkAnswer(ctx, d, op, p, c, body, answer, e, again)
}

// callStart is the state of an operation when one of its calls began.
type callStart struct {
	wasAcknowledged bool // by an earlier call
	number          int  // of this call, from 1
	alone           bool // no other call was in flight
}

// startCall notes that a call of the operation begins.
func (op *operation) startCall() callStart {
	op.inFlight++
	op.count++
	op.refusedForGood = false
	return callStart{op.acknowledged != nil || op.endAcknowledged, op.count, op.inFlight == 1}
}

// wasOnly reports whether no other call overlapped this one, which ends now.
func (p callStart) wasOnly(op *operation) bool { return p.alone && op.count == p.number }

// checkAnswer checks the answer to one call against the model. It reports whether the answer is final.
func (h *history) checkAnswer(ctx context.Context, d dice, op *operation, p callStart, c *call, body ledger.Request,
	answer ledger.Posted, e *ledger.Error, again bool) (final bool) {
	switch {
	case again:
		return false
	case e == nil && op.isOtherBody(body):
		h.fail("%s: another body was accepted under its id", op.name)
		return true
	case e == nil:
		h.takeAcknowledgement(op, answer, p.wasAcknowledged)
		if h.occurs(StrongReads, d.chance(.5)) {
			leg := pick(d, answer.Header.Legs...)
			h.readOne(ctx, h.startProcess("reader of "+op.name, 0), pair{Account: leg.Account, Asset: leg.Asset})
		}
		return true
	case e.Code == ledger.CodeTransactionIDReused:
		if !op.isOtherBody(body) {
			h.fail("%s: a retry with the same body is refused because its id is used with another body", op.name)
		}
		return true
	case p.wasAcknowledged && e.Code != ledger.CodeTransactionNotFound:
		h.fail("%s: refused although it was acknowledged: %w", op.name, e)
		return true
	}
	final, never, expected := h.checkRefusal(op, e, c)
	if !expected {
		h.fail("%s: answered with %w", op.name, e)
	}
	op.refusedForGood = never && p.wasOnly(op)
	return final
}

// checkRefusal checks a refusal. final: the caller does not retry. never: unless another call is in flight, the
// operation will never take effect. expected: an operation of this kind may be refused so.
func (h *history) checkRefusal(op *operation, e *ledger.Error, c *call) (final, never, expected bool) {
	switch e.Code {
	case ledger.CodeInsufficientFunds:
		h.count("refused")
		h.model.checkInsufficientFunds(op, e, c)
		return true, true, true
	case ledger.CodeRateExceeded:
		h.model.checkRateExceeded(op, e, c)
		return true, true, true
	case ledger.CodeInvalidRequest:
		return h.checkTimeRefusal(op, e, c), false, true
	case ledger.CodeAccountFrozen, ledger.CodeAccountClosed:
		h.model.checkStateRefusal(op, e, c)
		return true, e.Code == ledger.CodeAccountFrozen && !op.takesCostAlone(), true
	case ledger.CodePeriodClosed:
		h.count("period_closed answers")
		h.model.checkPeriodClosed(op, e, c)
		return true, false, true
	}
	if op.kind != kindReverse {
		return true, false, false
	}
	switch e.Code {
	case ledger.CodeTransactionNotFound:
		h.model.checkNotFound(op, c)
		return false, false, true
	case ledger.CodeExceedsReversible:
		h.count("exceeds_reversible answers")
		h.model.checkExceeds(op, e)
		return true, true, true
	case ledger.CodeCostRequired:
		h.count("cost_required answers")
		return true, true, op.forgotCost()
	case ledger.CodeNothingToReverse:
		h.model.checkNothingToReverse(op, c)
		return false, false, true
	case ledger.CodeUnbalanced, ledger.CodeInvalidTransaction: // the part was drawn before the target's legs were known
		return true, false, op.target.kind == kindReverse
	}
	return true, false, false
}

// minEffectiveAge is how far in the past an effective date is: the settle window and the clock tolerance.
const minEffectiveAge = 15 * time.Second

// maxBehind is how far behind the store's clock a process may believe it to be. It knows it from the dates of answers,
// which have whole seconds. A read of several pages may have the date of its first page, and takes at most as long as a
// command.
const maxBehind = time.Second + 8*time.Second

// checkTimeRefusal checks a refusal because of a time: the effective date is too close, or before what is reversed, or
// the hold expires too soon or has expired. The clock of the process may be off. It reports whether the refusal is
// final.
func (h *history) checkTimeRefusal(op *operation, e *ledger.Error, c *call) (final bool) {
	off := minEffectiveAge + maxSkew + maxBehind
	switch since, left := c.sent.Sub(op.effective), h.began.Add(op.expires).Sub(c.answered); {
	case h.model.isBeforeTarget(op):
		return true
	case !op.effective.IsZero() && since > off:
		h.fail("%s: refused %v after its effective date: %w", op.name, since, e)
	case op.effective.IsZero() && (op.expires == 0 || left > off):
		h.fail("%s: refused %v before it expires: %w", op.name, left, e)
	}
	return op.effective.IsZero()
}

// takeAcknowledgement checks and stores an answer that acknowledges a transaction.
func (h *history) takeAcknowledgement(op *operation, answer ledger.Posted, had bool) {
	if op.forgotCost() {
		h.fail("%s: reversed without the cost: %+v", op.name, op.part)
	}
	if answer.Replayed {
		h.count("replayed")
	} else {
		h.count("acknowledged")
		if had {
			h.fail("%s: posted a second time", op.name)
		}
	}
	if t := answer.Header; t.IsBackdated() && t.RecordedAt.Sub(t.PostedAt()) < minEffectiveAge {
		h.fail("%s: posted for %v, only %v before", op.name, t.PostedAt(), t.RecordedAt.Sub(t.PostedAt()))
	}
	if op.acknowledged == nil {
		op.acknowledged = &answer.Header
	} else if !sameTransaction(*op.acknowledged, answer.Header) {
		h.fail("%s: acknowledged as %+v, but before as %+v", op.name, answer.Header, *op.acknowledged)
	}
	h.model.acknowledge(answer.Header)
	h.model.stampAck(op.name)
}

func sameTransaction(a, b events.TransactionPosted) bool {
	if a.ID != b.ID || a.Fingerprint != b.Fingerprint || a.RecordedAt != b.RecordedAt || len(a.Legs) != len(b.Legs) {
		return false
	}
	for i := range a.Legs {
		if a.Legs[i] != b.Legs[i] {
			return false
		}
	}
	return true
}
