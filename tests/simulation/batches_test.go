package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// independent is the context key for requests to the store that are made for a batch that is not atomic.
type independent struct{}

// countTogether counts writes that have several requests of a batch that is not atomic.
func (h *history) countTogether(ctx context.Context, parameters any, err error) {
	in, writes := parameters.(*dynamodb.TransactWriteItemsInput)
	if !writes || ctx.Value(independent{}) == nil {
		return
	}
	headers := 0
	for _, action := range in.TransactItems {
		if action.Put == nil {
			continue
		}
		if _, header := store.Transaction.Parse(store.ItemKey(action.Put.Item)); header {
			headers++
		}
	}
	switch {
	case headers < 2:
	case err == nil:
		h.count("written together")
	default:
		h.count("not written together")
	}
}

// postBatch makes one call with a batch, and checks the answer to each member against the model.
func (h *history) postBatch(ctx context.Context, d dice, b *operation) (final bool) {
	members := slices.DeleteFunc(slices.Clone(b.members), func(op *operation) bool { return op.skipped })
	if len(members) == 0 {
		return true
	}
	complete := true
	if !b.atomic && members[0].count > 0 && d.chance(.3) { // a retry may have some of the requests only
		members = slices.DeleteFunc(members, func(op *operation) bool { return op != members[0] && d.chance(.5) })
		complete = false
	}
	ctx, c := h.model.beginCall(ctx)
	if !b.atomic {
		ctx = context.WithValue(ctx, independent{}, true)
	}
	var requests []ledger.Request
	var calls []callStart
	for _, op := range members {
		requests = append(requests, op.request())
		calls = append(calls, op.startCall())
		defer func() { op.inFlight-- }()
	}
	results, err, died := perform(h, d.IntN(len(h.commandProcesses)),
		func(on *process) ([]ledger.BatchResult, error) { return on.ledger.PostBatch(ctx, requests, b.atomic) })
	c.answered = time.Now()
	h.observe()
	e, again := h.classify(b, c, err, died)
	switch {
	case again:
	case e != nil && (!b.atomic || e.Request < 1 || e.Request > len(members)):
		h.fail("%s: refused as a whole: %+v", b.name, e)
		return true
	case e == nil && len(results) != len(members):
		h.fail("%s: %d answers to %d requests", b.name, len(results), len(members))
		return true
	case b.atomic:
		h.count("atomic batches")
	}
	final = complete
	for i, op := range members {
		answer, failed := ledger.Posted{}, err
		switch {
		case again:
		case e == nil:
			h.count("requests in batches")
			if op.endsHold() && b.atomic {
				h.count("ends in atomic batches")
			} else if op.endsHold() {
				h.count("ends in batches")
			}
			answer = results[i].Posted
			if one := results[i].Err; one != nil {
				failed = one
			}
			if failed != nil && b.atomic {
				h.fail("%s: member %s of an atomic batch is refused alone: %w", b.name, op.name, failed)
			}
		case i != e.Request-1: // refused because another member is
			if calls[i].wasAcknowledged {
				h.fail("%s: refused (%w), but its member %s was acknowledged", b.name, e, op.name)
			}
			op.calls[c] = e.Code
			op.refusedForGood = e.Code == ledger.CodeInsufficientFunds && calls[i].wasOnly(op)
			continue
		}
		if op.endsHold() {
			final = h.checkEndAnswer(op, c, answer, failed, died) && final
			continue
		}
		final = h.checkAnswer(ctx, d, op, calls[i], c, op.body, answer, failed, died) && final
	}
	return final
}

// effectBefore returns what the earlier members of op's atomic batch credit k with, minus what they debit. Members that
// are stored already do not count, because the guard includes them.
func (op *operation) effectBefore(m *model, k pair) (net int64) {
	if op.batch == nil || !op.batch.atomic {
		return 0
	}
	for _, member := range op.batch.members {
		if member == op {
			break
		}
		if !m.isStored(member) && !member.skipped {
			debits, credits := member.effect(k)
			net += credits - debits
		}
	}
	return net
}
