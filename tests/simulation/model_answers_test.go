package simulation

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// attempt is one transactional write of a call, with the headers and the ends of holds in it, in their order.
type attempt struct {
	fits func() // checks how much it moves as much as fits of, when it is applied; nil for none
	*call
	events []events.Event
	sentAt time.Time
	logged [2]int // its part of windows.log
}

// call is one call of a command.
type call struct {
	began     int           // stamp
	acked     map[pair]sums // what had been acknowledged before
	backdated map[pair]sums // what had been acknowledged before, but may not be projected yet
	answered  time.Time     // when its answer came
	sent      time.Time
	closings  int // the number of closings of the books that were stored before
}

// callKey is the context key for the *call that a request belongs to.
type callKey struct{}

// beginCall notes that a call begins. The call must use the returned context.
func (m *model) beginCall(ctx context.Context) (context.Context, *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamp++
	c := &call{began: m.stamp, acked: maps.Clone(m.ackedSums), backdated: map[pair]sums{},
		sent: time.Now(), closings: len(m.closings)}
	for k, ofPair := range m.hiddenBackdated {
		for _, p := range ofPair {
			c.backdated[k] = m.plus(c.backdated[k], sumsOf(p))
		}
	}
	return context.WithValue(ctx, callKey{}, c), c
}

// noteAttempt notes which call sends a write.
func (m *model) noteAttempt(ctx context.Context, parameters any) {
	c, _ := ctx.Value(callKey{}).(*call)
	m.mu.Lock()
	defer m.mu.Unlock()
	if put, isPut := parameters.(*dynamodb.PutItemInput); isPut {
		if e, err := table.Only[events.PeriodClosed](table.DecodeEvent(put.Item)); err == nil {
			m.closers[e] = c
		}
	}
	in, writes := parameters.(*dynamodb.TransactWriteItemsInput)
	if !writes {
		return
	}
	a := &attempt{call: c, sentAt: time.Now()}
	for _, action := range in.TransactItems {
		if action.Put == nil {
			continue
		}
		key := table.ItemKey(action.Put.Item)
		if _, _, id, posting := table.Posting.Parse(key); posting {
			m.attempts[events.KSUID(id)] = a
		}
		_, header := table.Transaction.Parse(key)
		if _, end := table.Outcome.Parse(key); header || end {
			if e, err := table.DecodeEvent(action.Put.Item); err == nil {
				a.events = append(a.events, e)
				if t, isHeader := e.(events.TransactionPosted); isHeader {
					m.checkPeriod(t, c)
					m.checkFit(t, in, a)
				}
			}
		}
		if account, number, change := table.Change.Parse(key); change {
			inner(m.changeCalls, account)[number] = c
		}
	}
}

// inForce returns the versions of an account that a call may have read: the newest that was acknowledged before it
// began, and all later ones. Without a call, it returns all.
func (m *model) inForce(account string, c *call) []version {
	all := m.versions[account]
	for i := len(all) - 1; i > 0 && c != nil; i-- {
		if all[i].acked > 0 && all[i].acked <= c.began {
			return all[i:]
		}
	}
	return all
}

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
		if _, before := m.ackedPostings[k][p.ID]; before {
			continue
		}
		if _, exists := m.postings[k][p.ID]; !exists && !m.damaged {
			m.fail("%s was acknowledged, but its posting %s to %v is not stored", p.Transaction, p.ID, k)
		}
		m.ackedSums[k] = m.plus(m.ackedSums[k], sumsOf(p))
		inner(m.ackedPostings, k)[p.ID] = sumsOf(p)
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
		account, asset, id, ok := table.Posting.Parse(r.key)
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
	if sources := op.sources(k.Asset); len(sources) > 1 {
		m.checkTogether(op, sources, e, c)
		return
	}
	since := m.inForce(k.Account, c)
	if len(since) == 0 {
		m.fail("%s: refused for %v, which has no limit", op.name, k)
		return
	}
	debits, credits := op.effect(k)
	asked, wanted := int64Of(e.Funds.Requested), debits-credits
	// A reversal without a part takes back what earlier ones left.
	isRest := op.kind == kindReverse && reflect.ValueOf(op.part).IsZero()
	if debits > 0 && asked != wanted && !(isRest && 0 < asked && asked < wanted) {
		m.fail("%s: %d was asked of %v, not %d", op.name, asked, k, wanted)
	}
	requested := m.spent[k] - op.effectBefore(m, k) + int64Of(e.Funds.Requested)
	had := int64(c.acked[k].credits + c.acked[k].returned)
	if !slices.ContainsFunc(since, func(v version) bool {
		return v.state != events.StateOpen || requested > had+op.limit(v, k.Asset)
	}) {
		m.fail("%s: refused although %v had received %d before, and only %d are spent", op.name, k, had, m.spent[k])
	}
}

// acknowledgeBackdated notes that a backdated transaction was acknowledged. Reads include it once it is projected.
func (m *model) acknowledgeBackdated(t events.TransactionPosted) {
	for _, p := range t.Postings() {
		k := pair{Account: p.Account, Asset: p.Asset}
		if _, exists := m.postings[k][p.ID]; !exists && !m.damaged {
			m.fail("%s was acknowledged, but its posting %s to %v is not stored", p.Transaction, p.ID, k)
		}
		inner(m.hiddenBackdated, k)[p.ID] = p
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
	return !p.Backdated && time.Since(p.ID.Time()) > table.SettleWindow-time.Second
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
