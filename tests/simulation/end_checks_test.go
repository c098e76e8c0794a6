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
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/internal/watch/repair"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// checkEnd damages some projections, rebuilds them and what the stream lost, retries every request, and audits the
// table.
func (h *history) checkEnd() {
	h.observe()
	for _, check := range h.model.windows.later {
		check()
	}
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
			h.rebuild(as(repairsAtRest), h.startProcess(repairsAtRest, 0), account, true)
		}
		h.observe()
	}
	h.retryAll()
	h.audit()
}

// rebuildAll rebuilds projections from events that the stream does not deliver: all of them, or only the lists of
// transactions and the journal.
func (h *history) rebuildAll(listsOnly bool) {
	v, quiet := table.NewTable(h.store.DynamoDB(), tableName), slog.New(slog.DiscardHandler)
	err := repair.New(repair.Config{
		Table: v, Append: projections.NewLister(v, nil, nil, quiet).Append, Indexed: indexed, ListsOnly: listsOnly,
		Log: quiet,
	}).Run(as("rebuild of all"))
	if err != nil {
		h.fail("rebuild of all: %w", err)
	}
}

// audit runs the product's audit, which shares no code with the model. No request is in flight, and every record was
// delivered or its projections were rebuilt, so the audit must find nothing.
func (h *history) audit() {
	h.auditing = true
	defer func() { h.auditing = false }()
	if h.lostRecords > 0 {
		h.rebuildAll(true)
	}
	h.checkTags()
	report, err := h.runAudit()
	unfinished := report.ByCode[audit.GuardBehind] // changes of accounts whose callers gave up
	if err != nil || report.Counts.Findings > unfinished || report.Unsettled > 0 {
		h.fail("the audit finds %+v (%w)", report, err)
	}
}

func (h *history) runAudit() (audit.Report, error) {
	return audit.New(audit.Options{
		Store: h.store.DynamoDB(), Table: tableName, Segments: 1, Findings: 3, Indexed: indexed,
		Pause: func(context.Context, time.Duration) error { return nil },
	}).Run(context.Background())
}

// checkTags compares the lists of accounts by metadata with the newest versions of the accounts. The lists read by
// themselves leave out entries that contradict their account, so the items are compared as well.
func (h *history) checkTags() {
	listed, wanted := make(map[string]string), make(map[string]string)
	for _, account := range []string{jane, joe} {
		all := h.model.versions[account]
		newest := all[len(all)-1]
		if newest.tier != "" {
			wanted[account] = newest.tier
		}
		shown, _ := h.store.Item(table.Tagged.Key(account, tier))
		if pk2 := text(shown, table.AttrPK2); newest.tier == "" && pk2 != "" ||
			newest.tier != "" && pk2 != table.Tagged.PK2(tier, newest.tier) {
			h.fail("%s has the tier %q in version %d, but its entry is %v", account, newest.tier, newest.number, shown)
		}
	}
	lists := projections.NewLists(table.NewTable(h.store.DynamoDB(), tableName))
	for _, value := range tiers {
		page, err := lists.TaggedAccounts(as("lists by metadata"), tier, value, "", projections.Slice{Limit: 10})
		if err != nil {
			h.fail("list accounts by metadata: %w", err)
		}
		for _, found := range page.Items {
			listed[found.Opened.ID] = value
		}
	}
	if !maps.Equal(listed, wanted) {
		h.fail("accounts are listed by metadata as %v, not %v", listed, wanted)
	}
	for range wanted {
		h.count("accounts listed by metadata")
	}
}

// retryAll retries each operation whose effect is stored. The answer must show the stored effect.
func (h *history) retryAll() {
	p := h.startProcess(checkProcess, 0)
	h.commandProcesses = []*process{p}
	for _, op := range h.operations {
		switch ctx := as(checkProcess + " " + op.name); {
		case op.skipped:
		case op.kind == kindPost, op.kind == kindReverse:
			h.checkAnswers(op)
			if stored, exists := h.model.headers[op.name]; exists {
				answer, err := p.ledger.Post(ctx, op.body)
				if err != nil || !answer.Replayed || !sameTransaction(answer.Header, stored) {
					h.fail("%s is stored, but a retry is answered with %+v (%w)", op.name, answer, err)
				}
			}
		case op.kind == kindCapture, op.kind == kindRelease:
			if stored, exists := h.model.outcomes[op.target.name]; exists {
				expired, writer := ledger.Code(""), h.model.writer(stored.Legs)
				if stored.Outcome == events.OutcomeExpired { // only a capture that came too late may write the expiry
					expired = ledger.CodeHoldExpired
					if op.batch.isCallOf(writer) { // another member may be the one that is refused
						expired = op.calls[writer]
					}
				}
				h.checkWriter(op, writer, expired)
				h.retryEnd(ctx, p, op, stored)
			}
		case op.kind == kindClosing:
			h.retryClosing(ctx, op)
		case op.kind == kindBatch && op.atomic:
			h.checkAtomic(op)
		}
		h.observe()
	}
}

