package simulation

import (
	"slices"

	"ledger.example/events"
	"ledger.example/ledger"
)

// changedTo takes in a change of an account, of which the event or its copy is visible first.
func (m *model) changedTo(e events.AccountChanged) {
	all := m.versions[e.ID]
	was := all[len(all)-1]
	if e.Number <= was.number {
		return
	}
	if e.Number != was.number+1 || was.state == events.StateClosed {
		m.broken("%s changes from %+v to %+v", e.ID, was, e)
	}
	now := version{number: e.Number, state: e.State, limits: map[string]int64{}}
	for asset, limit := range e.Overdraft.Limits {
		now.limits[asset] = int64Of(limit)
	}
	m.versions[e.ID] = append(all, now)
	m.count("accounts changed")
	if e.State == events.StateClosed {
		m.count("accounts closed")
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
		if m.quantities[k] < 0 || m.gross[k] > debits+int64(there.returned) ||
			c != nil && int64(c.acked[k].credits) > debits {
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
	m.broken("%s: refused (%w), and no account was %s", a.name, e, wanted)
}
