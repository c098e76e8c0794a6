package simulation

import (
	"slices"

	"ledger.example/events"
	"ledger.example/ledger"
)

// takeChange takes in a change of an account, of which the event or its copy is visible first.
func (m *model) takeChange(e events.AccountChanged) {
	all := m.versions[e.ID]
	was := all[len(all)-1]
	if e.Number <= was.number {
		return
	}
	if e.Number != was.number+1 || was.state == events.StateClosed {
		m.fail("%s changes from %+v to %+v", e.ID, was, e)
	}
	now := version{number: e.Number, state: e.State, limits: map[string]int64{}}
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

// checkEmpty checks that an account has nothing left when it is closed: no debt, nothing held, and nothing that was
// acknowledged before the call began.
func (m *model) checkEmpty(account string, c *call) {
	for k, there := range m.stored {
		if k.Account != account {
			continue
		}
		debits := int64(there.credits) - m.quantities[k]
		if m.quantities[k] < 0 || m.spentOrHeld[k] > debits+int64(there.returned) ||
			c != nil && int64(c.acked[k].credits) > debits {
			m.fail("%v is closed with %d, of which %d were spent or held", k, m.quantities[k], m.spentOrHeld[k])
		}
	}
}

// takeGuard takes in which version a guard was told.
func (m *model) takeGuard(k pair, number int64) {
	if number < m.guardVersions[k] {
		m.fail("the guard of %v knew version %d, and knows version %d", k, m.guardVersions[k], number)
	}
	m.guardVersions[k] = number
}

// acknowledgeChange notes that a change was acknowledged.
func (m *model) acknowledgeChange(op *operation, account ledger.Account) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.versions[account.ID]
	at := slices.IndexFunc(all, func(v version) bool { return v.number == account.Version })
	switch {
	case at < 0:
		m.fail("%s: version %d was acknowledged, and is not there", op.name, account.Version)
		return
	case all[at].state != account.State,
		op.change.State != nil && *op.change.State != account.State,
		op.change.Overdraft != nil && int64Of(op.change.Overdraft.Limits[usd]) != all[at].limits[usd]:
		m.fail("%s: %+v was asked for, and acknowledged is %+v", op.name, op.change, account)
	}
	m.stamp++
	for i := range all[:at+1] {
		if all[i].acked == 0 {
			all[i].acked = m.stamp
		}
	}
	for k, number := range m.guardVersions {
		if k.Account == account.ID && number > 0 && number < account.Version {
			m.fail("%s: version %d was acknowledged, and the guard of %v knows version %d", op.name, account.Version, k,
				number)
		}
	}
}

// checkInvalidChange checks a refusal to change an account.
func (m *model) checkInvalidChange(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if op.change.State != nil && *op.change.State == events.StateClosed {
		return // it was not empty, or somebody else closed it
	}
	if !slices.ContainsFunc(m.inForce(op.change.ID, c), func(v version) bool { return v.state == events.StateClosed }) {
		m.fail("%s: refused (%w), and the account is not closed", op.name, e)
	}
}

// checkStateRefusal checks a refusal for the state of an account: a version that was in force since the call began had it.
func (m *model) checkStateRefusal(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := events.StateFrozen
	m.count("told of a state")
	if e.Code == ledger.CodeAccountFrozen {
		m.count("told that an account is frozen")
	} else {
		wanted = events.StateClosed
	}
	for _, account := range []string{jane, joe} {
		if slices.ContainsFunc(m.inForce(account, c), func(v version) bool { return v.state == wanted }) {
			return
		}
	}
	m.fail("%s: refused (%w), and no account was %s", op.name, e, wanted)
}
