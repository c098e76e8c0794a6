package simulation

import (
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// acknowledgeBackdated notes that a backdated transaction was acknowledged. Reads include it once it is projected.
func (m *model) acknowledgeBackdated(t events.TransactionPosted) {
	for _, p := range t.Postings() {
		k := pair{Account: p.Account, Asset: p.Asset}
		if m.hiddenBackdated[k] == nil {
			m.hiddenBackdated[k] = map[events.KSUID]events.PostingRecorded{}
		}
		if _, exists := m.postings[k][p.ID]; !exists && !m.damaged {
			m.fail("%s was acknowledged, but its posting %s to %v is not stored", p.Transaction, p.ID, k)
		}
		m.hiddenBackdated[k][p.ID] = p
	}
}

// noteShown notes which backdated postings a balance counts by now. Strong reads must show them from then on. Without
// sets (see sums) it is not known which postings a sum counts.
func (m *model) noteShown() {
	if !m.sumsAreSets() {
		return
	}
	for k, ofPair := range m.hiddenBackdated {
		for id, p := range ofPair {
			if m.minus(sumsOf(p), m.balances[k].head.sums) == (sums{}) {
				delete(ofPair, id)
				m.acknowledgePostings([]events.PostingRecorded{p})
				m.count("backdated shown")
			}
		}
	}
}

// checkBackdated checks that a read counts no backdated posting before it is projected. The seal counts those that are.
func (m *model) checkBackdated(k pair, read sums) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.damaged || !m.sumsAreSets() {
		return
	}
	for id, p := range m.postings[k] {
		of := sumsOf(p)
		if p.Backdated && m.minus(of, read) == (sums{}) && m.minus(of, m.balances[k].seal.sums) != (sums{}) {
			m.fail("a read of %v counts the backdated posting %s, which is not projected", k, id)
		}
	}
}

// unprojected returns the credits of k that are backdated and not projected. Without sets, it returns 0. It does so after
// damage too: the model does not follow the repair of a projection.
func (m *model) unprojected(k pair) (credits int64) {
	if m.damaged || !m.sumsAreSets() {
		return 0
	}
	for _, p := range m.postings[k] {
		of := sumsOf(p)
		if p.Backdated && m.minus(of, m.balances[k].seal.sums) != (sums{}) {
			credits += int64(of.credits)
		}
	}
	return credits
}

// checkLimits checks that no strong read that began now would show a balance below its limit. It lets pass what lacks a
// credit that was committed long after its KSUID was created, below the seal, and is not projected.
func (m *model) checkLimits() {
	if !m.sumsAreSets() {
		return
	}
	for k, b := range m.balances {
		floor := m.floor(k)
		if floor == nil {
			continue
		}
		quantity := b.seal.quantity
		for id, p := range m.postings[k] {
			isRead := id > b.seal.through && !p.Backdated
			if isRead || m.late[id] && m.minus(sums{credits: sumsOf(p).credits}, b.seal.sums) != (sums{}) {
				quantity += int64Of(p.Quantity)
			}
		}
		if quantity < int64Of(*floor) {
			m.fail("a strong read of %v would show %d, below the limit", k, quantity)
		}
	}
}

// fundsSoFar returns the funds of k that every later read of funds must contain: what was acknowledged, and what was
// read before. Without sets, it returns nothing.
func (m *model) fundsSoFar(k pair) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ackedSums[k].credits | m.fundsRead[k]
}

// checkFunds checks funds that were read.
func (m *model) checkFunds(k pair, funds, must uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.damaged || !m.sumsAreSets() {
		return
	}
	if missing := must &^ funds; missing != 0 {
		m.fail("the funds of %v went back: they lack %b", k, missing)
	}
	for id, p := range m.postings[k] {
		// A credit that was committed long after its KSUID was created may disappear until it is projected, unless it
		// was acknowledged.
		if credits := sumsOf(p).credits; funds&credits != 0 && !m.late[id] {
			m.fundsRead[k] |= credits
		}
	}
}

// isLate reports whether a posting that was just committed may be settled already.
func isLate(p events.PostingRecorded) bool {
	return !p.Backdated && time.Since(p.ID.Time()) > store.SettleWindow-time.Second
}

// isBeforeTarget reports whether an operation is a reversal with an effective date before the time of what it reverses.
func (m *model) isBeforeTarget(op *operation) bool {
	if op.kind != kindReverse || op.effective.IsZero() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	legs := m.legsPosted(op.target.name)
	return len(legs) > 0 && op.effective.Before(legs[0].ID.Time())
}
