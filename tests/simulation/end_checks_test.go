package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/ledger"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/projections/repair"
)

// finish rebuilds what the stream lost and what somebody damages, and checks that everything is as it was answered, and
// that the table is sound.
func (h *history) checkEnd() {
	h.observe()
	d := h.plan.draw("damage", 0)
	damaged := h.occurs(Damaged, d.chance(.25))
	if damaged {
		h.damaged = true
		for range 1 + d.IntN(4) {
			h.damage(d)
		}
		h.observe()
	}
	if h.lostRecords > 0 || damaged {
		for _, account := range accountIDs {
			h.rebuild(as("rebuild at rest"), h.startProcess("rebuild at rest", 0), account, true)
		}
		h.observe()
	}
	h.retryAll()
	h.audit()
}

// listAll rebuilds the lists of transactions and the journal, as records were lost.
func (h *history) rebuildLists() {
	v, quiet := views.NewViews(h.store.DynamoDB(), tableName), slog.New(slog.DiscardHandler)
	err := repair.New(repair.Config{
		Views: v, Lists: v, Journal: projections.NewLister(v, nil, nil, quiet), ListsOnly: true, Log: quiet,
	}).Run(as("rebuild of lists"))
	if err != nil {
		h.fail("rebuild of lists: %w", err)
	}
}

// audit asks the auditor, who shares no code with anybody here, whether all that is stored is right: nothing is under
// way, and every record was delivered or rebuilt from.
func (h *history) audit() {
	h.auditing = true
	defer func() { h.auditing = false }()
	if h.lostRecords > 0 {
		h.rebuildLists()
	}
	report, err := audit.New(audit.Options{
		Store: h.store.DynamoDB(), Table: tableName, Segments: 1, Findings: 3,
		Pause: func(context.Context, time.Duration) error { return nil },
	}).Run(context.Background())
	brokenOff := report.ByCode[audit.GuardBehind] // changes that no request finished
	if err != nil || report.Counts.Findings > brokenOff || report.Unsettled > 0 {
		h.fail("the audit finds %+v (%w)", report, err)
	}
}

// askAgain repeats what was asked for and is there, long after: it must be answered with that, whatever was answered
// before.
func (h *history) retryAll() {
	p := h.startProcess(checkProcess, 0)
	for _, op := range h.operations {
		switch ctx := as(checkProcess + " " + op.name); {
		case op.skipped:
		case op.kind == kindPost, op.kind == kindReverse:
			h.checkAnswers(op)
			if stored, exists := h.model.headers[op.name]; exists {
				answer, err := send(ctx, p.ledger, op.body)
				if err != nil || !answer.Replayed || !sameTransaction(answer.Transaction, stored) {
					h.fail("%s is there, and asked for again it is answered with %+v (%w)", op.name, answer, err)
				}
			}
		case op.kind == kindCapture, op.kind == kindRelease:
			if stored, exists := h.model.outcomes[op.target.name]; exists {
				h.retryEnd(ctx, p, op, stored)
			}
		case op.kind == kindBatch && op.atomic:
			h.checkAtomic(op)
		}
		h.observe()
	}
}

// answered checks the answers to a request against what became of it.
func (h *history) checkAnswers(op *operation) {
	stored, exists := h.model.headers[op.name]
	switch {
	case op.acknowledged != nil && (!exists || !sameTransaction(*op.acknowledged, stored)):
		h.fail("%s was acknowledged, and is not there so", op.name)
	case exists && op.refusedForGood:
		h.fail("%s is there, and the last answer was that it never will be (%s)", op.name, op.lastRefusal)
	case op.acknowledged == nil && exists && !op.unknown:
		h.fail("%s is there, and it was answered that nothing was written (%s)", op.name, op.lastRefusal)
	}
}

