package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// perform carries out a command in the n-th process. died reports that its outcome will never be known.
func perform[T any](h *history, n int, do func(*process) (T, error)) (t T, err error, died bool) {
	p := h.commandProcesses[n]
	if p.dead {
		p = h.startProcess("command", n)
		h.commandProcesses[n] = p
	}
	t, err = do(p)
	return t, err, p.dead
}

// startCallers starts who asks for what the plan has, and who sweeps.
func (h *history) startCallers() {
	h.operations = h.plan.operations(h.knobs)
	for n, op := range h.operations {
		h.prepare(n, op)
		op.skipped = !slices.Contains(h.plan.Requests, n) || op.batch != nil && op.batch.skipped
	}
	for n, op := range h.operations {
		if op.skipped || op.isNext || op.batch != nil {
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
	if h.plan.Mode == PostsOnly {
		h.startAccessChanges()
	} else {
		h.callers.Go(h.sweepPeriodically)
	}
}

// keepSweeping sweeps all the time.
func (h *history) sweepPeriodically() {
	for ctx := as("sweeper"); time.Since(h.began) < h.knobs.span+time.Minute; {
		if !h.sleep(h.draw(ctx, "sweeps").between(0, 20*time.Second)) {
			return
		}
		swept, err := h.startProcess("sweeper", 0).ledger.Sweeper().Sweep(ctx)
		h.observe()
		if err == nil {
			for range swept.Expired {
				h.count("holds swept")
			}
		}
	}
}

// operations make one call each that asks for something of a kind, and check its answer against the model. They report
// whether the answer is final.
var callByKind = map[string]func(*history, context.Context, dice, *operation) (final bool){
	kindPost: (*history).post, kindReverse: (*history).post, kindCapture: (*history).end, kindRelease: (*history).end,
	kindChange: (*history).change, kindBatch: (*history).postBatch,
}

// call asks until the answer is final, and then perhaps again.
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

// refusal takes apart what a call was answered that was not carried out. again: its outcome is not known, or it is to
// be made again. e is nil where there was no answer at all, and of a call that was carried out.
func (h *history) classify(name string, err error, died bool) (e *ledger.Error, again bool) {
	if died {
		h.count("unanswered")
		return nil, true
	}
	if err == nil {
		return nil, false
	}
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok {
		h.fail("%s: answered with %T: %w", name, err, err)
		return nil, true
	}
	switch e.Code {
	case ledger.CodeOutcomeUnknown, ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable:
		h.count("unanswered")
		return e, true
	}
	return e, false
}

// post makes one call of a post or a reversal.
func (h *history) post(ctx context.Context, d dice, op *operation) (final bool) {
	body := op.body
	if h.occurs(OtherBody, op.acknowledged != nil && d.chance(.1)) {
		body = op.otherBody
	}
	ctx, c := h.model.beginCall(ctx)
	p := op.startCall()
	defer func() { op.inFlight-- }()
	answer, err, died := perform(h, d.IntN(len(h.commandProcesses)),
		func(on *process) (ledger.Posted, error) { return send(ctx, on.ledger, body) })
	h.observe()
	return h.checkAnswer(ctx, d, op, p, c, body, answer, err, died)
}

// send makes a request that is answered with a transaction.
func send(ctx context.Context, l *ledger.Ledger, request any) (ledger.Posted, error) {
	if r, ok := request.(ledger.ReverseRequest); ok {
		return l.Reverse(ctx, r)
	}
	return l.Post(ctx, request.(ledger.PostingRequest))
}

// asking is one call that asks for a transaction.
type callStart struct {
	wasAcknowledged bool // it had been acknowledged before
	number          int  // with this one
	alone           bool
}

// beginCall notes that a call begins that asks for the transaction.
func (op *operation) startCall() callStart {
	op.inFlight++
	op.calls++
	op.refusedForGood = false
	return callStart{op.acknowledged != nil, op.calls, op.inFlight == 1}
}

// last reports whether a call was the only one while it went on.
func (p callStart) wasOnly(op *operation) bool { return p.alone && op.calls == p.number }

// judge checks the answer to one call against the model. It reports whether the answer is final.
func (h *history) checkAnswer(ctx context.Context, d dice, op *operation, p callStart, c *call, body any, answer ledger.Posted,
	err error, died bool) (final bool) {
	e, again := h.classify(op.name, err, died)
	switch {
	case again && (e == nil || e.Code == ledger.CodeOutcomeUnknown):
		op.unknown = true
		return false
	case again:
		op.lastRefusal = string(e.Code)
		return false
	case e == nil && op.isOtherBody(body):
		h.fail("%s: another body was accepted under its id", op.name)
		return true
	case e == nil:
		h.takeAcknowledgement(op, answer, p.wasAcknowledged)
		if h.occurs(StrongReads, d.chance(.5)) {
			leg := pick(d, answer.Transaction.Legs...)
			h.readOne(ctx, h.startProcess("reader of "+op.name, 0), pair{Account: leg.Account, Asset: leg.Asset})
		}
		return true
	case e.Code == ledger.CodeTransactionIDReused:
		if !op.isOtherBody(body) {
			h.fail("%s: its own body is taken for another", op.name)
		}
		return true
	case p.wasAcknowledged && e.Code != ledger.CodeTransactionNotFound:
		h.fail("%s: refused although it was acknowledged: %w", op.name, e)
		return true
	}
	op.lastRefusal = string(e.Code)
	final, never, expected := h.checkRefusal(op, e, c)
	if !expected {
		h.fail("%s: answered with %w", op.name, err)
	}
	op.refusedForGood = never && p.wasOnly(op)
	return final
}

// declined checks a refusal. final: it is not asked for again; never: while nobody else asks, it will never be there.
// Others than those that a request may meet are not expected.
func (h *history) checkRefusal(op *operation, e *ledger.Error, c *call) (final, never, expected bool) {
	switch e.Code {
	case ledger.CodeInsufficientFunds:
		h.count("refused")
		h.model.checkInsufficientFunds(op, e, c)
		return true, true, true
	case ledger.CodeInvalidRequest:
		return h.checkTimeRefusal(op, e), false, true
	case ledger.CodeAccountFrozen, ledger.CodeAccountClosed:
		h.model.checkStateRefusal(op, e, c)
		return true, e.Code == ledger.CodeAccountFrozen, true
	}
	if op.kind != kindReverse {
		return true, false, false
	}
	switch e.Code {
	case ledger.CodeTransactionNotFound:
		h.model.checkNotFound(op, c)
		return false, false, true
	case ledger.CodeExceedsReversible:
		h.count("told that too much is reversed")
		h.model.checkExceeds(op, e)
		return true, true, true
	case ledger.CodeNothingToReverse:
		h.model.checkNothingToReverse(op, c)
		return false, false, true
	case ledger.CodeUnbalanced, ledger.CodeInvalidTransaction: // the legs of what is reversed were drawn before
		return true, false, op.target.kind == kindReverse
	}
	return true, false, false
}

// untimely checks a refusal for a time: of an effective date that is not past yet, or of a hold whose time is over, or
// too near, by a clock that may be a little off. It reports whether that is final.
func (h *history) checkTimeRefusal(op *operation, e *ledger.Error) (final bool) {
	const off = maxSkew + time.Second + maxSlow
	switch since, left := time.Since(op.effective), time.Until(h.began.Add(op.expires)); {
	case !op.effective.IsZero() && since > off:
		h.fail("%s: refused %v after its effective date: %w", op.name, since, e)
	case op.effective.IsZero() && (op.expires == 0 || left > off):
		h.fail("%s: refused %v before it would expire: %w", op.name, left, e)
	}
	return op.effective.IsZero()
}

// acknowledged takes in an answer of success.
func (h *history) takeAcknowledgement(op *operation, answer ledger.Posted, had bool) {
	if answer.Replayed {
		h.count("replayed")
	} else {
		h.count("acknowledged")
		if had {
			h.fail("%s: posted a second time", op.name)
		}
	}
	if op.acknowledged == nil {
		op.acknowledged = &answer.Transaction
	} else if !sameTransaction(*op.acknowledged, answer.Transaction) {
		h.fail("%s: acknowledged as %+v, first as %+v", op.name, answer.Transaction, *op.acknowledged)
	}
	h.model.acknowledge(answer.Transaction)
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
