package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// LifeStats are what histories of a Mode met.
type LifeStats struct {
	Held, Captured, Released, Expired, Swept, Reversed int
	TooLate, EndedBefore, Exceeded                     int // refusals
	Changed, Told, Frozen, Barred, ShutDown            int // of accounts that change; Told: acknowledged
	Atomic, Each                                       int // batches that were answered, and requests in batches
}

// livesAtRest checks, at rest, folds with all that is pending, and lists of holds.
func (m *model) livesAtRest() {
	if m.plan.Mode == "" {
		return
	}
	for k := range m.there {
		b := m.balances[k]
		for what, f := range map[string]fold{"head": b.head, "seal": b.seal, "base": b.base} {
			if want := m.foldOf(k, "", f.through); f != want {
				m.broken("at rest the %s of %v is %+v, not %+v", what, k, f, want)
			}
		}
		if got := b.head.pendingDebits; got != m.pending[k] {
			m.broken("at rest %v shows %d pending, not %d", k, got, m.pending[k])
		}
	}
	for id, t := range m.headers {
		if !t.IsHold() {
			continue
		}
		status, open := "held", true
		if e, ended := m.outcomes[id]; ended {
			status, open = string(e.Outcome), false
		}
		placed := string(t.Legs[0].ID)
		for _, leg := range t.Legs {
			item, _ := m.store.Item(table.HoldKey(leg.Account, placed))
			if got := text(item, table.AttrSK2); got != table.HoldSK2(status, placed) {
				m.broken("at rest %s is %s, and %s lists it as %q", id, status, leg.Account, got)
			}
		}
		item, _ := m.store.Item(table.OpenHoldKey(events.FormatTime(t.ExpiresAt), id))
		if _, listed := item[table.AttrPK2]; listed != open {
			m.broken("at rest %s is %s, and it is listed as open: %v", id, status, listed)
		}
	}
}

// foldOf is what the postings of k after one KSUID, through another, add up to.
func (m *model) foldOf(k pair, after, through events.KSUID) fold {
	sum := fold{}
	for id, p := range m.postings[k] {
		if id <= after || id > through {
			continue
		}
		one := fold{legs: legsOf(p), count: 1, expenditure: int64Of(p.Cost), quantity: int64Of(p.Quantity)}
		if pending := int64Of(p.Pending); (pending < 0) != p.Phase.Ends() {
			one.pendingDebits = -pending
		} else {
			one.pendingCredits = pending
		}
		sum = m.folded(sum, one)
	}
	sum.through = through
	return sum
}

// endAgain asks again for each end that is there: it must be answered with that.
func (h *history) endAgain() {
	p := h.born(afterwards, 0)
	for _, a := range h.life {
		if a.kind != captures && a.kind != releases || a.posting.id == "" {
			continue
		}
		stored, there := h.model.outcomes[a.of.name]
		if !there {
			continue // it would be ended now
		}
		answer, err := endOn(as(afterwards+" "+a.name), p.ledger, a)
		h.observe()
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
}

// spendAll spends, at rest, everything that is there, and sees that not a unit more can be spent.
func (h *history) spendAll() {
	if h.plan.Mode == "" {
		return
	}
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
