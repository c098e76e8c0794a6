package audit

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"ledger.example/ledger/table"
)

// pair is one account's holding of one asset, as far as it was read.
type pair struct {
	of      account
	asset   string
	balance balance
	guard   *big.Int // what was spent; nil when there is no guard
	from    mark     // all up to there was compared before
	settled time.Time

	past     time.Time // commits are over of postings before this instant
	quiteNew time.Time // postings before this instant are hardly under way any more

	// The rest in order, an item a call and nil at the end; not read before balance and guard are.
	segments, postings func(context.Context) (attributes, error)
}

// mark is a place in the postings of a pair, with the fold through it.
type mark struct {
	fold
	first string
}

func start() mark { return mark{fold: noFold()} }

// issue is a finding in doubt.
type issue struct {
	Finding
	state state
	// lasting: it stays one whatever was written while the pair was read, as postings only ever arrive and a balance is
	// one item.
	lasting bool
}

// compared is what came of a comparison.
type compared struct {
	issues []issue
	total  fold
	first  string
	tail   bool // postings at the end are not counted yet, all of them young
	base   mark // where the next comparison may begin
	recent mark // the fold of what is not quite new
}

// comparison is a pair being compared: the postings go by once, and at each place where a stored fold ends it is compared
// with what was added up.
type comparison struct {
	pair
	all, young *tally
	issues     []issue

	cuts    [3]cut // base, seal, head
	segment *segment
	after   *place // where the segment begins, once that is passed
	chain   place  // where the last segment ended
	torn    bool   // a segment is wrong

	settledTail, youngTail bool // there are postings after the head

	recent *mark // before the first posting that is quite new
}

// place is what was added up through one KSUID.
type place struct{ all, young fold }

// cut is a place where a fold of the balance ends.
type cut struct {
	name   string
	stored fold
	at     *place // nil until it is passed
}

func compare(ctx context.Context, p pair) (compared, error) {
	c := &comparison{pair: p, all: tallyFrom(p.from.fold, p.from.first), young: new(tally)}
	c.chain = place{p.from.fold, noFold()}
	if c.balance.version == 0 {
		c.balance.base, c.balance.seal, c.balance.head = noFold(), noFold(), noFold()
	}
	c.cuts = [3]cut{{name: table.AttrBase, stored: c.balance.base}, {name: table.AttrSeal, stored: c.balance.seal}, {name: table.AttrHead, stored: c.balance.head}}
	if err := c.nextSegment(ctx); err != nil {
		return compared{}, err
	}
	for {
		item, err := p.postings(ctx)
		if err != nil {
			return compared{}, err
		}
		if item == nil {
			break
		}
		posting, err := figuresOf(item)
		if err != nil {
			return compared{}, err
		}
		if err := c.pass(ctx, posting.ksuid); err != nil {
			return compared{}, err
		}
		c.count(posting)
	}
	if err := c.pass(ctx, ""); err != nil {
		return compared{}, err
	}
	c.judgeBalance()
	c.judgeBase()
	result := compared{total: c.all.fold(), first: c.all.first, tail: c.youngTail && !c.settledTail, base: start()}
	if base := c.cuts[0]; !c.torn && base.stored.equal(base.at.all) {
		result.base = mark{fold: base.stored, first: c.all.first}
	}
	result.recent = mark{result.total, result.first}
	if c.recent != nil {
		result.recent = *c.recent
	}
	c.judgeGuard(result.total)
	result.issues = c.issues
	return result, nil
}

func (c *comparison) count(p leg) {
	at, _ := instantOf(p.ksuid)
	if c.recent == nil && !at.Before(c.quiteNew) {
		c.recent = &mark{c.all.fold(), c.all.first}
	}
	isYoung := !at.Before(c.settled)
	if isYoung {
		c.young.add(p)
	}
	if p.ksuid > c.balance.head.through {
		c.settledTail, c.youngTail = c.settledTail || !isYoung, c.youngTail || isYoung
	}
	c.all.add(p)
}

func (c *comparison) here() *place { return &place{c.all.fold(), c.young.fold()} }

// mayEnd tells whether a fold may end at a KSUID that is no posting's: one where none can arrive any more. A rebuild keeps
// such ends, as they make no difference to what is folded; above that, postings would be passed over.
func (c *comparison) mayEnd(through string) bool {
	at, ok := instantOf(through)
	return ok && at.Before(c.past)
}

