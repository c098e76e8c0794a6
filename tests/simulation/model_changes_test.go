package simulation

import (
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/ledger"
)

// takeChange adds a version of an account. It is called for the event and for the copy in the account's current state,
// in any order.
func (m *model) takeChange(e events.AccountChanged) {
	all := m.versions[e.ID]
	was := all[len(all)-1]
	if e.Number <= was.number {
		return
	}
	if e.Number != was.number+1 || was.state == events.StateClosed {
		m.fail("%s changes from %+v to %+v", e.ID, was, e)
	}
	now := version{number: e.Number, state: e.State, limits: map[string]int64{}, tier: e.Metadata[tier],
		rates: ratesByName(e.Rates)}
	for asset, limit := range e.Overdraft.Limits {
		now.limits[asset] = int64Of(limit)
	}
	m.versions[e.ID] = append(all, now)
	m.count("accounts changed")
	if e.State == events.StateClosed {
		m.count("accounts closed")
		m.checkEmpty(e.ID, m.changeCalls[e.ID][e.Number])
	}
}

// checkEmpty checks an account that was closed: it has no debt, nothing is held, and everything that was acknowledged
// before the call began was spent, whether it was projected or not.
func (m *model) checkEmpty(account string, c *call) {
	for k, stored := range m.stored {
		if k.Account != account {
			continue
		}
		debits := int64(stored.credits) - m.quantities[k]
		if m.quantities[k] < 0 || m.spentOrHeld[k] > debits+int64(stored.returned) ||
			c != nil && int64(c.acked[k].credits+c.backdated[k].credits) > debits {
			m.fail("%v is closed with a quantity of %d; %d were ever spent or held", k, m.quantities[k],
				m.spentOrHeld[k])
		}
	}
}

// takeGuard notes which version of the account a guard has.
func (m *model) takeGuard(k pair, number int64) {
	if number < m.guardVersions[k] {
		m.fail("the guard of %v went from version %d to version %d", k, m.guardVersions[k], number)
	}
	m.guardVersions[k] = number
}

// acknowledgeChange checks and notes that a change was acknowledged. Every guard must have the version by then.
func (m *model) acknowledgeChange(op *operation, account ledger.Account) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.versions[account.ID]
	at := slices.IndexFunc(all, func(v version) bool { return v.number == account.Version })
	switch {
	case at < 0:
		m.fail("%s: version %d was acknowledged, but is not stored", op.name, account.Version)
		return
	case all[at].state != account.State,
		op.change.State != nil && *op.change.State != account.State,
		op.change.Metadata != nil && (*op.change.Metadata)[tier] != all[at].tier,
		op.change.Rates != nil && !maps.Equal(ratesByName(account.Rates), ratesByName(*op.change.Rates)),
		!maps.Equal(ratesByName(account.Rates), all[at].rates),
		op.change.Overdraft != nil && int64Of(op.change.Overdraft.Limits[usd]) != all[at].limits[usd]:
		m.fail("%s: %+v was requested, but %+v was acknowledged", op.name, op.change, account)
	}
	m.stamp++
	for i := range all[:at+1] {
		if all[i].acked == 0 {
			all[i].acked = m.stamp
		}
	}
	for k, number := range m.guardVersions {
		if k.Account == account.ID && number > 0 && number < account.Version {
			m.fail("%s: version %d was acknowledged, but the guard of %v has version %d", op.name, account.Version, k,
				number)
		}
	}
}

// checkInvalidChange checks the refusal to change an account. It must be closed, or not empty and to be closed.
func (m *model) checkInvalidChange(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if op.change.State != nil && *op.change.State == events.StateClosed {
		return // not checked: it was not empty, or another call closed it
	}
	if !slices.ContainsFunc(m.inForce(op.change.ID, c), func(v version) bool { return v.state == events.StateClosed }) {
		m.fail("%s: refused (%w), but the account is not closed", op.name, e)
	}
}

// checkStateRefusal checks a refusal because an account is frozen or closed. A version in force since the call began
// must have that state.
func (m *model) checkStateRefusal(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := events.StateFrozen
	if e.Code == ledger.CodeAccountFrozen {
		m.count("account_frozen answers")
	} else {
		wanted = events.StateClosed
	}
	if op.takesCostAlone() {
		m.count("costs alone refused")
	}
	for _, account := range []string{jane, joe} {
		if slices.ContainsFunc(m.inForce(account, c), func(v version) bool { return v.state == wanted }) {
			return
		}
	}
	m.fail("%s: refused (%w), but no account was %s", op.name, e, wanted)
}
