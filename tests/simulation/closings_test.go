package simulation

import (
	"context"
	"maps"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/ledger"
)

// closeBooks adds backdated transactions, alone and in batches, and closings of the books meanwhile.
func (g *generator) closeBooks() {
	at := func() time.Duration { return g.seconds(g.knobs.span.Seconds()) }
	spend := func(begin time.Duration) *operation {
		from, to := pick(g.dice, jane, joe), pick(g.dice, bank, shop)
		if g.chance(.4) {
			from, to = bank, from
		}
		return g.transfer(from, to, usd, g.amount(1, 40), begin)
	}
	g.fund(0)
	for range 4 + g.IntN(12) {
		op := spend(at())
		if g.chance(.2) {
			g.reverse(op, g.partOf(op), op.begin+at())
		}
	}
	for range g.IntN(4) {
		b := g.add(&operation{kind: kindBatch, begin: at(), atomic: g.chance(.5)})
		for range 2 + g.IntN(4) {
			g.joinBatch(b, spend(b.begin))
		}
	}
	for range 2 + g.IntN(8) {
		g.add(&operation{kind: kindClosing, begin: at()})
	}
}

// draftClosing completes a closing when it is first sent, as an administrator who read the closings does: with the next
// number, or with a wrong one, or again with a used one.
func (h *history) draftClosing(op *operation) {
	h.model.mu.Lock()
	defer h.model.mu.Unlock()
	d, stored := h.plan.draw("draft of "+op.name, 0), h.model.closings
	before := h.began.Add(-d.between(ledger.PeriodAge, ledger.PeriodAge+pick(d, time.Second, time.Hour, 1000*time.Hour)))
	if d.chance(.6) { // as late as possible, or a little too late
		before = time.Now().Add(-ledger.PeriodAge - d.between(-2*time.Second, pick(d, time.Second, 10*time.Minute)))
	}
	op.closing = ledger.ClosePeriod{Number: int64(len(stored)) + 1, Before: before, Reason: op.name, Actor: "somebody"}
	switch kind := d.IntN(12); {
	case kind == 0:
		op.closing.Number++
	case kind < 4 && len(stored) > 0:
		used := pick(d, stored...)
		if op.closing.Number = used.Number; kind == 1 {
			op.closing.Before, op.closing.Reason = used.Before, used.Reason
		}
	}
}

// closing makes one call to close the books, and checks the answer against the model.
func (h *history) closing(ctx context.Context, d dice, op *operation) (final bool) {
	if op.closing.Number == 0 {
		h.draftClosing(op)
	}
	var closed events.PeriodClosed
	c, created, e, again := ask(ctx, h, d, op, func(ctx context.Context, on *process) (created bool, err error) {
		closed, created, err = on.ledger.ClosePeriod(ctx, op.closing)
		return created, err
	})
	switch {
	case again:
		return false
	case e == nil:
		h.model.acknowledgeClosing(op, closed, created, c)
	default:
		h.model.checkClosingRefusal(op, e, c)
	}
	return true
}

// retryClosing retries a closing whose number is stored.
func (h *history) retryClosing(ctx context.Context, op *operation) {
	stored := h.model.closings
	if op.closing.Number == 0 || op.closing.Number > int64(len(stored)) {
		return
	}
	h.checkWriter(op, h.model.closers[stored[op.closing.Number-1]], "")
	if !h.closing(ctx, h.draw(ctx, "retries"), op) {
		h.fail("%s: a retry without faults has no answer", op.name)
	}
}

// takeClosing adds a closing of the books.
func (m *model) takeClosing(e events.PeriodClosed) {
	n := int64(len(m.closings))
	switch {
	case e.Number != n+1:
		m.fail("closing %d is stored after closing %d", e.Number, n)
	case time.Since(e.Before) < ledger.PeriodAge:
		m.fail("the books were closed only %v after %v", time.Since(e.Before), e.Before)
	case n > 0 && e.Before.Before(m.closings[n-1].Before):
		m.count("periods opened again")
	default:
		m.count("periods closed")
	}
	m.closings = append(m.closings, e)
}

// sameClosing reports whether the number of a request is stored, with the same body.
func (m *model) sameClosing(r ledger.ClosePeriod) (stored, same bool) {
	if r.Number > int64(len(m.closings)) {
		return false, false
	}
	e := m.closings[r.Number-1]
	return true, e.Before.Equal(r.Before.Truncate(time.Microsecond)) && e.Reason == r.Reason
}

