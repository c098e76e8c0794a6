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
	quantity    int64
}

// sum sets the sums of a fold.
func (f *fold) sum(credits, debits, pendingDebits, returned int64) {
	f.legs = legs{uint64(credits), uint64(debits + pendingDebits + returned), uint64(returned)}
	f.quantity = credits - debits
}

// plus adds up two folds that follow each other.
func (m *model) folded(f, next fold) fold {
	return fold{
		next.through, m.plus(f.legs, next.legs), f.count + next.count, f.expenditure + next.expenditure,
		f.quantity + next.quantity,
	}
}

type balance struct {
	version          int64
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
	f := fold{through: events.KSUID(text(item, table.AttrThrough)), count: int(number(item, table.AttrCount))}
	f.sum(number(item, table.AttrCredits), number(item, table.AttrDebits), number(item, table.AttrPendingDebits),
		number(item, table.AttrReturned))
	f.expenditure = number(item, table.AttrExpenditure)
	return f
}

func summaryOf(item ddb.Item) summary {
	return summary{
		assets: int(number(item, table.AttrAssets)), holdings: int(number(item, table.AttrHoldings)),
		first: events.KSUID(text(item, table.AttrFirst)),
	}
}

func balanceOf(item ddb.Item) balance {
	_, unfinished := item[table.AttrUnfinished]
	return balance{
		version: number(item, table.AttrVersion), base: nested(item, table.AttrBase),
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
	m.count("balances written")
	if is.unfinished {
		m.count("saved unfinished")
	}
	if is.seal.through == was.seal.through && is.seal.count > was.seal.count {
		m.count("corrections")
		if is.base.count > was.base.count {
			m.count("corrected below the base")
		}
	}
	if is.head == was.head && is.seal == was.seal && is.base == was.base {
		m.count("versions raised")
	}
}

// right checks that a fold counts postings that are there, each once, and none beyond where it goes.
func (m *model) right(k pair, what string, f fold) {
	if there := m.there[k]; m.without(f.legs, there) != (legs{}) {
		m.broken("%s of %v counts what is not there, or twice: credits %b of %b, debits %b of %b", what, k,
			f.legs.credits, there.credits, f.legs.debits, there.debits)
		return
	}
	if n := m.countThrough(k, f.through); f.count > n {
		m.broken("%s of %v through %s counts %d postings of %d", what, k, f.through, f.count, n)
	}
	if !m.areSets() {
		return
	}
	if f.count != f.legs.count() {
		m.broken("%s of %v says that it counts %d postings, and counts %d", what, k, f.count, f.legs.count())
	}
	expenditure := int64(0)
	for id, p := range m.postings[k] {
		if m.without(sumOf(p.Quantity), f.legs) != (legs{}) {
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

// countThrough is how many postings of k there are through a KSUID.
func (m *model) countThrough(k pair, through events.KSUID) (n int) {
	for id := range m.postings[k] {
		if id <= through {
			n++
		}
	}
	return n
}

// sound checks what holds whenever no transaction is becoming visible.
func (m *model) sound() {
	for k, b := range m.balances {
		m.meet(k, b)
	}
	for account, s := range m.summaries {
		m.sums(account, s)
	}
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
