package simulation

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// fold is a stored fold, with the postings that it says it counts.
type fold struct {
	through     events.KSUID
	legs        legs
	count       int
	expenditure int64
	// Of these legs tell only the sums that grow.
	quantity, pendingDebits, pendingCredits int64
}

// sum sets the sums of a fold.
func (f *fold) sum(credits, debits, pendingDebits, pendingCredits, returned int64) {
	f.legs = legs{uint64(credits), uint64(debits + pendingDebits + returned), uint64(returned)}
	f.quantity, f.pendingDebits, f.pendingCredits = credits-debits, pendingDebits, pendingCredits
}

// plus adds up two folds that follow each other.
func (m *model) folded(f, next fold) fold {
	return fold{
		next.through, m.plus(f.legs, next.legs), f.count + next.count, f.expenditure + next.expenditure,
		f.quantity + next.quantity, f.pendingDebits + next.pendingDebits, f.pendingCredits + next.pendingCredits,
	}
}

type balance struct {
	version          uint64
	base, seal, head fold
	unfinished       bool
	first            events.KSUID
}

type segment struct {
	after events.KSUID
	fold  fold
}

type summary struct {
	assets, holdings int
	first            events.KSUID
}

func foldOf(item ddb.Item) fold {
	f := fold{through: events.KSUID(text(item, table.AttrThrough)), count: int(unsigned(item, table.AttrCount))}
	f.sum(signed(item, table.AttrCredits), signed(item, table.AttrDebits), signed(item, table.AttrPendingDebits),
		signed(item, table.AttrPendingCredits), signed(item, table.AttrReturned))
	f.expenditure = signed(item, table.AttrExpenditure)
	return f
}

func summaryOf(item ddb.Item) summary {
	return summary{
		assets: int(unsigned(item, table.AttrAssets)), holdings: int(unsigned(item, table.AttrHoldings)),
		first: events.KSUID(text(item, table.AttrFirst)),
	}
}

func balanceOf(item ddb.Item) balance {
	_, unfinished := item[table.AttrUnfinished]
	return balance{
		version: unsigned(item, table.AttrVersion), base: nested(item, table.AttrBase),
		seal: nested(item, table.AttrSeal),
		head: nested(item, table.AttrHead), unfinished: unfinished, first: events.KSUID(text(item, table.AttrFirst)),
	}
}

func nested(item ddb.Item, name string) fold {
	if m, ok := item[name].(*types.AttributeValueMemberM); ok {
		return foldOf(m.Value)
	}
	return fold{}
}

// takeBalance takes in a balance, and checks it by itself and against what it was.
func (m *model) takeBalance(key table.Key, item ddb.Item) {
	account, asset, _ := table.ParseBalance(key)
	k := pair{Account: account, Asset: asset}
	was := m.balances[k]
	b := balanceOf(item)
	m.balances[k] = b
	m.note(was, b)
	m.right(k, "base", b.base)
	m.right(k, "seal", b.seal)
	m.right(k, "head", b.head)
	m.seen()
	m.readable(k)
	if b.version != was.version+1 && was.version != 0 { // a rebuild makes an absent one at a version far above
		m.broken("%v went from version %d to %d", k, was.version, b.version)
	}
	if m.without(b.base.legs, b.seal.legs) != (legs{}) ||
		!b.unfinished && m.without(b.seal.legs, b.head.legs) != (legs{}) {
		m.broken("%v: base, seal and head do not nest: %+v", k, b)
	}
	if lost := m.without(was.head.legs, b.head.legs); lost != (legs{}) {
		m.broken("%v: what is shown went back by credits %b, debits %b", k, lost.credits, lost.debits)
	}
}

// note counts what a history met.
func (m *model) note(was, is balance) {
	m.stats.Writes++
	if is.unfinished {
		m.stats.Unfinished++
	}
	if is.seal.through == was.seal.through && is.seal.count > was.seal.count {
		m.stats.Corrected++
		if is.base.count > was.base.count {
			m.stats.Late++
		}
	}
	if is.head == was.head && is.seal == was.seal && is.base == was.base {
		m.stats.Bumped++
	}
}

