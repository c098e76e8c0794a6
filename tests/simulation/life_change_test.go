package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// patch asks to change an account.
func (m *lifeMaker) patch(account string, state events.AccountState, limit int64, begin time.Duration) *ask {
	a := m.add(&ask{kind: changes, begin: begin})
	a.change = ledger.ChangeAccount{ID: account, Actor: a.name}
	if state != "" {
		a.change.State = &state
	}
	if limit >= 0 {
		o := events.Overdraft{Limits: map[string]events.Amount{
			usd: events.NewAmount(limit), aapl: events.NewAmount(limit),
		}}
		a.change.Overdraft = &o
	}
	return a
}

const sameLimit = -1

// changed asks for any change but closing.
func (m *lifeMaker) changed(account string, begin time.Duration) {
	switch m.IntN(5) {
	case 0, 1:
		m.patch(account, events.StateFrozen, sameLimit, begin)
	case 2:
		m.patch(account, events.StateOpen, pick(m.dice, int64(sameLimit), 500), begin)
	default:
		m.patch(account, "", pick(m.dice, int64(0), 20, 50, 100), begin)
	}
}

func (m *lifeMaker) close(account string, begin time.Duration) {
	m.patch(account, events.StateClosed, sameLimit, begin)
}

func (m *lifeMaker) changing() {
	m.transfer(bank, jane, usd, events.NewAmount(pick(m.dice, int64(60), 2000)), 0)
	for range 6 + m.IntN(14) {
		a := m.transfer(jane, bank, pick(m.dice, usd, usd, usd, aapl), m.amount(1, 60), m.seconds(30))
		if m.chance(.15) {
			a.held(200 * time.Second)
		}
	}
	for range 2 + m.IntN(6) {
		m.changed(jane, m.seconds(30))
	}
}

func (m *lifeMaker) raising() {
	m.transfer(bank, jane, usd, events.NewAmount(10), 0)
	for range 3 + m.IntN(6) {
		m.transfer(jane, bank, usd, m.amount(5, 40), 3*time.Second+m.seconds(12))
	}
	for j := range 1 + m.IntN(2) {
		m.patch(jane, "", int64(60+60*j), 5*time.Second+m.seconds(6))
	}
}

// closing: nothing is there but what may be owed.
func (m *lifeMaker) closing() {
	at := m.seconds(10)
	if m.chance(.7) {
		m.patch(jane, "", 50, 0)
	}
	if m.chance(.4) { // it comes and goes
		quantity := m.amount(1, 40)
		m.transfer(bank, jane, usd, quantity, at)
		m.transfer(jane, bank, usd, quantity, at+m.seconds(4))
	}
	for range 1 + m.IntN(4) {
		a := m.transfer(jane, pick(m.dice, joe, bank), pick(m.dice, usd, aapl), m.amount(1, 50), at+m.seconds(pick(m.dice, 2., 8)))
		if m.chance(.4) {
			a.held(200 * time.Second)
		}
	}
	for range 1 + m.IntN(2) {
		m.close(jane, at+m.seconds(pick(m.dice, 2., 6)))
	}
	if m.chance(.3) {
		m.changed(jane, at+m.seconds(8))
	}
}

// change makes one call to change an account, and checks its answer against the model.
func (h *history) change(ctx context.Context, d dice, a *ask) (final bool) {
	ctx, c := h.model.begin(ctx)
	account, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) (ledger.Account, error) {
		return on.ledger.ChangeAccount(ctx, a.change)
	})
	h.observe()
	if died {
		h.count(&h.stats.Unanswered)
		return false
	}
	if err == nil {
		h.count(&h.stats.Life.Told)
		h.model.acknowledgeChange(a, account)
		return true
	}
	var e *ledger.Error
	if !errors.As(err, &e) {
		h.broken("%s: answered with %T: %w", a.name, err, err)
		return true
	}
	switch e.Code {
	case ledger.CodeOutcomeUnknown, ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable:
		h.count(&h.stats.Unanswered)
		return false
	case ledger.CodeInvalidChange: // a closed account, or one that is not empty
		h.model.unchanged(a, e, c)
		return true
	}
	h.broken("%s: answered with %w", a.name, err)
	return true
}

