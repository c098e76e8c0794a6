package simulation

import (
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// acknowledge notes what strong reads must show from now on.
func (m *model) acknowledge(t events.TransactionPosted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.IsBackdated() {
		m.late(t)
		return
	}
	m.acknowledgePostings(t.Postings())
}

// acknowledgePostings notes postings that were acknowledged; each may be so several times.
func (m *model) acknowledgePostings(postings []events.PostingRecorded) {
	for _, p := range postings {
		k := pair{Account: p.Account, Asset: p.Asset}
		if m.ackedIDs[k] == nil {
			m.ackedIDs[k] = map[events.KSUID]legs{}
		}
		if _, before := m.ackedIDs[k][p.ID]; before {
			continue
		}
		if _, there := m.postings[k][p.ID]; !there && !m.damaged {
			m.broken("%s was acknowledged, and its posting %s to %v is not there", p.Transaction, p.ID, k)
		}
		m.acked[k] = m.plus(m.acked[k], legsOf(p))
		m.ackedIDs[k][p.ID] = legsOf(p)
		m.readable(k)
	}
}

// acknowledgements are what was acknowledged so far.
func (m *model) acknowledgements() map[pair]legs {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.acked)
}

// read checks a strong read, before which `must` had been acknowledged.
func (m *model) read(b projections.Balance, must map[pair]legs) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := fold{through: b.Head.Through, count: int(b.Head.Count), expenditure: int64Of(b.Head.Expenditure)}
	f.sum(int64Of(b.Head.Credits), int64Of(b.Head.Debits), int64Of(b.Head.PendingDebits), int64Of(b.Head.Returned))
	m.right(b.Pair, "a strong read", f)
	if missing := m.without(must[b.Pair], f.legs); missing != (legs{}) {
		m.broken("a strong read of %v misses acknowledged transactions: credits %b, debits %b", b.Pair,
			missing.credits, missing.debits)
	}
}

// counted checks that records that were done with are counted.
func (m *model) counted(done []record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range done {
		account, asset, id, ok := table.ParsePosting(r.key)
		if !ok || m.damaged || !m.areSets() {
			continue
		}
		k := pair{Account: account, Asset: asset}
		leg := sumOf(m.postings[k][events.KSUID(id)].Quantity)
		if m.without(leg, m.balances[k].head.legs) != (legs{}) {
			m.broken("record %v was done with, but its posting is not counted", r.key)
		}
	}
}

// readable checks that a strong read of k, were it to begin now, would find everything acknowledged: it begins at the
// seal.
func (m *model) readable(k pair) {
	seal := m.balances[k].seal
	var must legs
	n := 0
	for id, leg := range m.ackedIDs[k] {
		if id <= seal.through {
			must = m.plus(must, leg)
			n++
		}
	}
	if missing := m.without(must, seal.legs); missing != (legs{}) || n > seal.count {
		m.broken("a strong read of %v would miss what was acknowledged: %+v, %d of %d", k, missing, n, seal.count)
	}
}

// refused checks a refusal for insufficient funds: what was acknowledged before the call began does not cover it by one
// of the limits in force since.
func (m *model) refused(a *ask, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Funds == nil {
		m.broken("%s: refused without figures", a.name)
		return
	}
	k := pair{Account: e.Funds.Account, Asset: e.Funds.Asset}
	since := m.inForce(k.Account, c)
	if len(since) == 0 {
		m.broken("%s: refused for %v, which has no limit", a.name, k)
		return
	}
	if debits, credits := a.gross(k); debits > 0 && int64Of(e.Funds.Requested) != debits-credits {
		m.broken("%s: %v was asked of %v, not %d", a.name, e.Funds.Requested, k, debits-credits)
	}
	requested := m.spent[k] - a.netBefore(m, k) + int64Of(e.Funds.Requested)
	had := int64(c.acked[k].credits + c.acked[k].returned)
	if !slices.ContainsFunc(since, func(v version) bool {
		return v.state != events.StateOpen || requested > had+v.limits[k.Asset]
	}) {
		m.broken("%s: refused although %v had got %d before, and %d are spent", a.name, k, had, m.spent[k])
	}
}

// late notes that a backdated transaction was acknowledged: reads include it once it is projected.
func (m *model) late(t events.TransactionPosted) {
	for _, p := range t.Postings() {
		k := pair{Account: p.Account, Asset: p.Asset}
		if m.unseen[k] == nil {
			m.unseen[k] = map[events.KSUID]events.PostingRecorded{}
		}
		if _, there := m.postings[k][p.ID]; !there && !m.damaged {
			m.broken("%s was acknowledged, and its posting %s to %v is not there", p.Transaction, p.ID, k)
		}
		m.unseen[k][p.ID] = p
	}
}

// seen notes what is shown of backdated transactions, while no transaction is becoming visible: strong reads must show
// it from now on. Sums of any amounts don't tell which postings are in them.
func (m *model) seen() {
	if !m.areSets() {
		return
	}
	for k, ofPair := range m.unseen {
		for id, p := range ofPair {
			if m.without(legsOf(p), m.balances[k].head.legs) == (legs{}) {
				delete(ofPair, id)
				m.acknowledgePostings([]events.PostingRecorded{p})
				m.count("backdated shown")
			}
		}
	}
}
