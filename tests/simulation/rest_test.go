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
func (h *history) finish() {
	h.observe()
	d := h.plan.draw("damage", 0)
	damaged := h.meets(Thrown, d.chance(.25))
	if damaged {
		h.damaged = true
		for range 1 + d.IntN(4) {
			h.damage(d)
		}
		h.observe()
	}
	if h.forgotten > 0 || damaged {
		for _, account := range holders {
			h.rebuild(as("rebuild at rest"), h.born("rebuild at rest", 0), account, true)
		}
		h.observe()
	}
	h.askAgain()
	h.audit()
}

// listAll rebuilds the lists of transactions and the journal, as records were lost.
func (h *history) listAll() {
	v, quiet := views.NewViews(h.store.DynamoDB(), tableName), slog.New(slog.DiscardHandler)
	err := repair.New(repair.Config{
		Views: v, Lists: v, Journal: projections.NewLister(v, nil, nil, quiet), ListsOnly: true, Log: quiet,
	}).Run(as("rebuild of lists"))
	if err != nil {
		h.broken("rebuild of lists: %w", err)
	}
}

// audit asks the auditor, who shares no code with anybody here, whether all that is stored is right: nothing is under
// way, and every record was delivered or rebuilt from.
func (h *history) audit() {
	h.auditing = true
	defer func() { h.auditing = false }()
	if h.forgotten > 0 {
		h.listAll()
	}
	report, err := audit.New(audit.Options{
		Store: h.store.DynamoDB(), Table: tableName, Segments: 1, Findings: 3,
		Pause: func(context.Context, time.Duration) error { return nil },
	}).Run(context.Background())
	brokenOff := report.ByCode[audit.GuardBehind] // changes that no request finished
	if err != nil || report.Counts.Findings > brokenOff || report.Unsettled > 0 {
		h.broken("the audit finds %+v (%w)", report, err)
	}
}

// askAgain repeats what was asked for and is there, long after: it must be answered with that, whatever was answered
// before.
func (h *history) askAgain() {
	p := h.born(afterwards, 0)
	for _, a := range h.asks {
		switch ctx := as(afterwards + " " + a.name); {
		case a.leftOut:
		case a.kind == posts, a.kind == reverses:
			h.answered(a)
			if stored, there := h.model.headers[a.name]; there {
				answer, err := send(ctx, p.ledger, a.request)
				if err != nil || !answer.Replayed || !sameTransaction(answer.Transaction, stored) {
					h.broken("%s is there, and asked for again it is answered with %+v (%w)", a.name, answer, err)
				}
			}
		case a.kind == captures, a.kind == releases:
			if stored, there := h.model.outcomes[a.of.name]; there {
				h.endAgain(ctx, p, a, stored)
			}
		case a.kind == batches && a.atomic:
			h.inOneTransaction(a)
		}
		h.observe()
	}
}

// answered checks the answers to a request against what became of it.
func (h *history) answered(a *ask) {
	stored, there := h.model.headers[a.name]
	switch {
	case a.first != nil && (!there || !sameTransaction(*a.first, stored)):
		h.broken("%s was acknowledged, and is not there so", a.name)
	case there && a.final:
		h.broken("%s is there, and the last answer was that it never will be (%s)", a.name, a.declined)
	case a.first == nil && there && !a.unknown:
		h.broken("%s is there, and it was answered that nothing was written (%s)", a.name, a.declined)
	}
}

// endAgain asks again for an end of a hold that ended.
func (h *history) endAgain(ctx context.Context, p *process, a *ask, stored events.HoldEnded) {
	answer, err := sendEnd(ctx, p.ledger, a)
	e, _ := errors.AsType[*ledger.Error](err)
	switch {
	case err == nil && (!answer.Replayed || !slices.Equal(answer.End.Legs, stored.Legs)):
		h.broken("%s is asked for again, and answered with %+v, not %+v", a.name, answer, stored)
	case err != nil && a.ended:
		h.broken("%s was acknowledged, and asked for again it is answered with %w", a.name, err)
	case err != nil && (e.Code == ledger.CodeHoldEnded || e.Code == ledger.CodeHoldExpired):
		h.model.endRefused(a, e)
	case err != nil && e.Code != ledger.CodeTransactionNotFound:
		h.broken("%s is answered with %w at rest", a.name, err)
	}
}

// inOneTransaction checks that of an atomic batch all or nothing is there.
func (h *history) inOneTransaction(batch *ask) {
	var there, absent []string
	for _, a := range batch.members {
		if _, ok := h.model.headers[a.name]; ok {
			there = append(there, a.name)
		} else if !a.leftOut {
			absent = append(absent, a.name)
		}
	}
	if there != nil && absent != nil {
		h.broken("of the batch %s there is %v, and not %v", batch.name, there, absent)
	}
}

// sweepUp lets what is due be swept, while nothing goes wrong by itself any more.
func (h *history) sweepUp() {
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

// spendAll spends, at rest, everything that is there, and sees that not a unit more can be spent.
func (h *history) spendAll() {
	p := h.born(afterwards, 0)
	m := h.model
	keys := slices.SortedFunc(maps.Keys(m.there), func(a, b pair) int {
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
			_, err := p.ledger.Post(as(afterwards+" "+id), ledger.PostTransfer{
				Annotation: ledger.Annotation{ID: id, Actor: "somebody"}, From: k.Account, To: bank, Asset: k.Asset,
				Quantity: events.NewAmount(have + extra),
			})
			h.observe()
			code := ledger.Code("")
			if e, ok := errors.AsType[*ledger.Error](err); ok {
				code = e.Code
			}
			if wanted := restCode(now, extra); code != wanted {
				h.broken("at rest %v has %d, and spending %d is answered with %w", k, have, have+extra, err)
			}
		}
	}
}

// restCode is how a debit of so much more than there is must be answered at rest.
func restCode(v version, extra int64) ledger.Code {
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