// right checks that a fold counts postings that are there, each once, and none beyond where it goes.
func (m *model) right(k pair, what string, f fold) {
	if there := m.there[k]; m.without(f.legs, there) != (legs{}) {
		m.broken("%s of %v counts what is not there, or twice: credits %b of %b, debits %b of %b", what, k,
			f.legs.credits, there.credits, f.legs.debits, there.debits)
		return
	}
	if m.plan.Mode != "" {
		m.rightSums(k, what, f)
		return
	}
	if f.count != f.legs.count() {
		m.broken("%s of %v says that it counts %d postings, and counts %d", what, k, f.count, f.legs.count())
	}
	expenditure := int64(0)
	for id, p := range m.postings[k] {
		if m.without(legOf(p.Quantity), f.legs) != (legs{}) {
			continue
		}
		expenditure += int64Of(p.Cost)
		if id > f.through {
			m.broken("%s of %v goes through %s, and counts %s", what, k, f.through, id)
		}
	}
	if expenditure != f.expenditure {
		m.broken("%s of %v has expenditure %d, its postings have %d", what, k, f.expenditure, expenditure)
	}
}

// sound checks what holds whenever no transaction is becoming visible.
func (m *model) sound() {
	for k, b := range m.balances {
		m.meet(k, b)
	}
	for account, s := range m.summaries {
		m.sums(account, s)
	}
	m.covered()
}

// meet checks that the segments of k meet, and add up to the base. A rebuild that saves its way moves the base back to
// what it has looked at: then nobody looks at the segments beyond.
func (m *model) meet(k pair, b balance) {
	var at events.KSUID
	var sum fold
	for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
		s := m.segments[k][through]
		if b.unfinished && through > b.base.through {
			break
		}
		if s.after != at || s.fold.through != through {
			m.broken("%v: segments do not meet after %q: %+v", k, at, s)
			return
		}
		if m.plan.Mode == "" && m.without(s.fold.legs, sum.legs) != s.fold.legs {
			m.broken("%v: segment through %s counts again what those before it count", k, through)
		}
		sum = m.folded(sum, s.fold)
		at = through
	}
	if sum != b.base {
		m.broken("%v: segments add up to %+v, the base is %+v", k, sum, b.base)
	}
}

// sums checks a summary against the balances.
func (m *model) sums(account string, s summary) {
	var want summary
	for k, b := range m.balances {
		if k.Account != account || b.head.count == 0 {
			continue
		}
		want.assets++
		if b.head.quantity != 0 {
			want.holdings++
		}
		if want.first == "" || b.first < want.first {
			want.first = b.first
		}
	}
	// The first posting of a balance may be found early, in a save before the end.
	if s.assets != want.assets || s.holdings != want.holdings {
		m.broken("the summary of %s says %+v, its balances %+v", account, s, want)
	}
}

// covered checks that transactions are complete, and that no account is below its limit: what they debited, against all
// credits that are there.
func (m *model) covered() {
	debits, legs, recorded := map[pair]uint64{}, 0, 0
	for id, t := range m.headers {
		placed := t.Postings()
		for i, leg := range t.Legs {
			k := pair{Account: leg.Account, Asset: leg.Asset}
			debits[k] += legOf(leg.Quantity).debits
			p, ok := m.postings[k][leg.ID]
			if !ok {
				m.broken("%s lacks its posting %s to %v", id, leg.ID, k)
			} else if p != placed[i] {
				m.broken("%s has the leg %+v, and its posting is %+v", id, leg, p)
			}
			legs++
		}
	}
	legs += m.endedLegs()
	for _, ofPair := range m.postings {
		recorded += len(ofPair)
	}
	if legs != recorded {
		m.broken("there are %d postings, and headers with %d legs", recorded, legs)
	}
	if m.plan.Mode != "" {
		return // debited checks limits
	}
	for k, spent := range debits {
		if floor := m.floor(k); floor != nil && spent > m.there[k].credits+uint64(-int64Of(*floor)) {
			m.broken("%v is below its limit: debits %d, credits %d", k, spent, m.there[k].credits)
		}
	}
}

// askAgain repeats each request whose transaction is there, long after: it must be answered with that, whatever was
// answered before.
func (h *history) askAgain() {
	p := h.born(afterwards, 0)
	for _, asked := range h.asked {
		stored, there := h.model.headers[asked.id]
		if !there {
			continue
		}
		answer, err := send(as(afterwards+" "+asked.id), p.ledger, asked.request)
		if err != nil || !answer.Replayed || !sameTransaction(answer.Transaction, stored) {
			h.broken("%s is there, and asked for again it is answered with %+v (%w)", asked.id, answer, err)
		}
		h.observe()
	}
}

