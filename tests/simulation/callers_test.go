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
	p := h.commands[n]
	if p.dead {
		p = h.born("command", n)
		h.commands[n] = p
	}
	t, err = do(p)
	return t, err, p.dead
}

// startCallers starts who asks for what the plan has, and who sweeps.
func (h *history) startCallers() {
	h.asks = h.plan.asks(h.knobs)
	for n, a := range h.asks {
		h.prepare(n, a)
		a.leftOut = !slices.Contains(h.plan.Requests, n) || a.batch != nil && a.batch.leftOut
	}
	for n, a := range h.asks {
		if a.leftOut || a.following || a.batch != nil {
			continue
		}
		names := []string{a.name}
		if h.meets(Twins, h.plan.draw("callers of", uint64(n)).chance(.15)) {
			names = append(names, a.name+" twin")
		}
		for _, name := range names {
			h.callers.Go(func() {
				if h.sleep(a.begin + h.plan.draw("delay of "+name, 0).between(0, time.Second)) {
					h.call(as(name), a)
				}
			})
		}
	}
	if h.plan.Mode == PostsAlone {
		h.startRegister()
	} else {
		h.callers.Go(h.keepSweeping)
	}
}

// keepSweeping sweeps all the time.
func (h *history) keepSweeping() {
	for ctx := as("sweeper"); time.Since(h.began) < h.knobs.span+time.Minute; {
		if !h.sleep(h.draw(ctx, "sweeps").between(0, 20*time.Second)) {
			return
		}
		swept, err := h.born("sweeper", 0).ledger.Sweeper().Sweep(ctx)
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
var operations = map[string]func(*history, context.Context, dice, *ask) (final bool){
	posts: (*history).post, reverses: (*history).post, captures: (*history).end, releases: (*history).end,
	changes: (*history).change, batches: (*history).postBatch,
}

// call asks until the answer is final, and then perhaps again.
func (h *history) call(ctx context.Context, a *ask) {
	for range 40 {
		d := h.draw(ctx, "calls")
		final := operations[a.kind](h, ctx, d, a)
		if final && d.chance(.8) || !final && h.meets(Abandon, d.chance(.25)) {
			break
		}
		if !h.sleep(d.between(time.Millisecond, pick(d, 100*time.Millisecond, 5*time.Second, 30*time.Second))) {
			return
		}
	}
	if a.then != nil && !a.then.leftOut && (a.first != nil || a.ended) {
		h.call(ctx, a.then)
	}
}

// refusal takes apart what a call was answered that was not carried out. again: its outcome is not known, or it is to
// be made again. e is nil where there was no answer at all, and of a call that was carried out.
func (h *history) refusal(name string, err error, died bool) (e *ledger.Error, again bool) {
	if died {
		h.count("unanswered")
		return nil, true
	}
	if err == nil {
		return nil, false
	}
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok {
		h.broken("%s: answered with %T: %w", name, err, err)
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
func (h *history) post(ctx context.Context, d dice, a *ask) (final bool) {
	body := a.request
	if h.meets(OtherBody, a.first != nil && d.chance(.1)) {
		body = a.other
	}
	ctx, c := h.model.begin(ctx)
	p := a.beginCall()
	defer func() { a.asking-- }()
	answer, err, died := perform(h, d.IntN(len(h.commands)),
		func(on *process) (ledger.Posted, error) { return send(ctx, on.ledger, body) })
	h.observe()
	return h.judge(ctx, d, a, p, c, body, answer, err, died)
}

// send makes a request that is answered with a transaction.
func send(ctx context.Context, l *ledger.Ledger, request any) (ledger.Posted, error) {
	if r, ok := request.(ledger.ReverseRequest); ok {
		return l.Reverse(ctx, r)
	}
	return l.Post(ctx, request.(ledger.PostingRequest))
}

// asking is one call that asks for a transaction.
type asking struct {
	had   bool // it had been acknowledged before
	calls int  // with this one
	alone bool
}

// beginCall notes that a call begins that asks for the transaction.
func (a *ask) beginCall() asking {
	a.asking++
	a.calls++
	a.final = false
	return asking{a.first != nil, a.calls, a.asking == 1}
}

// last reports whether a call was the only one while it went on.
func (p asking) last(a *ask) bool { return p.alone && a.calls == p.calls }

// judge checks the answer to one call against the model. It reports whether the answer is final.
func (h *history) judge(ctx context.Context, d dice, a *ask, p asking, c *call, body any, answer ledger.Posted,
	err error, died bool) (final bool) {
	e, again := h.refusal(a.name, err, died)
	switch {
	case again && (e == nil || e.Code == ledger.CodeOutcomeUnknown):
		a.unknown = true
		return false
	case again:
		a.declined = string(e.Code)
		return false
	case e == nil && a.isOther(body):
		h.broken("%s: another body was accepted under its id", a.name)
		return true
	case e == nil:
		h.acknowledged(a, answer, p.had)
		if h.meets(StrongReads, d.chance(.5)) {
			leg := pick(d, answer.Transaction.Legs...)
			h.readOne(ctx, h.born("reader of "+a.name, 0), pair{Account: leg.Account, Asset: leg.Asset})
		}
		return true
	case e.Code == ledger.CodeTransactionIDReused:
		if !a.isOther(body) {
			h.broken("%s: its own body is taken for another", a.name)
		}
		return true
	case p.had && e.Code != ledger.CodeTransactionNotFound:
		h.broken("%s: refused although it was acknowledged: %w", a.name, e)
		return true
	}
	a.declined = string(e.Code)
	final, never, expected := h.declined(a, e, c)
	if !expected {
		h.broken("%s: answered with %w", a.name, err)
	}
	a.final = never && p.last(a)
	return final
}

// declined checks a refusal. final: it is not asked for again; never: while nobody else asks, it will never be there.
// Others than those that a request may meet are not expected.
func (h *history) declined(a *ask, e *ledger.Error, c *call) (final, never, expected bool) {
	switch e.Code {
	case ledger.CodeInsufficientFunds:
		h.count("refused")
		h.model.refused(a, e, c)
		return true, true, true
	case ledger.CodeInvalidRequest:
		return h.untimely(a, e), false, true
	case ledger.CodeAccountFrozen, ledger.CodeAccountClosed:
		h.model.barred(a, e, c)
		return true, e.Code == ledger.CodeAccountFrozen, true
	}
	if a.kind != reverses {
		return true, false, false
	}
	switch e.Code {
	case ledger.CodeTransactionNotFound:
		h.model.notFound(a, c)
		return false, false, true
	case ledger.CodeExceedsReversible:
		h.count("told that too much is reversed")
		h.model.exceeds(a, e)
		return true, true, true
	case ledger.CodeNothingToReverse:
		h.model.nothingToReverse(a, c)
		return false, false, true
	case ledger.CodeUnbalanced, ledger.CodeInvalidTransaction: // the legs of what is reversed were drawn before
		return true, false, a.of.kind == reverses
	}
	return true, false, false
}

// untimely checks a refusal for a time: of an effective date that is not past yet, or of a hold whose time is over, or
// too near, by a clock that may be a little off. It reports whether that is final.
func (h *history) untimely(a *ask, e *ledger.Error) (final bool) {
	const off = skewMost + time.Second + slowMost
	switch since, left := time.Since(a.effective), time.Until(h.began.Add(a.expires)); {
	case !a.effective.IsZero() && since > off:
		h.broken("%s: refused %v after its effective date: %w", a.name, since, e)
	case a.effective.IsZero() && (a.expires == 0 || left > off):
		h.broken("%s: refused %v before it would expire: %w", a.name, left, e)
	}
	return a.effective.IsZero()
}

// acknowledged takes in an answer of success.
func (h *history) acknowledged(a *ask, answer ledger.Posted, had bool) {
	if answer.Replayed {
		h.count("replayed")
	} else {
		h.count("acknowledged")
		if had {
			h.broken("%s: posted a second time", a.name)
		}
	}
	if a.first == nil {
		a.first = &answer.Transaction
	} else if !sameTransaction(*a.first, answer.Transaction) {
		h.broken("%s: acknowledged as %+v, first as %+v", a.name, answer.Transaction, *a.first)
	}
	h.model.acknowledge(answer.Transaction)
	h.model.firstTold(a.name)
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