// endAgain asks again for an end of a hold that ended.
func (h *history) retryEnd(ctx context.Context, p *process, op *operation, stored events.HoldEnded) {
	answer, err := sendEnd(ctx, p.ledger, op)
	e, _ := errors.AsType[*ledger.Error](err)
	switch {
	case err == nil && (!answer.Replayed || !slices.Equal(answer.End.Legs, stored.Legs)):
		h.fail("%s is asked for again, and answered with %+v, not %+v", op.name, answer, stored)
	case err != nil && op.endAcknowledged:
		h.fail("%s was acknowledged, and asked for again it is answered with %w", op.name, err)
	case err != nil && (e.Code == ledger.CodeHoldEnded || e.Code == ledger.CodeHoldExpired):
		h.model.checkEndRefusal(op, e)
	case err != nil && e.Code != ledger.CodeTransactionNotFound:
		h.fail("%s is answered with %w at rest", op.name, err)
	}
}

// inOneTransaction checks that of an atomic batch all or nothing is there.
func (h *history) checkAtomic(batch *operation) {
	var there, absent []string
	for _, op := range batch.members {
		if _, ok := h.model.headers[op.name]; ok {
			there = append(there, op.name)
		} else if !op.skipped {
			absent = append(absent, op.name)
		}
	}
	if there != nil && absent != nil {
		h.fail("of the batch %s there is %v, and not %v", batch.name, there, absent)
	}
}

// sweepUp lets what is due be swept, while nothing goes wrong by itself any more.
func (h *history) sweepAll() {
	for tries := 0; ; tries++ {
		last, open := h.model.openHolds(h.began.Add(time.Hour))
		if len(open) == 0 {
			return
		}
		if wait := time.Until(last.Add(2 * maxSkew)); wait > 0 && !h.sleep(wait) {
			return
		}
		p := h.startProcess(checkProcess, 0)
		if _, err := p.ledger.Sweeper().Sweep(as(fmt.Sprintf("last sweep %d", tries))); err != nil {
			h.fail("a sweep at rest: %w", err)
		}
		h.observe()
		if h.lostRecords > 0 {
			for _, id := range open {
				if _, err := p.ledger.Expire(as(fmt.Sprintf("last end %d of %s", tries, id)), id); err != nil {
					h.fail("%s is not ended at rest: %w", id, err)
				}
			}
			h.observe()
		}
		if tries == 60 {
			h.fail("the holds %v are held for ever", open)
		}
		if !h.sleep(20 * time.Second) {
			return
		}
	}
}

// spendAll spends, at rest, everything that is there, and sees that not a unit more can be spent.
func (h *history) checkAvailable() {
	p := h.startProcess(checkProcess, 0)
	m := h.model
	keys := slices.SortedFunc(maps.Keys(m.stored), func(a, b pair) int {
		return slices.Compare([]string{a.Account, a.Asset}, []string{b.Account, b.Asset})
	})
	for _, k := range keys {
		all := m.versions[k.Account]
		if len(all) == 0 {
			continue
		}
		now := all[len(all)-1]
		have := m.quantities[k] - m.pending[k] + now.limits[k.Asset]
		for extra := int64(1); extra >= 0; extra-- {
			if have+extra <= 0 {
				continue
			}
			id := fmt.Sprintf("rest.%s.%s.%d", k.Account, k.Asset, extra)
			_, err := p.ledger.Post(as(checkProcess+" "+id), ledger.PostTransfer{
				Annotation: ledger.Annotation{ID: id, Actor: "somebody"}, From: k.Account, To: bank, Asset: k.Asset,
				Quantity: events.NewAmount(have + extra),
			})
			h.observe()
			code := ledger.Code("")
			if e, ok := errors.AsType[*ledger.Error](err); ok {
				code = e.Code
			}
			if wanted := wantedCode(now, extra); code != wanted {
				h.fail("at rest %v has %d, and spending %d is answered with %w", k, have, have+extra, err)
			}
		}
	}
}

// restCode is how a debit of so much more than there is must be answered at rest.
func wantedCode(v version, extra int64) ledger.Code {
	switch {
	case v.state == events.StateFrozen:
		return ledger.CodeAccountFrozen
	case v.state == events.StateClosed:
		return ledger.CodeAccountClosed
	case extra > 0:
		return ledger.CodeInsufficientFunds
	}
	return ""
}