// changedTo takes in a change of an account, of which the event or its copy is visible first.
func (m *model) changedTo(e events.AccountChanged) {
	all := m.versions[e.ID]
	was := all[len(all)-1]
	if m.changesSeen[e.ID][e.Number] {
		return
	}
	if m.changesSeen[e.ID] == nil {
		m.changesSeen[e.ID] = map[int64]bool{}
	}
	m.changesSeen[e.ID][e.Number] = true
	if e.Number != was.number+1 || was.state == events.StateClosed {
		m.broken("%s changes from %+v to %+v", e.ID, was, e)
	}
	now := version{number: e.Number, state: e.State, limits: map[string]int64{}}
	for asset, limit := range e.Overdraft.Limits {
		now.limits[asset] = int64Of(limit)
	}
	m.versions[e.ID] = append(all, now)
	m.stats.Life.Changed++
	if e.State == events.StateClosed {
		m.stats.Life.ShutDown++
		m.emptied(e.ID, m.changing[e.ID][e.Number])
	}
}

// emptied checks that an account has nothing left when it is closed: no debt, nothing held, and nothing that was
// acknowledged before the call began.
func (m *model) emptied(account string, c *call) {
	for k, there := range m.there {
		if k.Account != account {
			continue
		}
		debits := int64(there.credits) - m.quantities[k]
		if m.quantities[k] < 0 || m.gross[k] > debits+int64(there.returned) || c != nil && int64(c.acked[k].credits) > debits {
			m.broken("%v is closed with %d, of which %d were spent or held", k, m.quantities[k], m.gross[k])
		}
	}
}

// guard takes in which version a guard was told.
func (m *model) guard(k pair, number int64) {
	if number < m.guards[k] {
		m.broken("the guard of %v knew version %d, and knows version %d", k, m.guards[k], number)
	}
	m.guards[k] = number
}

// acknowledgeChange notes that a change was acknowledged.
func (m *model) acknowledgeChange(a *ask, account ledger.Account) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.versions[account.ID]
	at := slices.IndexFunc(all, func(v version) bool { return v.number == account.Version })
	switch {
	case at < 0:
		m.broken("%s: version %d was acknowledged, and is not there", a.name, account.Version)
		return
	case all[at].state != account.State,
		a.change.State != nil && *a.change.State != account.State,
		a.change.Overdraft != nil && int64Of(a.change.Overdraft.Limits[usd]) != all[at].limits[usd]:
		m.broken("%s: %+v was asked for, and acknowledged is %+v", a.name, a.change, account)
	}
	m.stamp++
	for i := range all[:at+1] {
		if all[i].acked == 0 {
			all[i].acked = m.stamp
		}
	}
	for k, number := range m.guards {
		if k.Account == account.ID && number > 0 && number < account.Version {
			m.broken("%s: version %d was acknowledged, and the guard of %v knows version %d", a.name, account.Version, k,
				number)
		}
	}
}

// unchanged checks a refusal to change an account.
func (m *model) unchanged(a *ask, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.change.State != nil && *a.change.State == events.StateClosed {
		return // it was not empty, or somebody else closed it
	}
	if !slices.ContainsFunc(m.inForce(a.change.ID, c), func(v version) bool { return v.state == events.StateClosed }) {
		m.broken("%s: refused (%w), and the account is not closed", a.name, e)
	}
}

// barred checks a refusal for the state of an account: a version that was in force since the call began had it.
func (m *model) barred(a *ask, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := events.StateFrozen
	m.stats.Life.Barred++
	if e.Code == ledger.CodeAccountFrozen {
		m.stats.Life.Frozen++
	} else {
		wanted = events.StateClosed
	}
	for _, account := range []string{jane, joe} {
		if slices.ContainsFunc(m.inForce(account, c), func(v version) bool { return v.state == wanted }) {
			return
		}
	}
	m.broken("%s: refused (%w), and no account was %s", a.name, e, wanted)
}
