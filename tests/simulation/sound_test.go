package simulation

import (
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// fold is a stored fold, with the postings that it says it counts.
type fold struct {
	through     events.KSUID
	legs        legs
	count       int
	expenditure int64
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

func foldOf(item wire.Item) fold {
	f := fold{through: events.KSUID(text(item, table.AttrThrough)), count: int(unsigned(item, table.AttrCount))}
	f.legs = legs{unsigned(item, table.AttrCredits), unsigned(item, table.AttrDebits)}
	if n, ok := item[table.AttrExpenditure].(*types.AttributeValueMemberN); ok {
		f.expenditure, _ = strconv.ParseInt(n.Value, 10, 64)
	}
	return f
}

func summaryOf(item wire.Item) summary {
	return summary{
		assets: int(unsigned(item, table.AttrAssets)), holdings: int(unsigned(item, table.AttrHoldings)), first: events.KSUID(text(item, table.AttrFirst)),
	}
}

func balanceOf(item wire.Item) balance {
	_, unfinished := item[table.AttrUnfinished]
	return balance{
		version: unsigned(item, table.AttrVersion), base: nested(item, table.AttrBase), seal: nested(item, table.AttrSeal),
		head: nested(item, table.AttrHead), unfinished: unfinished, first: events.KSUID(text(item, table.AttrFirst)),
	}
}

func nested(item wire.Item, name string) fold {
	if m, ok := item[name].(*types.AttributeValueMemberM); ok {
		return foldOf(m.Value)
	}
	return fold{}
}

// takeBalance takes in a balance, and checks it by itself and against what it was.
func (m *model) takeBalance(key table.Key, item wire.Item) {
	account, asset, _ := table.ParseBalance(key)
	k := pair{Account: account, Asset: asset}
	was := m.balances[k]
	b := balanceOf(item)
	m.balances[k] = b
	m.note(was, b)
	m.right(k, "base", b.base)
	m.right(k, "seal", b.seal)
	m.right(k, "head", b.head)
	m.readable(k)
	if b.version != was.version+1 && was.version != 0 { // a rebuild makes an absent one at a version far above
		m.broken("%v went from version %d to %d", k, was.version, b.version)
	}
	if b.base.legs.without(b.seal.legs) != (legs{}) || !b.unfinished && b.seal.legs.without(b.head.legs) != (legs{}) {
		m.broken("%v: base, seal and head do not nest: %+v", k, b)
	}
	if lost := was.head.legs.without(b.head.legs); lost != (legs{}) {
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
	if there := m.there[k]; f.legs.without(there) != (legs{}) {
		m.broken("%s of %v counts what is not there, or twice: credits %b of %b, debits %b of %b", what, k, f.legs.credits, there.credits, f.legs.debits, there.debits)
		return
	}
	if f.count != f.legs.count() {
		m.broken("%s of %v says that it counts %d postings, and counts %d", what, k, f.count, f.legs.count())
	}
	expenditure := int64(0)
	for id, p := range m.postings[k] {
		if legOf(p.Quantity).without(f.legs) != (legs{}) {
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

// meet checks that the segments of k meet, and add up to the base.
func (m *model) meet(k pair, b balance) {
	var at events.KSUID
	var sum fold
	for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
		s := m.segments[k][through]
		if s.after != at || s.fold.through != through {
			m.broken("%v: segments do not meet after %q: %+v", k, at, s)
			return
		}
		if s.fold.legs.without(sum.legs) != s.fold.legs {
			m.broken("%v: segment through %s counts again what those before it count", k, through)
		}
		sum = fold{through, sum.legs.plus(s.fold.legs), sum.count + s.fold.count, sum.expenditure + s.fold.expenditure}
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
		if b.head.legs.credits != b.head.legs.debits {
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

// covered checks that transactions are whole, and that no account is below its limit: what they debited, against all
// credits that are there.
func (m *model) covered() {
	debits, legs, recorded := map[pair]uint64{}, 0, 0
	for id, t := range m.headers {
		for _, leg := range t.Legs {
			k := pair{Account: leg.Account, Asset: leg.Asset}
			debits[k] += legOf(leg.Quantity).debits
			p, ok := m.postings[k][leg.ID]
			if !ok {
				m.broken("%s lacks its posting %s to %v", id, leg.ID, k)
			} else if p.Transaction != id || p.Leg != leg {
				m.broken("%s has the leg %+v, and its posting is %+v", id, leg, p)
			}
			legs++
		}
	}
	for _, ofPair := range m.postings {
		recorded += len(ofPair)
	}
	if legs != recorded {
		m.broken("there are %d postings, and headers with %d legs", recorded, legs)
	}
	for k, spent := range debits {
		if floor := m.floor(k); floor != nil && spent > m.there[k].credits+uint64(-int64Of(*floor)) {
			m.broken("%v is below its limit: debits %d, credits %d", k, spent, m.there[k].credits)
		}
	}
}
