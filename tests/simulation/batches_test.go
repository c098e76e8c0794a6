package simulation

import (
	"context"
	"slices"

	"ledger.example/ledger"
)

// postBatch makes one call of a batch, and checks its answers against the model.
func (h *history) postBatch(ctx context.Context, d dice, b *ask) (final bool) {
	members := slices.DeleteFunc(slices.Clone(b.members), func(a *ask) bool { return a.leftOut })
	if len(members) == 0 {
		return true
	}
	ctx, c := h.model.begin(ctx)
	var requests []ledger.PostingRequest
	var calls []asking
	for _, a := range members {
		requests = append(requests, a.request.(ledger.PostingRequest))
		calls = append(calls, a.beginCall())
		defer func() { a.asking-- }()
	}
	results, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) ([]ledger.BatchResult, error) {
		return on.ledger.PostBatch(ctx, requests, b.atomic)
	})
	h.observe()
	e, again := h.refusal(b.name, err, died)
	switch {
	case again:
	case e != nil && (!b.atomic || e.Request < 1 || e.Request > len(members)):
		h.broken("%s: refused as a whole: %+v", b.name, e)
		return true
	case e == nil && len(results) != len(members):
		h.broken("%s: %d answers to %d requests", b.name, len(results), len(members))
		return true
	case b.atomic:
		h.count("atomic batches")
	}
	final = true
	for i, a := range members {
		answer, failed := ledger.Posted{}, err
		switch {
		case again:
		case e == nil:
			h.count("requests in batches")
			answer = results[i].Posted
			if one := results[i].Err; one != nil {
				failed = one
			}
			if failed != nil && b.atomic {
				h.broken("%s: of an atomic batch %s is refused alone: %w", b.name, a.name, failed)
			}
		case i != e.Request-1: // refused for another's sake
			if calls[i].had {
				h.broken("%s: refused (%w), and %s was acknowledged", b.name, e, a.name)
			}
			a.declined, a.final = string(e.Code), e.Code == ledger.CodeInsufficientFunds && calls[i].last(a)
			continue
		}
		final = h.judge(ctx, d, a, calls[i], c, a.request, answer, failed, died) && final
	}
	return final
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
		if _, there := m.headers[member.name]; !there && !member.leftOut {
			debits, credits := member.gross(k)
			net += credits - debits
		}
	}
	return net
}
