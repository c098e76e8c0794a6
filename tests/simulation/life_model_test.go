package simulation

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// lives is what the model knows of holds, reversals and accounts that change.
type lives struct {
	stamp      int                       // counts calls that begin and changes that are acknowledged
	attempts   map[events.KSUID]*attempt // by the KSUID of their legs
	decided    map[events.KSUID]bool     // headers, by their first leg, that are counted
	outcomes   map[string]events.HoldEnded
	reversals  map[string][]events.TransactionReversed
	versions   map[string][]version // of accounts with a limit, by number
	gross      map[pair]int64       // what headers spend or hold
	funds      map[pair]int64       // credits, and what was given back
	funded     map[events.KSUID]bool
	quantities map[pair]int64
	pending    map[pair]int64             // of debits
	told       map[string]bool            // holds of which it was said that they expired
	times      map[string]int             // when a transaction was first acknowledged, by stamp
	guards     map[pair]int64             // the versions that guards were told
	changing   map[string]map[int64]*call // who sent changes, by account and number

	changesSeen map[string]map[int64]bool
}

// attempt is one write of a command, with its headers.
type attempt struct {
	*call
	headers []events.TransactionPosted
}

// version is what an account is from one change on.
type version struct {
	number int64
	state  events.AccountState
	limits map[string]int64
	acked  int // stamp; 0: not acknowledged
}

// call is one call of a command.
type call struct {
	began  int             // stamp
	before map[pair]uint64 // what had been acknowledged of what came in
	acked  map[pair]legs   // what had been acknowledged
}

type callKey struct{}

func newLives() lives {
	return lives{
		attempts: map[events.KSUID]*attempt{}, decided: map[events.KSUID]bool{},
		guards: map[pair]int64{}, changesSeen: map[string]map[int64]bool{}, changing: map[string]map[int64]*call{}, outcomes: map[string]events.HoldEnded{},
		reversals: map[string][]events.TransactionReversed{}, versions: map[string][]version{},
		gross: map[pair]int64{}, funds: map[pair]int64{}, funded: map[events.KSUID]bool{},
		quantities: map[pair]int64{}, pending: map[pair]int64{}, told: map[string]bool{}, times: map[string]int{},
	}
}

// opened notes what accounts with a limit are when they are opened.
func (m *model) opened() {
	m.versions[jane] = []version{{number: 1, state: events.StateOpen}}
	m.versions[joe] = []version{{number: 1, state: events.StateOpen, limits: map[string]int64{usd: m.knobs.overdraft}}}
}

// firstTold notes when something was first acknowledged.
func (m *model) firstTold(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, before := m.times[what]; !before {
		m.stamp++
		m.times[what] = m.stamp
	}
}

// begin notes that a call begins. What it sends is made with the context that begin returns.
func (m *model) begin(ctx context.Context) (context.Context, *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stamp++
	c := &call{m.stamp, m.credits(), maps.Clone(m.acked)}
	return context.WithValue(ctx, callKey{}, c), c
}

// sent notes whose an attempt is that is sent.
func (m *model) sent(ctx context.Context, parameters any) {
	in, writes := parameters.(*dynamodb.TransactWriteItemsInput)
	if !writes || m.plan.Mode == "" {
		return
	}
	c, _ := ctx.Value(callKey{}).(*call)
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &attempt{call: c}
	for _, action := range in.TransactItems {
		if action.Put == nil {
			continue
		}
		key := keyOf(action.Put.Item)
		if _, _, id, posting := table.ParsePosting(key); posting {
			m.attempts[events.KSUID(id)] = a
		}
		if _, header := table.ParseTransaction(key); header {
			if t, err := ddb.DecodeEvent(action.Put.Item); err == nil {
				a.headers = append(a.headers, t.(events.TransactionPosted))
			}
		}
		if account, number, change := table.ParseChange(key); change {
			if m.changing[account] == nil {
				m.changing[account] = map[int64]*call{}
			}
			m.changing[account][number] = c
		}
	}
}

// legsOf is what a posting adds to the sums that grow.
func legsOf(p events.PostingRecorded) legs {
	switch {
	case p.Phase == "":
		return legOf(p.Quantity)
	case p.Phase == events.PhasePlaced:
		return legs{debits: legOf(p.Pending).debits}
	case p.Pending.Sign() > 0: // ends a debit
		return legs{returned: uint64(int64Of(p.Pending) + int64Of(p.Quantity))}
	}
	return legs{credits: uint64(int64Of(p.Quantity))}
}

