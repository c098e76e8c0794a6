package simulation

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// pair is one account's holding of one asset.
type pair = events.Pair

// legs are sets of postings of one pair. Each transaction moves a power of two, so a sum of credits or of debits shows
// which transactions are in it. A sum that counts one twice shows another set, or too many.
//
// In histories of a Mode they are sums of any amounts, which only grow: what was credited, what was spent or held, and
// what ended holds gave back.
type legs struct{ credits, debits, returned uint64 }

// plus returns what is in a or in b.
func (m *model) plus(a, b legs) legs {
	if m.plan.Mode != "" {
		return legs{a.credits + b.credits, a.debits + b.debits, a.returned + b.returned}
	}
	return legs{a.credits | b.credits, a.debits | b.debits, 0}
}

// without returns what is in a and not in b.
func (m *model) without(a, b legs) legs {
	if m.plan.Mode != "" {
		return legs{a.credits - min(a.credits, b.credits), a.debits - min(a.debits, b.debits),
			a.returned - min(a.returned, b.returned)}
	}
	return legs{a.credits &^ b.credits, a.debits &^ b.debits, 0}
}

func (a legs) count() int { return bits.OnesCount64(a.credits) + bits.OnesCount64(a.debits) }

func legOf(quantity events.Amount) legs {
	n := int64Of(quantity)
	if n < 0 {
		return legs{debits: uint64(-n)}
	}
	return legs{credits: uint64(n)}
}

// model is the ledger in plain Go: what is in the table, and what everything in it must be.
type model struct {
	*history
	mu sync.Mutex

	headers     map[string]events.TransactionPosted
	postings    map[pair]map[events.KSUID]events.PostingRecorded
	there       map[pair]legs // of postings
	acked       map[pair]legs
	ackedIDs    map[pair]map[events.KSUID]legs
	balances    map[pair]balance
	segments    map[pair]map[events.KSUID]segment
	summaries   map[string]summary
	memberships map[string]int64
	newest      int64    // number of the newest grant
	roles       []string // after so many grants
	grouped     []events.AccountGrouped
	spent       map[pair]uint64
	unseen      map[pair]map[events.KSUID]events.PostingRecorded // backdated, acknowledged, and not shown yet
	lives
}

func newModel(h *history) *model {
	return &model{
		history: h,
		headers: map[string]events.TransactionPosted{}, postings: map[pair]map[events.KSUID]events.PostingRecorded{},
		there: map[pair]legs{}, acked: map[pair]legs{}, ackedIDs: map[pair]map[events.KSUID]legs{},
		balances: map[pair]balance{}, segments: map[pair]map[events.KSUID]segment{},
		roles: []string{""}, grouped: []events.AccountGrouped{{}},
		summaries: map[string]summary{}, memberships: map[string]int64{}, spent: map[pair]uint64{},
		unseen: map[pair]map[events.KSUID]events.PostingRecorded{}, lives: newLives(),
	}
}

// observe looks at what has changed in the store, and hands it to the stream.
func (h *history) observe() {
	h.model.mu.Lock()
	defer h.model.mu.Unlock()
	for _, c := range h.store.Since(h.seen) {
		h.seen++
		h.model.take(c.Key, c.Before, c.After)
		if kind := text(c.After, table.AttrType); kind == table.KindListed || kind == table.KindJournal {
			h.ofLists++
			continue
		}
		h.mu.Lock()
		h.append(c.Key, h.seen-h.ofLists, c.After)
		h.mu.Unlock()
	}
	if h.committing.Load() == 0 && !h.damaged {
		h.model.sound()
	}
}