// acknowledgeClosing checks an answer that acknowledges a closing. It must be stored as requested. Requests that begin
// later are judged by it, as by every closing that is stored when they begin (call.closings).
func (m *model) acknowledgeClosing(op *operation, closed events.PeriodClosed, created bool, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, same := m.sameClosing(op.closing); !same || m.closings[op.closing.Number-1] != closed {
		m.fail("%s: %+v was acknowledged as %+v, but %+v is stored", op.name, op.closing, closed, m.closings)
	}
	switch {
	case created && m.closers[closed] != c:
		m.fail("%s: %+v is said to be new, but another call closed the books", op.name, closed)
	case !created:
		m.count("closings replayed")
	}
}

// checkClosingRefusal checks the refusal to close the books.
func (m *model) checkClosingRefusal(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, isNew := op.closing, op.closing.Number > int64(c.closings)
	stored, same := m.sameClosing(r)
	right := false
	switch {
	case e.Code == ledger.CodePeriodExists:
		right = stored && !same
	case e.Code != ledger.CodeInvalidPeriod:
	case e.Fields[0].Field.Name == "number":
		right = r.Number > int64(c.closings)+1
	default: // not over for 5 minutes by the store's clock, as the process knows it
		right = isNew && r.Before.After(c.sent.Add(-ledger.PeriodAge-maxBehind))
	}
	m.count(string(e.Code) + " answers")
	if !right {
		m.fail("%s: %+v was refused (%w), but %+v is stored", op.name, r, e, m.closings)
	}
}

// checkPeriodClosed checks a refusal because the books are closed. The transaction was not stored when the call began,
// and a closing in force since then is after its effective date.
func (m *model) checkPeriodClosed(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if stamp, stored := m.headerStamps[op.name]; stored && stamp < c.began {
		m.fail("%s: refused (%w), but it was stored before", op.name, e)
	}
	effective := op.effective.Truncate(time.Microsecond)
	if !slices.ContainsFunc(m.closings[max(0, c.closings-1):], func(p events.PeriodClosed) bool {
		return effective.Before(p.Before)
	}) {
		m.fail("%s: refused (%w), but the books were open at %v: %+v", op.name, e, effective, m.closings)
	}
}

// checkPeriod checks an attempt to post a transaction, before it is applied. If the transaction has an effective date,
// it read the newest closing since the call began, and this closing is not after the date.
func (m *model) checkPeriod(t events.TransactionPosted, c *call) {
	if c == nil || !t.IsBackdated() {
		return
	}
	switch n := t.Period; {
	case n < int64(c.closings):
		m.fail("%s: an attempt read closing %d, but %d was stored before", t.ID, n, c.closings)
	case n > 0 && n <= int64(len(m.closings)) && t.PostedAt().Before(m.closings[n-1].Before):
		m.fail("%s: an attempt posts at %v, but read %+v", t.ID, t.PostedAt(), m.closings[n-1])
	}
}

// checkFinal checks a header that was just stored. Its closing exists, and no later one is final.
func (m *model) checkFinal(t events.TransactionPosted) {
	final := int64(0)
	for _, e := range m.closings {
		if !time.Now().Before(e.FinalAt()) {
			final = e.Number
		}
	}
	switch {
	case t.Period > int64(len(m.closings)) || t.Period > 0 && !t.IsBackdated():
		m.fail("%s has the closing %d of %d", t.ID, t.Period, len(m.closings))
	case t.IsBackdated() && t.Period < final:
		m.fail("%s was posted under closing %d, but %d is final", t.ID, t.Period, final)
	case t.IsBackdated() && final > 0:
		m.count("posted after a final closing")
	}
}

// checkSlip alters when a transaction was recorded. If that is right before a later closing was final, the audit must
// accept it, as it was decided before the closing. If it is later, the transaction slipped into a closed period.
func (h *history) checkSlip() {
	h.auditing = true
	for _, id := range slices.Sorted(maps.Keys(h.model.headers)) {
		t := h.model.headers[id]
		later := h.model.closings[min(t.Period, int64(len(h.model.closings))):]
		if !t.IsBackdated() || len(later) == 0 {
			continue
		}
		final := slices.MinFunc(later, func(a, b events.PeriodClosed) int { return a.At.Compare(b.At) }).FinalAt()
		for slips, at := range []time.Time{final.Add(-time.Microsecond), final} {
			t.RecordedAt = at
			h.overwrite(table.NewItemEncoder(1).Event(t))
			if report, err := h.runAudit(); err != nil || report.ByCode[audit.PostedInClosed] != int64(slips) {
				h.fail("%s is recorded at %v, %v final at %v; the audit finds %+v (%w)", id, at, later, final, report, err)
			}
		}
		h.count("slips found")
		return
	}
}