// posted takes in a header. With the first of a batch all of them are decided, in their order.
func (m *model) posted(t events.TransactionPosted) {
	if m.plan.Mode == "" {
		return
	}
	a := m.attempts[t.Legs[0].ID]
	if a == nil {
		a = &attempt{headers: []events.TransactionPosted{t}}
	}
	for _, header := range a.headers {
		if !m.decided[header.Legs[0].ID] {
			m.decided[header.Legs[0].ID] = true
			m.decide(header, a.call)
		}
	}
}

func (m *model) decide(t events.TransactionPosted, c *call) {
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
		m.gross[k] += quantity
	}
	switch {
	case t.IsHold():
		m.stats.Life.Held++
	case t.Reverses != "":
		m.stats.Life.Reversed++
	}
	m.debited(t, c, debits)
}

// fund counts what a leg brings to a pair, once: of a transaction that is becoming visible the model may see the
// header, or a posting, first.
func (m *model) fund(k pair, id events.KSUID, quantity int64) {
	if !m.funded[id] {
		m.funded[id] = true
		m.funds[k] += quantity
	}
}

// debited checks that a debit is covered by a limit that was in force since the call began that sent it, in an account
// that was open then. What it relied on is visible; of what was spent before it some may not be yet.
func (m *model) debited(t events.TransactionPosted, c *call, debits map[pair]int64) {
	for _, account := range []string{jane, joe} {
		if !slices.ContainsFunc(t.Legs, func(leg events.Leg) bool {
			return leg.Account == account && leg.Quantity.Sign() < 0
		}) {
			continue
		}
		covered := func(v version) bool {
			for k := range debits {
				if k.Account == account && m.gross[k] > m.funds[k]+v.limits[k.Asset] {
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
			m.broken("%s debits %s, and began after it was acknowledged that it may not", t.ID, account)
		case !slices.ContainsFunc(since, func(v version) bool { return open(v) && covered(v) }):
			m.broken("%s takes %s below every limit in force: %v spent, %v there", t.ID, account, m.gross, m.funds)
		}
	}
}

// inForce returns the versions of an account that a call may have known: the newest that was acknowledged before it
// began, and all later ones. Of what nobody calls nothing is known.
func (m *model) inForce(account string, c *call) []version {
	all := m.versions[account]
	for i := len(all) - 1; i > 0 && c != nil; i-- {
		if all[i].acked > 0 && all[i].acked <= c.began {
			return all[i:]
		}
	}
	return all
}

// recorded takes in a posting.
func (m *model) recorded(k pair, p events.PostingRecorded) {
	if m.plan.Mode == "" {
		m.quantities[k] += int64Of(p.Quantity)
		return
	}
	m.quantities[k] += int64Of(p.Quantity)
	of := legsOf(p)
	m.fund(k, p.ID, int64(of.credits+of.returned))
	if debit := p.Pending.Sign() < 0; debit != p.Phase.Ends() {
		m.pending[k] -= int64Of(p.Pending)
	}
}

// ended takes in how a hold ended.
func (m *model) ended(e events.HoldEnded) {
	hold, there := m.headers[e.Transaction]
	if _, twice := m.outcomes[e.Transaction]; twice || !there || len(hold.Legs) != len(e.Legs) {
		m.broken("%s ends for the second time, or ends what is not there: %+v", e.Transaction, e)
		return
	}
	m.outcomes[e.Transaction] = e
	if e.Legs[0].ID <= hold.Legs[len(hold.Legs)-1].ID {
		m.broken("the end of %s stands before what it ends", e.Transaction)
	}
	switch e.Outcome {
	case events.OutcomeCaptured:
		m.stats.Life.Captured++
		if m.told[e.Transaction] {
			m.broken("%s is captured, and it was said that it expired", e.Transaction)
		}
	case events.OutcomeReleased:
		m.stats.Life.Released++
	case events.OutcomeExpired:
		m.stats.Life.Expired++
		if early := time.Until(hold.ExpiresAt); early > 0 {
			m.broken("%s expired %v before its time", e.Transaction, early)
		}
	}
	for i, p := range e.Postings(hold) {
		k, of := pair{Account: p.Account, Asset: p.Asset}, legsOf(p)
		m.fund(k, p.ID, int64(of.credits+of.returned))
		held, posted := int64Of(hold.Legs[i].Quantity), int64Of(p.Quantity)
		if posted*held < 0 || max(posted, -posted) > max(held, -held) {
			m.broken("of %d held by %s %d is posted", held, e.Transaction, posted)
		}
	}
}

// legsPosted is what was posted of a transaction, which may be reversed.
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

// left is what is left to reverse of each leg.
func (m *model) left(id string) []int64 {
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

// reversed takes in that a part of a transaction was taken back.
func (m *model) reversed(e events.TransactionReversed) {
	m.reversals[e.Transaction] = append(m.reversals[e.Transaction], e)
	if n := int64(len(m.reversals[e.Transaction])); e.Number != n {
		m.broken("reversal %d of %s is the %d-th", e.Number, e.Transaction, n)
	}
	legs := m.legsPosted(e.Transaction)
	if len(e.Taken) != len(legs) {
		m.broken("reversal %+v, and there was posted %+v", e, legs)
		return
	}
	for i, left := range m.left(e.Transaction) {
		if posted := int64Of(legs[i].Quantity); left*posted < 0 || posted == 0 && left != 0 ||
			max(left, -left) > max(posted, -posted) {
			m.broken("more of %s was reversed than was posted: %+v", e.Transaction, m.reversals[e.Transaction])
		}
	}
}

// endedLegs checks that ends and reversals are complete, and returns how many legs ended.
func (m *model) endedLegs() (n int) {
	for id, e := range m.outcomes {
		for _, p := range e.Postings(m.headers[id]) {
			if m.postings[pair{Account: p.Account, Asset: p.Asset}][p.ID] != p {
				m.broken("the end of %s lacks its posting %+v", id, p)
			}
			n++
		}
	}
	numbers := 0
	for id, all := range m.reversals {
		for _, r := range all {
			numbers++
			by := m.headers[r.By]
			taken := slices.DeleteFunc(slices.Clone(r.Taken), func(t events.Taken) bool { return t == events.Taken{} })
			if by.Reverses != id || len(taken) != len(by.Legs) {
				m.broken("%s is reversed by %+v: %+v", id, r, by)
				continue
			}
			for i, leg := range by.Legs {
				if leg.Quantity != taken[i].Quantity.Neg() || leg.Cost != taken[i].Cost.Neg() {
					m.broken("%s is reversed by %+v: %+v", id, r, by)
				}
			}
		}
	}
	for id, t := range m.headers {
		if t.Reverses != "" {
			numbers--
		}
		if t.Reverses != "" && numbers < 0 {
			m.broken("%s reverses %s without a number", id, t.Reverses)
		}
	}
	return n
}

// acknowledgeEnd notes an answer that says how a hold ended.
func (m *model) acknowledgeEnd(answer ledger.Ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.outcomes[answer.Transaction.ID]
	if stored.Outcome != answer.End.Outcome || !slices.Equal(stored.Legs, answer.End.Legs) {
		m.broken("%s was acknowledged as %+v, and is %+v", answer.Transaction.ID, answer.End, stored)
	}
	m.acknowledgePostings(answer.End.Postings(answer.Transaction))
}

// endRefused checks a refusal to end a hold: there is another end.
func (m *model) endRefused(a *ask, e *ledger.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, there := m.outcomes[a.of.name]
	switch {
	case !there:
		m.broken("%s: it was said that %s ended (%w), and no end is there", a.name, a.of.name, e)
	case e.Code == ledger.CodeHoldExpired && (stored.Outcome != events.OutcomeExpired || a.kind != captures),
		e.Code == ledger.CodeHoldEnded && e.HoldStatus != ledger.Status(stored.Outcome):
		m.broken("%s: answered with %w, and the end is %+v", a.name, e, stored)
	case a.ended:
		m.broken("%s: refused although it was acknowledged: %w", a.name, e)
	}
	if e.Code == ledger.CodeHoldExpired {
		m.told[a.of.name] = true
		m.stats.Life.TooLate++
		return
	}
	m.stats.Life.EndedBefore++
	ended := ledger.Ended{Transaction: m.headers[a.of.name], End: stored}
	if a.kind == releases && stored.Outcome == events.OutcomeReleased ||
		a.kind == captures && stored.Outcome == events.OutcomeCaptured && isCaptured(ended, a.part) {
		m.broken("%s: refused (%w), and it is this end that is there", a.name, e)
	}
}

// ackedBefore reports whether a transaction had been acknowledged when a call began.
func (m *model) ackedBefore(p *posting, c *call) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, acked := m.times[p.id]
	return acked && at <= c.began
}

// exceeds checks a refusal to reverse more than is left: what is left only falls.
func (m *model) exceeds(a *ask, e *ledger.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, left := range m.left(a.of.name) {
		wanted := left
		switch {
		case a.part.Postings != nil:
			wanted = int64Of(a.part.Postings[i].Quantity)
		case a.part.Quantity != nil && i < 2:
			wanted = int64Of(*a.part.Quantity)
		case a.part.Quantity != nil:
			wanted = int64Of(a.part.Cost)
		}
		if left != 0 && a.part.Quantity == nil && a.part.Postings == nil || // all that is left
			max(wanted, -wanted) > max(left, -left) || wanted != 0 && left == 0 {
			if left != 0 && a.part.Quantity == nil && a.part.Postings == nil {
				m.broken("%s: refused (%w), and %d is left", a.name, e, left)
			}
			return
		}
	}
	if a.part.Quantity != nil || a.part.Postings != nil {
		m.broken("%s: refused (%w), and of each leg %v is left", a.name, e, m.left(a.of.name))
	}
}

// nothingToReverse checks that a hold had not been captured as far as anybody was told.
func (m *model) nothingToReverse(a *ask, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, there := m.headers[a.of.name]; there && !t.IsHold() {
		m.broken("%s: %s is no hold, and there is nothing to reverse", a.name, a.of.name)
	}
	if at, acked := m.times["end of "+a.of.name]; acked && at <= c.began && m.legsPosted(a.of.name) != nil {
		m.broken("%s: %s was captured, and there is nothing to reverse", a.name, a.of.name)
	}
}

// uncovered checks a refusal for insufficient funds: what was acknowledged before the call began does not cover it by
// one of the limits in force since.
func (m *model) uncovered(p *posting, e *ledger.Error, c *call) {
	k := pair{Account: e.Funds.Account, Asset: e.Funds.Asset}
	since := m.inForce(k.Account, c)
	if len(since) == 0 {
		m.broken("%s: refused for %v, which has no limit", p.id, k)
		return
	}
	a := m.askOf(p)
	requested := int64(m.spent[k]) - a.netBefore(m, k) + int64Of(e.Funds.Requested)
	if gross, own := grossOf(p.request, k); gross > 0 {
		if a.hold {
			own = 0
		}
		if asked := int64(gross) - int64(own); int64Of(e.Funds.Requested) != asked {
			m.broken("%s: %v was asked of %v, not %d", p.id, e.Funds.Requested, k, asked)
		}
	}
	if !slices.ContainsFunc(since, func(v version) bool {
		return v.state != events.StateOpen || requested > int64(c.before[k])+v.limits[k.Asset]
	}) {
		m.broken("%s: refused although %v had got %d before, and %d are spent", p.id, k, c.before[k], m.spent[k])
	}
}

// openUntil returns the holds that are open and expire before a time, and when the last of them does.
func (m *model) openUntil(most time.Time) (last time.Time, open []string) {
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

// rightSums checks that a fold counts no more than what is there.
func (m *model) rightSums(k pair, what string, f fold) {
	n := 0
	for id := range m.postings[k] {
		if id <= f.through {
			n++
		}
	}
	if f.count > n {
		m.broken("%s of %v through %s counts %d postings of %d", what, k, f.through, f.count, n)
	}
}

// readableSums checks that a strong read of k, were it to begin now, would find everything acknowledged.
func (m *model) readableSums(k pair, seal fold) {
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

func signed(item ddb.Item, name string) int64 {
	n, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	amount, err := events.ParseAmount(n.Value, 38)
	if err != nil {
		return -1 << 63
	}
	return int64Of(amount)
}
