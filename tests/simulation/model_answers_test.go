package simulation

import (
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// acknowledge notes that a transaction was acknowledged. Strong reads must show it from now on, unless it is backdated.
// A reversal must be among those of the transaction that it reverses.
func (m *model) acknowledge(t events.TransactionPosted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.Reverses != "" && !slices.ContainsFunc(m.reversals[t.Reverses], func(r events.TransactionReversed) bool {
		return r.By == t.ID
	}) {
		m.fail("%s was acknowledged, but is not among the reversals of %s", t.ID, t.Reverses)
	}
	if t.IsBackdated() {
		m.acknowledgeBackdated(t)
		return
	}
	m.acknowledgePostings(t.Postings())
}

// acknowledgePostings notes that postings were acknowledged. A posting can be acknowledged several times.
func (m *model) acknowledgePostings(postings []events.PostingRecorded) {
	for _, p := range postings {
		k := pair{Account: p.Account, Asset: p.Asset}
		if m.ackedPostings[k] == nil {
			m.ackedPostings[k] = map[events.KSUID]sums{}
		}
		if _, before := m.ackedPostings[k][p.ID]; before {
			continue
		}
		if _, exists := m.postings[k][p.ID]; !exists && !m.damaged {
			m.fail("%s was acknowledged, but its posting %s to %v is not stored", p.Transaction, p.ID, k)
		}
		m.ackedSums[k] = m.plus(m.ackedSums[k], sumsOf(p))
		m.ackedPostings[k][p.ID] = sumsOf(p)
		m.checkReadable(k)
	}
}

// ackedSoFar returns the sums of all acknowledged postings.
func (m *model) ackedSoFar() map[pair]sums {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.ackedSums)
}

// checkRead checks an answer to a read. must has the sums that were acknowledged before the read began.
func (m *model) checkRead(b projections.Balance, must map[pair]sums) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := fold{through: b.Head.Through, count: int(b.Head.Count), expenditure: int64Of(b.Head.Expenditure)}
	f.setSums(int64Of(b.Head.Credits), int64Of(b.Head.Debits), int64Of(b.Head.PendingDebits), int64Of(b.Head.Returned))
	m.checkFold(b.Pair, "a strong read", f)
	if missing := m.minus(must[b.Pair], f.sums); missing != (sums{}) {
		m.fail("a strong read of %v misses acknowledged transactions: credits %b, debits %b", b.Pair,
			missing.credits, missing.debits)
	}
}

// checkCounted checks that the postings of records which the projector has finished are counted in their balances.
func (m *model) checkCounted(done []record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range done {
		account, asset, id, ok := store.Posting.Parse(r.key)
		if !ok || m.damaged || !m.sumsAreSets() {
			continue
		}
		k := pair{Account: account, Asset: asset}
		leg := sumsOfQuantity(m.postings[k][events.KSUID(id)].Quantity)
		if m.minus(leg, m.balances[k].head.sums) != (sums{}) {
			m.fail("record %v was finished, but its posting is not counted", r.key)
		}
	}
}

// checkReadable checks that a strong read of k that began now would include everything acknowledged, and the backdated
// postings that were shown. Such a read adds the postings after the seal to the seal, without the backdated ones. So the
// seal must count every acknowledged posting up to its KSUID, and all those backdated ones.
func (m *model) checkReadable(k pair) {
	seal := m.balances[k].seal
	var must sums
	n := 0
	for id, leg := range m.ackedPostings[k] {
		if id <= seal.through || m.postings[k][id].Backdated {
			must = m.plus(must, leg)
			n++
		}
	}
	if missing := m.minus(must, seal.sums); missing != (sums{}) || n > seal.count {
		m.fail("a strong read of %v would miss acknowledged postings: %+v, %d of %d", k, missing, n, seal.count)
	}
}

// checkInsufficientFunds checks a refusal for insufficient funds. It is right if the funds that were acknowledged
// before the call began do not cover the debit by one of the limits in force since then.
func (m *model) checkInsufficientFunds(op *operation, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Funds == nil {
		m.fail("%s: refused without figures", op.name)
		return
	}
	k := pair{Account: e.Account, Asset: e.Funds.Asset}
	since := m.inForce(k.Account, c)
	if len(since) == 0 {
		m.fail("%s: refused for %v, which has no limit", op.name, k)
		return
	}
	if debits, credits := op.effect(k); debits > 0 && int64Of(e.Funds.Requested) != debits-credits {
		m.fail("%s: %v was asked of %v, not %d", op.name, e.Funds.Requested, k, debits-credits)
	}
	requested := m.spent[k] - op.effectBefore(m, k) + int64Of(e.Funds.Requested)
	had := int64(c.acked[k].credits + c.acked[k].returned)
	if !slices.ContainsFunc(since, func(v version) bool {
		return v.state != events.StateOpen || requested > had+v.limits[k.Asset]
	}) {
		m.fail("%s: refused although %v had received %d before, and only %d are spent", op.name, k, had, m.spent[k])
	}
}