// take takes in one change.
func (m *model) take(key table.Key, before, after ddb.Item) {
	if _, event := after[table.AttrEventVersion]; m.damaged && !event {
		m.takeDamaged(key, after)
		return
	}
	if after == nil {
		m.broken("%v was deleted", key)
		return
	}
	switch text(after, table.AttrType) {
	case table.KindSpend:
		account, asset, _ := table.ParseSpend(key)
		k := pair{Account: account, Asset: asset}
		m.spent[k] = unsigned(after, table.AttrSpent)
		m.guard(k, int64(unsigned(after, table.AttrChange)))
	case table.KindHold, table.KindOpenHold: // they are checked at rest
	case table.KindCurrent:
		if e, err := ddb.DecodeCurrent(after); err != nil {
			m.broken("what an account is now cannot be read: %w", err)
		} else {
			m.changedTo(e)
		}
	case table.KindBalance, table.KindBalanceWithHolds:
		m.takeBalance(key, after)
	case table.KindSegment, table.KindSegmentWithHolds:
		account, asset, through, _ := table.ParseSegment(key)
		k := pair{Account: account, Asset: asset}
		if m.segments[k] == nil {
			m.segments[k] = map[events.KSUID]segment{}
		}
		m.segments[k][events.KSUID(through)] = segment{after: events.KSUID(text(after, table.AttrAfter)),
			fold: foldOf(after)}
		m.stats.Closed++
	case table.KindSummary:
		account, _ := table.ParseSummary(key)
		m.summaries[account] = summaryOf(after)
	case table.KindMembership, table.KindGrouped:
		number := int64(unsigned(after, table.AttrNumber))
		if number < m.memberships[key.SK] {
			m.broken("%s went back from number %d to %d", key.SK, m.memberships[key.SK], number)
		}
		m.memberships[key.SK] = number
	case table.KindListed, table.KindJournal: // the audit judges them
	default:
		if before != nil {
			m.broken("the event %v was changed", key)
		}
		m.takeEvent(key, after)
	}
}

func (m *model) takeEvent(key table.Key, item ddb.Item) {
	e, err := ddb.DecodeEvent(item)
	if err != nil {
		m.broken("an event that cannot be read: %w", err)
		return
	}
	switch e := e.(type) {
	case events.TransactionPosted:
		m.headers[e.ID] = e
		m.posted(e)
		sums := map[string][2]int64{}
		for _, leg := range e.Legs {
			if quantity := int64Of(leg.Quantity); m.plan.Mode == "" &&
				bits.OnesCount64(uint64(max(quantity, -quantity))) != 1 {
				m.broken("%s: a leg of %v", e.ID, leg.Quantity)
			}
			s := sums[leg.Asset]
			sums[leg.Asset] = [2]int64{s[0] + int64Of(leg.Quantity), s[1] + int64Of(leg.Cost)}
		}
		for asset, s := range sums {
			if s != [2]int64{} {
				m.broken("%s: its quantities and costs of %s add up to %v", e.ID, asset, s)
			}
		}
	case events.PostingRecorded:
		k := pair{Account: e.Account, Asset: e.Asset}
		if m.postings[k] == nil {
			m.postings[k] = map[events.KSUID]events.PostingRecorded{}
		}
		m.postings[k][e.ID] = e
		leg := legsOf(e)
		if twice := m.there[k]; m.plan.Mode == "" && m.without(twice, leg) != twice {
			m.broken("%s was posted twice to %v", e.Transaction, k)
		}
		m.there[k] = m.plus(m.there[k], leg)
		m.recorded(k, e)
	case events.AccountChanged:
		m.changedTo(e)
	case events.HoldEnded:
		m.ended(e)
	case events.TransactionReversed:
		m.reversed(e)
	case events.AccountGrouped:
		m.grouping(e)
	case events.MemberGranted:
		m.grant(key, e.Number, string(e.Role))
	case events.MemberRevoked:
		m.grant(key, e.Number, "")
	}
}

func (m *model) grant(key table.Key, number int64, role string) {
	if number != m.newest+1 {
		m.broken("grant %v has number %d after %d", key, number, m.newest)
	}
	m.newest, m.roles = number, append(m.roles, role)
}

// changed checks that a role that was acknowledged is one that the user had, or got, since so many grants.
func (m *model) changed(role string, since int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.roles[since:], role) {
		m.broken("the role %q was acknowledged, after grant %d the roles were %q", role, since, m.roles[since:])
	}
}

// grants is how many there are.
func (m *model) grants() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.newest
}

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

// readable checks that a strong read of k, were it to begin now, would find everything acknowledged: it begins at the
// seal.
func (m *model) readable(k pair) {
	seal := m.balances[k].seal
	if m.plan.Mode != "" {
		m.readableSums(k, seal)
		return
	}
	for id, leg := range m.ackedIDs[k] {
		if id <= seal.through && m.without(leg, seal.legs) != (legs{}) {
			m.broken("a strong read of %v would miss %s, which was acknowledged: credits %b, debits %b", k, id,
				leg.credits, leg.debits)
		}
	}
}