// exact checks everything at rest: nothing is under way, and every record was delivered or rebuilt from.
func (m *model) exact() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, there := range m.there {
		b := m.balances[k]
		// A save on the way that is applied after everything was counted leaves a balance unfinished, and complete in
		// what it shows.
		if b.head.legs != there {
			m.broken("at rest %v counts credits %b of %b, debits %b of %b (unfinished: %v)", k, b.head.legs.credits,
				there.credits, b.head.legs.debits, there.debits, b.unfinished)
			continue
		}
		ids := slices.Sorted(maps.Keys(m.postings[k]))
		if b.first != ids[0] || b.head.through != ids[len(ids)-1] {
			m.broken("at rest %v is from %s through %s, its postings from %s through %s", k, b.first, b.head.through,
				ids[0], ids[len(ids)-1])
		}
		if got := m.through(k, "", b.seal.through); got != b.seal.legs {
			m.broken("at rest the seal of %v lacks %+v", k, m.without(got, b.seal.legs))
		}
		var at events.KSUID
		var sum fold
		for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
			s := m.segments[k][through]
			if s.after != at {
				m.broken("at rest the segments of %v do not meet after %q", k, at)
			}
			m.right(k, "a segment", s.fold)
			if got := m.through(k, s.after, through); got != s.fold.legs {
				m.broken("at rest the segment of %v through %s lacks %+v", k, through, m.without(got, s.fold.legs))
			}
			sum = m.folded(sum, s.fold)
			at = through
		}
		if sum != b.base {
			m.broken("at rest the base of %v is %+v, its segments add up to %+v", k, b.base, sum)
		}
	}
	for _, account := range holders {
		m.summarized(account)
	}
	if m.newest > 0 {
		m.member()
	}
	m.placed()
	m.livesAtRest()
	for k, there := range m.there {
		spent, guarded := m.spent[k]
		switch limited := m.floor(k) != nil; {
		case guarded && !limited:
			m.broken("at rest %v has a guard, and no limit", k)
		case limited && spent != there.debits:
			m.broken("at rest the guard of %v says %d, its postings %d", k, spent, there.debits)
		}
	}
	for _, p := range m.asked {
		m.answered(p)
	}
}

// through is what was posted to k after one KSUID, through another.
func (m *model) through(k pair, after, through events.KSUID) (found legs) {
	for id, p := range m.postings[k] {
		if after < id && id <= through {
			found = m.plus(found, legsOf(p))
		}
	}
	return found
}

func (m *model) summarized(account string) {
	var want summary
	for k, postings := range m.postings {
		if k.Account != account || len(postings) == 0 {
			continue
		}
		want.assets++
		if m.quantities[k] != 0 {
			want.holdings++
		}
		if first := slices.Min(slices.Collect(maps.Keys(postings))); want.first == "" || first < want.first {
			want.first = first
		}
	}
	if got := m.summaries[account]; got != want {
		m.broken("at rest the summary of %s is %+v, not %+v", account, got, want)
	}
}

func (m *model) member() {
	key, wanted := table.MembershipKey(jane, mary), m.roles[m.newest]
	item, _ := m.store.Item(key)
	if got := int64(unsigned(item, table.AttrNumber)); got != m.newest {
		m.broken("at rest the membership shows grant %d, not %d", got, m.newest)
	}
	if role := text(item, table.AttrRole); role != wanted {
		m.broken("at rest the membership shows the role %q, not %q", role, wanted)
	}
	if _, listed := item[table.AttrPK2]; listed != (wanted != "") {
		m.broken("at rest the membership with role %q is listed: %v", wanted, listed)
	}
}

// answered checks the answers to a request against what became of it.
func (m *model) answered(p *posting) {
	stored, there := m.headers[p.id]
	switch {
	case p.first != nil && (!there || !sameTransaction(*p.first, stored)):
		m.broken("%s was acknowledged, and is not there so", p.id)
	case there && p.final:
		m.broken("%s is there, and the last answer was that it never will be (%s)", p.id, p.declined)
	case p.first == nil && there && !p.unknown:
		m.broken("%s is there, and it was answered that nothing was written (%s)", p.id, p.declined)
	}
}
