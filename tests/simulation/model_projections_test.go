package simulation

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// fold is a stored sum of a pair's postings up to a KSUID.
type fold struct {
	through     events.KSUID
	sums        sums
	count       int
	expenditure int64
	quantity    int64
}

// setSums sets the sums of a fold.
func (f *fold) setSums(credits, debits, pendingDebits, returned int64) {
	f.sums = sums{uint64(credits), uint64(debits + pendingDebits + returned), uint64(returned)}
	f.quantity = credits - debits
}

// addFolds adds up two adjacent folds.
func (m *model) addFolds(f, next fold) fold {
	return fold{
		next.through, m.plus(f.sums, next.sums), f.count + next.count, f.expenditure + next.expenditure,
		f.quantity + next.quantity,
	}
}

type balance struct {
	version          int64
	base, seal, head fold
	unfinished       bool
}

type segment struct {
	after events.KSUID
	fold  fold
}

type summary struct {
	assets, holdings int
}

func foldOf(item table.Item) fold {
	f := fold{through: events.KSUID(text(item, table.AttrThrough)), count: int(number(item, table.AttrCount))}
	f.setSums(number(item, table.AttrCredits), number(item, table.AttrDebits), number(item, table.AttrPendingDebits),
		number(item, table.AttrReturned))
	f.expenditure = number(item, table.AttrExpenditure)
	return f
}

func summaryOf(item table.Item) summary {
	return summary{int(number(item, table.AttrAssets)), int(number(item, table.AttrHoldings))}
}

func balanceOf(item table.Item) balance {
	_, unfinished := item[table.AttrUnfinished]
	return balance{
		version: number(item, table.AttrVersion), unfinished: unfinished,
		base: nested(item, table.AttrBase), seal: nested(item, table.AttrSeal), head: nested(item, table.AttrHead),
	}
}

func nested(item table.Item, name string) fold {
	if m, ok := item[name].(*types.AttributeValueMemberM); ok {
		return foldOf(m.Value)
	}
	return fold{}
}

// takeBalance adds a stored balance, and checks it by itself and against the one before.
func (m *model) takeBalance(key table.Key, item table.Item) {
	account, asset, _ := table.Balance.Parse(key)
	k := pair{Account: account, Asset: asset}
	was := m.balances[k]
	b := balanceOf(item)
	m.balances[k] = b
	m.countBalanceWrite(was, b)
	m.checkFold(k, "base", b.base)
	m.checkFold(k, "seal", b.seal)
	m.checkFold(k, "head", b.head)
	m.checkReadable(k)
	if b.version != was.version+1 && was.version != 0 { // a rebuild creates a missing balance at a far higher version
		m.fail("%v went from version %d to %d", k, was.version, b.version)
	}
	if m.minus(b.base.sums, b.seal.sums) != (sums{}) ||
		!b.unfinished && m.minus(b.seal.sums, b.head.sums) != (sums{}) {
		m.fail("%v: base, seal and head do not nest: %+v", k, b)
	}
	if lost := m.minus(was.head.sums, b.head.sums); lost != (sums{}) {
		m.fail("%v: the balance lost credits %b, debits %b", k, lost.credits, lost.debits)
	}
}

// countBalanceWrite counts the events that a written balance shows.
func (m *model) countBalanceWrite(was, is balance) {
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

// checkFold checks that a fold counts only stored postings, each once, and none after its last KSUID.
func (m *model) checkFold(k pair, what string, f fold) {
	if stored := m.stored[k]; m.minus(f.sums, stored) != (sums{}) {
		m.fail("%s of %v counts postings that are not stored, or counts some twice: credits %b of %b, debits %b of %b",
			what, k, f.sums.credits, stored.credits, f.sums.debits, stored.debits)
		return
	}
	if n := m.countThrough(k, f.through); f.count > n {
		m.fail("%s of %v through %s counts %d postings of %d", what, k, f.through, f.count, n)
	}
	if !m.sumsAreSets() {
		return
	}
	if f.count != f.sums.count() {
		m.fail("%s of %v has a count of %d, but its sums count %d postings", what, k, f.count, f.sums.count())
	}
	expenditure := int64(0)
	for id, p := range m.postings[k] {
		if m.minus(sumsOfQuantity(p.Quantity), f.sums) != (sums{}) {
			continue
		}
		expenditure += int64Of(p.Cost)
		if id > f.through {
			m.fail("%s of %v goes through %s, but counts %s", what, k, f.through, id)
		}
	}
	if expenditure != f.expenditure {
		m.fail("%s of %v has expenditure %d, its postings have %d", what, k, f.expenditure, expenditure)
	}
}

// countThrough counts the stored postings of k up to and including a KSUID.
func (m *model) countThrough(k pair, through events.KSUID) (n int) {
	for id := range m.postings[k] {
		if id <= through {
			n++
		}
	}
	return n
}

// checkProjections checks the rules between items. They hold whenever no write is only partly visible.
func (m *model) checkProjections() {
	for k, b := range m.balances {
		m.checkSegments(k, b)
	}
	for account, s := range m.summaries {
		m.checkSummary(account, s)
	}
}

// checkSegments checks that the segments of k are adjacent and add up to the base. An unfinished rebuild moves the base
// back to where it is; nobody reads the segments after it.
func (m *model) checkSegments(k pair, b balance) {
	var at events.KSUID
	var sum fold
	for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
		s := m.segments[k][through]
		if b.unfinished && through > b.base.through {
			break
		}
		if s.after != at || s.fold.through != through {
			m.fail("%v: the segment after %q is not adjacent: %+v", k, at, s)
			return
		}
		sum = m.addFolds(sum, s.fold)
		at = through
	}
	if sum != b.base {
		m.fail("%v: the segments add up to %+v, but the base is %+v", k, sum, b.base)
	}
}

// checkSummary checks a summary against the balances.
func (m *model) checkSummary(account string, s summary) {
	var want summary
	for k, b := range m.balances {
		if k.Account != account || b.head.count == 0 {
			continue
		}
		want.assets++
		if b.head.quantity != 0 {
			want.holdings++
		}
	}
	if s != want {
		m.fail("the summary of %s is %+v, but its balances give %+v", account, s, want)
	}
}