// pass closes what ends before a posting; "" is the end.
func (c *comparison) pass(ctx context.Context, next string) error {
	for c.segment != nil {
		if c.after == nil && (next == "" || next > c.segment.after) {
			c.after = c.here()
		}
		if next != "" && next <= c.segment.through {
			break
		}
		c.closeSegment()
		if err := c.nextSegment(ctx); err != nil {
			return err
		}
	}
	for i := range c.cuts {
		switch cut := &c.cuts[i]; {
		case cut.at != nil:
		case cut.stored.through == "":
			cut.at = &place{noFold(), noFold()}
		case next == "" || next > cut.stored.through:
			cut.at = c.here()
			if c.mayEnd(cut.stored.through) && (cut.name != table.AttrHead || cut.stored.through == c.balance.seal.through) {
				cut.at.all.through = cut.stored.through
			}
		}
	}
	return nil
}

// found adds an issue.
func (c *comparison) found(code Code, key table.Key, attribute, stored, recomputed string, s state, lasting bool) {
	c.issues = append(c.issues, issue{Finding{code, key, attribute, stored, recomputed}, s, lasting})
}

// judgeBalance compares what the balance says of its folds: one issue, with all that is wrong.
func (c *comparison) judgeBalance() {
	var stored, recomputed []string
	worst := right
	tell := func(name, is, ought string, s state) {
		stored, recomputed = append(stored, name+": "+is), append(recomputed, name+": "+ought)
		worst = max(worst, s)
	}
	b := c.balance
	for _, cut := range c.cuts {
		if cut.name == table.AttrHead && b.unfinished {
			continue // what is shown waits for the end
		}
		if s := judge(cut.stored, cut.at.all, cut.at.young); s != right {
			tell(cut.name, cut.stored.String(), cut.at.all.String(), s)
		}
	}
	if b.base.through > b.seal.through || !b.unfinished && b.seal.through > b.head.through {
		tell("order", "not nested", "base within seal within head", wrong)
	}
	if first := c.firstCounted(); b.first != first {
		s := worst // a first that is not counted yet
		if s == right || b.first < first && b.first != "" {
			s = wrong
		}
		tell(table.AttrFirst, quoted(b.first), quoted(first), s)
	}
	// A save on the way that arrives when everything was counted already leaves the balance unfinished, and what it shows whole.
	if c.settledTail || b.unfinished && !c.youngTail && !b.head.equal(c.all.fold()) {
		is := b.head.String()
		if b.unfinished {
			is += ", unfinished"
		}
		tell(table.AttrHead, is, c.all.fold().String(), behind)
	}
	if len(stored) == 0 {
		return
	}
	code, is := BalanceBehind, strings.Join(stored, "; ")
	if worst == wrong {
		code = BalanceWrong
	}
	if b.version == 0 {
		is = absent
	}
	c.found(code, table.BalanceKey(c.of.id, c.asset), "", is, strings.Join(recomputed, "; "), worst, worst == wrong)
}

// firstCounted is the first posting, unless it is none that the balance counts.
func (c *comparison) firstCounted() string {
	if first := c.all.first; first <= max(c.balance.seal.through, c.balance.head.through) {
		return first
	}
	return ""
}

func quoted(ksuid string) string {
	if ksuid == "" {
		return absent
	}
	return strconv.Quote(ksuid)
}

// judgeGuard compares the guard with the gross debits, and what is left with the limit.
func (c *comparison) judgeGuard(total fold) {
	if !c.of.known {
		return
	}
	key, limit := table.SpendKey(c.of.id, c.asset), c.of.limit(c.asset)
	spent := absent
	if c.guard != nil {
		spent = c.guard.String()
	}
	switch {
	case limit == nil && c.guard != nil:
		c.found(GuardUnexpected, key, table.AttrSpent, spent, absent+": the account has no limit", wrong, true)
	case limit == nil:
	case c.guard != nil && total.debits.Sign() == 0:
		c.found(GuardUnexpected, key, table.AttrSpent, spent, absent+": it never spent any", wrong, false)
	case c.guard == nil && total.debits.Sign() != 0, c.guard != nil && c.guard.Cmp(total.debits) != 0:
		c.found(GuardWrong, key, table.AttrSpent, spent, total.debits.String(), wrong, false)
	}
	if limit != nil && new(big.Int).Add(total.quantity(), limit).Sign() < 0 {
		c.found(Overdrawn, table.BalanceKey(c.of.id, c.asset), "", fmt.Sprintf("quantity %s", total.quantity()),
			fmt.Sprintf("not below -%s", limit), wrong, false)
	}
}