// acknowledgements are what was acknowledged so far.
func (m *model) acknowledgements() map[pair]legs {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.acked)
}

// credits are what every pair was credited so far by what was acknowledged. What is there and was never acknowledged
// may be below a seal that nobody corrected yet: no read promises that.
func (m *model) credits() map[pair]uint64 {
	c := make(map[pair]uint64, len(m.acked))
	for k, acked := range m.acked {
		c[k] = acked.credits + acked.returned
	}
	return c
}

// read checks a strong read, before which `must` had been acknowledged.
func (m *model) read(b projections.Balance, must map[pair]legs) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := fold{through: b.Head.Through, count: int(b.Head.Count), expenditure: int64Of(b.Head.Expenditure)}
	f.sum(int64Of(b.Head.Credits), int64Of(b.Head.Debits), int64Of(b.Head.PendingDebits),
		int64Of(b.Head.PendingCredits), int64Of(b.Head.Returned))
	m.right(b.Pair, "a strong read", f)
	if missing := m.without(must[b.Pair], f.legs); missing != (legs{}) {
		m.broken("a strong read of %v misses acknowledged transactions: credits %b, debits %b", b.Pair,
			missing.credits, missing.debits)
	}
}

// refused checks a refusal for insufficient funds: what had been credited before the call must not cover what is spent
// after it.
func (m *model) refused(p *posting, e *ledger.Error, c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Funds != nil && m.plan.Mode != "" {
		m.uncovered(p, e, c)
		return
	}
	if e.Funds == nil {
		m.broken("%s: refused without figures", p.id)
		return
	}
	k := pair{Account: e.Funds.Account, Asset: e.Funds.Asset}
	floor := m.floor(k)
	if floor == nil {
		m.broken("%s: refused for %v, which has no limit", p.id, k)
		return
	}
	gross, own := grossOf(p.request, k)
	if m.spent[k]+gross <= c.before[k]+own+uint64(-int64Of(*floor)) {
		m.broken("%s: refused although %v was credited %d before, and %d are spent", p.id, k, c.before[k], m.spent[k])
	}
}

// counted checks that records that were done with are counted.
func (m *model) counted(done []record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range done {
		account, asset, id, ok := table.ParsePosting(r.key)
		if !ok || m.damaged || m.plan.Mode != "" {
			continue
		}
		k := pair{Account: account, Asset: asset}
		leg := legOf(m.postings[k][events.KSUID(id)].Quantity)
		if m.without(leg, m.balances[k].head.legs) != (legs{}) {
			m.broken("record %v was done with, but its posting is not counted", r.key)
		}
	}
}

// grossOf is what a request debits of k, and credits to it.
func grossOf(r any, k pair) (debits, credits uint64) {
	add := func(account, asset string, quantity events.Amount) {
		if account == k.Account && asset == k.Asset {
			leg := legOf(quantity)
			debits, credits = debits+leg.debits, credits+leg.credits
		}
	}
	switch r := r.(type) {
	case ledger.PostTransfer:
		add(r.From, r.Asset, r.Quantity.Neg())
		add(r.To, r.Asset, r.Quantity)
	case ledger.PostTrade:
		add(r.Seller, r.Asset, r.Quantity.Neg())
		add(r.Buyer, r.Asset, r.Quantity)
		if r.Settle {
			add(r.Buyer, usd, r.Cost.Neg())
			add(r.Seller, usd, r.Cost)
		}
	case ledger.PostTransaction:
		for _, leg := range r.Postings {
			add(leg.Account, leg.Asset, leg.Quantity)
		}
	}
	return debits, credits
}

func int64Of(a events.Amount) int64 {
	n, err := strconv.ParseInt(a.String(), 10, 64)
	if err != nil {
		return -1 << 63 // no sum of ours: the check that it goes into fails
	}
	return n
}

func text(item ddb.Item, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// unsigned reads a number that is not negative; what is none is too large to be right.
func unsigned(item ddb.Item, name string) uint64 {
	n, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	u, err := strconv.ParseUint(n.Value, 10, 64)
	if err != nil {
		return 1<<64 - 1
	}
	return u
}