// checkAnswers checks the answers to an operation against what is stored.
func (h *history) checkAnswers(op *operation) {
	stored, exists := h.model.headers[op.name]
	switch {
	case op.acknowledged != nil && (!exists || !sameTransaction(*op.acknowledged, stored)):
		h.fail("%s was acknowledged, but what is stored is missing or differs", op.name)
	case exists && op.refusedForGood && !op.alone: // what is also sent alone is not refused with its batch
		h.fail("%s is stored, although the last answer was final: %v", op.name, op.calls)
	case exists:
		h.checkWriter(op, h.model.writer(stored.Legs), "")
	}
}

// checkWriter checks that the call that wrote what an operation asked for was not answered as if it had written
// nothing, or with the code that is allowed.
func (h *history) checkWriter(op *operation, writer *call, allowed ledger.Code) {
	if code := op.calls[writer]; code != "" && code != allowed {
		h.fail("%s: a call was answered with %s, but it wrote what is stored", op.name, code)
	}
}

// isCallOf reports whether a call sent the atomic batch op, which may be nil.
func (op *operation) isCallOf(c *call) bool {
	if op == nil || !op.atomic {
		return false
	}
	_, isCall := op.calls[c]
	return isCall
}

// retryEnd retries a capture or release of a hold that has ended.
func (h *history) retryEnd(ctx context.Context, p *process, op *operation, stored events.HoldEnded) {
	answer, err := p.ledger.Post(ctx, op.request())
	e, _ := errors.AsType[*ledger.Error](err)
	switch {
	case err == nil && (!answer.Replayed || !slices.Equal(answer.Ended.Legs, stored.Legs)):
		h.fail("the retry of %s is answered with %+v, not %+v", op.name, answer, stored)
	case err != nil && op.endAcknowledged:
		h.fail("%s was acknowledged, but its retry is answered with %w", op.name, err)
	case err != nil && (e.Code == ledger.CodeHoldEnded || e.Code == ledger.CodeHoldExpired):
		h.model.checkEndRefusal(op, e)
	case err != nil && e.Code != ledger.CodeTransactionNotFound:
		h.fail("the retry of %s is answered with %w", op.name, err)
	}
}

// checkAtomic checks that an atomic batch is stored completely or not at all.
func (h *history) checkAtomic(batch *operation) {
	var stored, missing []string
	for _, op := range batch.members {
		isStored, legs := h.model.isStored(op), h.model.headers[op.name].Legs
		if isStored && op.endsHold() {
			end := h.model.outcomes[op.target.name]
			isStored, legs = op.asksFor(h.model.headers[op.target.name], end), end.Legs
		}
		if isStored && (op.alone || op.endsHold()) {
			if _, own := batch.calls[h.model.writer(legs)]; !own {
				continue // somebody else asked for the same
			}
		}
		if isStored {
			stored = append(stored, op.name)
		} else if !op.skipped {
			missing = append(missing, op.name)
		}
	}
	if stored != nil && missing != nil {
		h.fail("the atomic batch %s is stored in part: %v, but not %v", batch.name, stored, missing)
	}
}

// sweepAll sweeps, without faults, until every hold that expires within an hour has ended.
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
		if _, err := p.ledger.Sweep(as(fmt.Sprintf("last sweep %d", tries))); err != nil {
			h.fail("a sweep without faults: %w", err)
		}
		h.observe()
		if h.lostRecords > 0 {
			for _, id := range open {
				if _, err := p.ledger.Expire(as(fmt.Sprintf("last end %d of %s", tries, id)), id); err != nil {
					h.fail("%s is not ended without faults: %w", id, err)
				}
			}
			h.observe()
		}
		if tries == 60 {
			h.fail("the holds %v never end", open)
		}
		if !h.sleep(20 * time.Second) {
			return
		}
	}
}

// checkAvailable tries to spend, from each account, one unit more than is available, and then exactly what is
// available.
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
		room, isRated := m.roomNow(k, now)
		isRated = isRated && room <= have // judged before funds
		if isRated {
			have = room
		}
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
			if wanted := wantedCode(now, extra, isRated); code != wanted {
				h.fail("%v has %d, and spending %d is answered with %w", k, have, have+extra, err)
			}
		}
	}
}

// wantedCode returns the error code for a debit of extra units more than is available. Empty: success.
// isRated: limits over time leave no more than the funds.
func wantedCode(v version, extra int64, isRated bool) ledger.Code {
	switch {
	case v.state == events.StateFrozen:
		return ledger.CodeAccountFrozen
	case v.state == events.StateClosed:
		return ledger.CodeAccountClosed
	case extra > 0 && isRated:
		return ledger.CodeRateExceeded
	case extra > 0:
		return ledger.CodeInsufficientFunds
	}
	return ""
}
