package simulation

import (
	"maps"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// lifecycle is the part of the model for holds, reversals and accounts that change.
type lifecycle struct {
	// stamp is a logical clock. It ticks when a call begins and when something is acknowledged for the first time.
	stamp     int
	ackStamps map[string]int // when a transaction, or the end of a hold, was first acknowledged

	attempts    map[events.KSUID]*attempt // the write that a posting was in, by the posting's KSUID
	decided     map[events.KSUID]bool     // transactions that are counted in spentOrHeld and funds, by their first leg
	spentOrHeld map[pair]int64            // debits of all transactions and holds
	funds       map[pair]int64            // credits, and what ended holds gave back
	funded      map[events.KSUID]bool     // postings that are counted in funds
	quantities  map[pair]int64            // sums of posted quantities
	pending     map[pair]int64            // pending debits

	outcomes        map[string]events.HoldEnded // by transaction, likewise the next two
	reportedExpired map[string]bool             // a caller got the answer hold_expired
	reversals       map[string][]events.TransactionReversed

	versions      map[string][]version       // of accounts with a limit, by number
	windows       windows                    // of limits over time
	guardVersions map[pair]int64             // the version of the account that each guard has
	changeCalls   map[string]map[int64]*call // the call that sent a change, by account and number
}

// version is the state of an account after one change.
type version struct {
	number int64
	state  events.AccountState
	limits map[string]int64
	rates  map[string]int64 // over time, all in USD, by name
	tier   string           // its metadata; "": none
	acked  int              // stamp of the first acknowledgement; 0: none
}

func newLifecycle() lifecycle {
	return lifecycle{
		attempts: map[events.KSUID]*attempt{}, decided: map[events.KSUID]bool{},
		guardVersions: map[pair]int64{}, changeCalls: map[string]map[int64]*call{},
		outcomes:  map[string]events.HoldEnded{},
		reversals: map[string][]events.TransactionReversed{}, versions: map[string][]version{},
		spentOrHeld: map[pair]int64{}, funds: map[pair]int64{}, funded: map[events.KSUID]bool{},
		quantities: map[pair]int64{}, pending: map[pair]int64{}, reportedExpired: map[string]bool{},
		ackStamps: map[string]int{}, windows: newWindows(),
	}
}

// noteOpened adds the first version of each account with a limit.
func (m *model) noteOpened() {
	m.versions[jane] = []version{{number: 1, state: events.StateOpen, rates: ratesByName(m.ratesOf(jane))}}
	m.versions[joe] = []version{{number: 1, state: events.StateOpen, tier: tiers[0],
		limits: map[string]int64{usd: m.knobs.overdraft}, rates: ratesByName(m.ratesOf(joe))}}
}

// stampAck notes when something was first acknowledged.
func (m *model) stampAck(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, before := m.ackStamps[what]; !before {
		m.stamp++
		m.ackStamps[what] = m.stamp
	}
}

// sumsOf returns what a posting adds to the sums of its pair.
func sumsOf(p events.PostingRecorded) sums {
	switch {
	case p.Phase == "":
		return sumsOfQuantity(p.Quantity)
	case p.Phase == events.PhasePlaced:
		return sums{debits: sumsOfQuantity(p.Pending).debits}
	case p.Pending.Sign() > 0: // the end of a pending debit
		return sums{returned: uint64(int64Of(p.Pending) + int64Of(p.Quantity))}
	}
	return sums{credits: uint64(int64Of(p.Quantity))}
}

// takeHeader adds a header. An atomic batch is one write: its first visible header adds all its transactions, and what
// its ends of holds bring, in order.
func (m *model) takeHeader(t events.TransactionPosted) {
	a := m.attempts[t.Legs[0].ID]
	if a == nil {
		a = &attempt{events: []events.Event{t}}
	}
	m.takeAttempt(a)
}

// takeAttempt adds what an attempt writes, in order.
func (m *model) takeAttempt(a *attempt) {
	isFirst := a.logged[1] == 0
	if isFirst {
		a.logged[0] = len(m.windows.log)
	}
	defer func() {
		if isFirst {
			a.logged[1] = len(m.windows.log)
		}
	}()
	for _, e := range a.events {
		switch e := e.(type) {
		case events.HoldEnded:
			m.fundEnd(e)
			m.giveBack(e)
		case events.TransactionPosted:
			if !m.decided[e.Legs[0].ID] {
				m.decided[e.Legs[0].ID] = true
				if a.fits != nil {
					a.fits()
				}
				m.takeTransaction(e, a.call)
				m.checkRates(e, a)
			}
		}
	}
}

// fundEnd counts what the end of a hold credits and gives back.
func (m *model) fundEnd(e events.HoldEnded) {
	for _, p := range e.Postings(m.headers[e.Transaction]) {
		of := sumsOf(p)
		m.fund(pair{Account: p.Account, Asset: p.Asset}, p.ID, int64(of.credits+of.returned))
	}
}

// takeTransaction counts a new transaction, and checks that its debits were allowed.
func (m *model) takeTransaction(t events.TransactionPosted, c *call) {
	debits := map[pair]int64{}
	for _, leg := range t.Legs {
		k, quantity := pair{Account: leg.Account, Asset: leg.Asset}, int64Of(leg.Quantity)
		if quantity < 0 {
			debits[k] -= quantity
		} else if !t.IsHold() {
			m.fund(k, leg.ID, quantity)
		}
	}
	for k, quantity := range debits {
		m.spentOrHeld[k] += quantity
	}
	switch {
	case t.IsHold():
		m.count("holds placed")
	case t.Reverses != "":
		m.count("reversals")
	}
	m.checkDebit(t, c, debits)
}

// fund counts a credit of a pair once. The model can see the transaction's header or its posting first.
func (m *model) fund(k pair, id events.KSUID, quantity int64) {
	if !m.funded[id] {
		m.funded[id] = true
		m.funds[k] += quantity
	}
}

// checkDebit checks the debits of a transaction, and the costs alone that it takes. The account was open, and the debit
// was covered by the limit, in one version that was in force since the call began. All credits that the debit relied on are visible, but maybe not all
// earlier debits.
func (m *model) checkDebit(t events.TransactionPosted, c *call, debits map[pair]int64) {
	for _, account := range []string{jane, joe} {
		if !slices.ContainsFunc(t.Legs, func(leg events.Leg) bool {
			return leg.Account == account && (leg.Quantity.Sign() < 0 || leg.Quantity.IsZero() && leg.Cost.Sign() < 0)
		}) {
			continue
		}
		covered := func(v version) bool {
			for k := range debits {
				if k.Account == account && m.spentOrHeld[k] > m.funds[k]-m.unprojected(k)+v.limits[k.Asset] {
					return false
				}
			}
			return true
		}
		open := func(v version) bool {
			return v.state == events.StateOpen || v.state == events.StateClosed && t.Reverses != ""
		}
		since := m.inForce(account, c)
		switch {
		case !slices.ContainsFunc(since, open):
			m.fail("%s debits %s, but the account's state forbids that since before the call began", t.ID, account)
		case !slices.ContainsFunc(since, func(v version) bool { return open(v) && covered(v) }):
			m.fail("%s takes %s below every limit in force: %v spent or held, funds are %v", t.ID, account,
				m.spentOrHeld, m.funds)
		}
	}
}

// takePosting adds a posting.
func (m *model) takePosting(k pair, p events.PostingRecorded) {
	m.quantities[k] += int64Of(p.Quantity)
	of := sumsOf(p)
	m.fund(k, p.ID, int64(of.credits+of.returned))
	if debit := p.Pending.Sign() < 0; debit != p.Phase.Ends() {
		m.pending[k] -= int64Of(p.Pending)
	}
}

// takeEnd adds the end of a hold.
func (m *model) takeEnd(e events.HoldEnded) {
	hold, exists := m.headers[e.Transaction]
	if _, twice := m.outcomes[e.Transaction]; twice || !exists || len(hold.Legs) != len(e.Legs) {
		m.fail("%s ends twice, or is not stored: %+v", e.Transaction, e)
		return
	}
	m.outcomes[e.Transaction] = e
	switch e.Outcome {
	case events.OutcomeCaptured:
		m.count("holds captured")
		if m.reportedExpired[e.Transaction] {
			m.fail("%s is captured after an answer said that it expired", e.Transaction)
		}
	case events.OutcomeReleased:
		m.count("holds released")
	case events.OutcomeExpired:
		m.count("holds expired")
		if early := time.Until(hold.ExpiresAt); early > 0 {
			m.fail("%s expired %v before its time", e.Transaction, early)
		}
	}
	if a := m.attempts[e.Legs[0].ID]; a != nil {
		m.takeAttempt(a)
	}
	m.fundEnd(e)
	m.giveBack(e)
}

// legsPosted returns the posted legs of a transaction, which can be reversed: none of a hold that was not captured.
func (m *model) legsPosted(id string) []events.Leg {
	t := m.headers[id]
	if !t.IsHold() {
		return t.Legs
	}
	if e := m.outcomes[id]; e.Outcome == events.OutcomeCaptured {
		return e.Legs
	}
	return nil
}

// leftToReverse returns how much of each leg is not reversed yet.
func (m *model) leftToReverse(id string) []int64 {
	legs := m.legsPosted(id)
	left := make([]int64, len(legs))
	for i, leg := range legs {
		left[i] = int64Of(leg.Quantity)
		for _, r := range m.reversals[id] {
			left[i] -= int64Of(r.Taken[i].Quantity)
		}
	}
	return left
}

// acknowledgeEnd checks and notes that the end of a hold was acknowledged.
func (m *model) acknowledgeEnd(answer ledger.Posted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.outcomes[answer.Header.ID]
	if stored.Outcome != answer.Ended.Outcome || !slices.Equal(stored.Legs, answer.Ended.Legs) {
		m.fail("%s was acknowledged as %+v, but is stored as %+v", answer.Header.ID, answer.Ended, stored)
	}
	m.acknowledgePostings(answer.Ended.Postings(answer.Header))
}

// checkEndRefusal checks the refusal to end a hold because it has ended. A different end must be stored.
func (m *model) checkEndRefusal(op *operation, e *ledger.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, exists := m.outcomes[op.target.name]
	switch {
	case !exists:
		m.fail("%s: answered that %s has ended (%w), but no end is stored", op.name, op.target.name, e)
	case e.Code == ledger.CodeHoldExpired && (stored.Outcome != events.OutcomeExpired || op.kind != kindCapture),
		e.Code == ledger.CodeHoldEnded && e.HoldStatus != events.Status(stored.Outcome):
		m.fail("%s: answered with %w, but the stored end is %+v", op.name, e, stored)
	case op.endAcknowledged:
		m.fail("%s: refused although it was acknowledged: %w", op.name, e)
	}
	if e.Code == ledger.CodeHoldExpired {
		m.reportedExpired[op.target.name] = true
		m.count("hold_expired answers")
		return
	}
	m.count("hold_ended answers")
	if op.asksFor(m.headers[op.target.name], stored) {
		m.fail("%s: refused (%w), but the requested end is stored", op.name, e)
	}
}

// checkNotFound checks that the target had not been acknowledged when the call began.
func (m *model) checkNotFound(op *operation, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, acked := m.ackStamps[op.target.name]; acked && at <= c.began {
		m.fail("%s: %s was acknowledged, but is not found", op.name, op.target.name)
	}
}

// checkExceeds checks the refusal to reverse more than is left. What is left never grows, so the check can come late.
func (m *model) checkExceeds(op *operation, e *ledger.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.leftToReverse(op.target.name)
	nothing, tooMuch := len(all) > 0, false
	if op.part.Quantity != nil && op.target.isSplit() {
		tooMuch = len(all) > 0 && int64Of(*op.part.Quantity) > -all[0]
		all = all[:min(1, len(all))] // both sides have the same left
	}
	for i, left := range all {
		wanted, _ := partOfLeg(op.part, i)
		nothing = nothing && left == 0
		tooMuch = tooMuch || int64Of(wanted.Abs()) > max(left, -left)
	}
	if !nothing && !tooMuch {
		m.fail("%s: refused (%w), but the legs have %v left", op.name, e, all)
	}
}

// checkNothingToReverse checks that the target is a hold whose capture had not been acknowledged when the call began.
func (m *model) checkNothingToReverse(op *operation, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, exists := m.headers[op.target.name]; exists && !t.IsHold() {
		m.fail("%s: refused because there is nothing to reverse, but %s is not a hold", op.name, op.target.name)
	}
	at, acked := m.ackStamps["end of "+op.target.name]
	if acked && at <= c.began && m.legsPosted(op.target.name) != nil {
		m.fail("%s: refused because there is nothing to reverse, but %s was captured", op.name, op.target.name)
	}
}

// openHolds returns the open holds that expire before a time, and the time at which the last of them expires.
func (m *model) openHolds(most time.Time) (last time.Time, open []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.headers)) {
		t := m.headers[id]
		if _, ended := m.outcomes[id]; !t.IsHold() || ended || t.ExpiresAt.After(most) {
			continue
		}
		open = append(open, id)
		if t.ExpiresAt.After(last) {
			last = t.ExpiresAt
		}
	}
	return last, open
}
