package simulation

import (
	"context"
	"errors"
	"time"

	"ledger.example/ledger"
)

// batching: what later requests of a batch spend, earlier ones bring, or nobody.
func (m *lifeMaker) batching() {
	for range 1 + m.IntN(2) {
		m.fund(pick(m.dice, 0., 10))
	}
	for range 2 + m.IntN(3) {
		b := m.add(&ask{kind: batches, begin: 2*time.Second + m.seconds(20), atomic: m.chance(.6)})
		account, before := pick(m.dice, jane, joe), m.chance(.4)
		for i := range 1 + m.IntN(4) {
			if !before && m.chance(.3) {
				account = pick(m.dice, jane, joe)
			}
			a := m.transfer(bank, account, usd, m.amount(5, 40), 0)
			if before && i%2 == 0 || !before && m.chance(.6) { // spent before it is there
				r := a.request.(ledger.PostTransfer)
				r.From, r.To = r.To, pick(m.dice, bank, shop)
				a.request = r
				if m.chance(.3) {
					a.begin = b.begin
					a.held(200 * time.Second)
				}
			}
			a.batch = b
			b.members = append(b.members, a)
		}
	}
	for range 1 + m.IntN(4) {
		m.transfer(pick(m.dice, jane, joe), bank, usd, m.amount(1, 40), 2*time.Second+m.seconds(20))
	}
	if m.chance(.3) {
		m.changed(pick(m.dice, jane, joe), m.seconds(25))
	}
}

// netBefore is what the requests before a member of an atomic batch bring to k, less what they spend, of those that are
// not there: of what is there the guard knows.
func (a *ask) netBefore(m *model, k pair) (net int64) {
	if a.batch == nil || !a.batch.atomic {
		return 0
	}
	for _, member := range a.batch.members {
		if member == a {
			break
		}
		if _, there := m.headers[member.id]; there || member.id == "" {
			continue
		}
		debits, credits := grossOf(member.request, k)
		if member.hold {
			credits = 0
		}
		net += int64(credits) - int64(debits)
	}
	return net
}

// postBatch makes one call of a batch, and checks its answers against the model.
func (h *history) postBatch(ctx context.Context, d dice, b *ask) (final bool) {
	ctx, c := h.model.begin(ctx)
	var members []*ask
	var requests []ledger.PostingRequest
	var calls []asked
	for _, a := range b.members {
		if a.id == "" {
			continue // left out of the plan
		}
		members = append(members, a)
		requests = append(requests, a.request.(ledger.PostingRequest))
		calls = append(calls, a.posting.begin())
	}
	if members == nil {
		return true
	}
	defer func() {
		for _, a := range members {
			a.posting.asking--
		}
	}()
	results, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) ([]ledger.BatchResult, error) {
		return on.ledger.PostBatch(ctx, requests, b.atomic)
	})
	h.observe()
	if err == nil && !died && len(results) != len(members) {
		h.broken("%s: %d answers to %d requests", b.name, len(results), len(members))
		return true
	}
	final = true
	if b.atomic && err == nil && !died {
		h.count(&h.stats.Life.Atomic)
	}
	if e, ok := errors.AsType[*ledger.Error](err); ok && !died {
		return h.batchRefused(ctx, d, b, members, calls, c, e)
	}
	for i, a := range members {
		var answer ledger.Posted
		failed := err
		if err == nil && !died {
			h.count(&h.stats.Life.Each)
			answer = results[i].Posted
			if results[i].Err != nil {
				failed = results[i].Err
			}
			if failed != nil && b.atomic {
				h.broken("%s: of an atomic batch %s is refused alone: %w", b.name, a.name, failed)
			}
		}
		final = h.judge(ctx, d, a.posting, calls[i], c, a.request, answer, failed, died) && final
	}
	return final
}

// batchRefused checks that an atomic batch was refused as a whole, for one request.
func (h *history) batchRefused(ctx context.Context, d dice, b *ask, members []*ask, calls []asked, c *call,
	e *ledger.Error) (final bool) {
	switch e.Code {
	case ledger.CodeOutcomeUnknown, ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable:
		for i, a := range members {
			h.judge(ctx, d, a.posting, calls[i], c, a.request, ledger.Posted{}, e, false)
		}
		return false
	}
	if !b.atomic || e.Request < 1 || e.Request > len(members) {
		h.broken("%s: refused as a whole: %+v", b.name, e)
		return true
	}
	for i, a := range members {
		if i == e.Request-1 {
			final = h.judge(ctx, d, a.posting, calls[i], c, a.request, ledger.Posted{}, e, false)
			continue
		}
		if calls[i].had {
			h.broken("%s: refused (%w), and %s was acknowledged", b.name, e, a.name)
		}
		a.posting.refused, a.posting.declined = true, string(e.Code)
		a.posting.final = e.Code == ledger.CodeInsufficientFunds && calls[i].last(a.posting)
	}
	return final
}

// inOneTransaction checks that of an atomic batch all or nothing is there.
func (h *history) inOneTransaction() {
	for _, b := range h.life {
		if b.kind != batches || !b.atomic {
			continue
		}
		var there, absent []string
		for _, a := range b.members {
			if _, ok := h.model.headers[a.name]; ok {
				there = append(there, a.name)
			} else if a.id != "" {
				absent = append(absent, a.name)
			}
		}
		if there != nil && absent != nil {
			h.broken("of the batch %s there is %v, and not %v", b.name, there, absent)
		}
	}
}
