package audit

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ledger.example/internal/table"
)

// pair is one asset of one account, as it was read.
type pair struct {
	of      account
	asset   string
	balance balance
	guard   *guard // nil if there is none
	from    tally  // everything up to here was compared before
	lost    bool   // the summary counts a balance, and there is none

	settled time.Time // postings before this instant must be counted
	past    time.Time // postings before this instant can no longer be committed
	recent  time.Time // postings before this instant have probably been committed

	unreadable bool // an item cannot be computed from: there is nothing to compare, and the scan reports it

	segments, postings items // from there on, to be read after balance and guard

	closing *closing // nil: the account is not closed, or that was judged before
}

// issue is a finding that is not confirmed.
type issue struct {
	Finding
	state state
	// isProved: writes during the reads cannot explain it, as postings only ever arrive and a balance is one item.
	isProved bool
}

// compared is the result of a comparison. It has nothing else if it is unreadable.
type compared struct {
	unreadable bool

	issues []issue
	total  tally
	tail   bool  // the last postings are not counted yet, and all of them are young
	base   tally // where the next comparison may begin
	recent tally // of the postings that are not recent
}

// comparison compares a pair. It reads the postings once, and compares each stored fold with the sums at its end.
type comparison struct {
	pair
	all, young tally
	issues     []issue

	cuts    [3]cut // base, seal, head
	segment *segment
	after   *place // the sums where the segment begins, once that is passed
	chain   place  // the sums where the last segment ended
	torn    bool   // a segment is wrong
	closed  bool   // there is a segment

	settledTail, youngTail bool // there are postings after the head

	beforeRecent *tally
}

// place holds the sums through one KSUID.
type place struct{ all, young fold }

// cut is one of the balance's folds.
type cut struct {
	name   string
	stored fold
	at     *place // the sums at its end; nil until it is passed
}

// compare compares the balance, the segments and the guard of a pair with its postings. It reads the postings once.
func compare(ctx context.Context, p pair) compared {
	c := &comparison{pair: p, all: p.from.copy(), young: newTally(), chain: place{p.from.fold, noFold()}}
	if c.balance.version == 0 {
		c.balance.base, c.balance.seal, c.balance.head = noFold(), noFold(), noFold()
	}
	c.cuts = [3]cut{{name: table.AttrBase, stored: c.balance.base}, {name: table.AttrSeal, stored: c.balance.seal},
		{name: table.AttrHead, stored: c.balance.head}}
	if !c.unreadable {
		c.readAll(ctx)
	}
	if c.unreadable {
		return compared{unreadable: true}
	}
	c.judgeBalance()
	c.judgeBase()
	c.judgeGuard(c.all.fold)
	result := compared{total: c.all, tail: c.youngTail && !c.settledTail, base: newTally(), recent: c.all,
		issues: c.issues}
	if base := c.cuts[0]; !c.torn && base.stored.equal(base.at.all) {
		result.base = tally{base.stored, c.all.first}
	}
	if c.beforeRecent != nil {
		result.recent = *c.beforeRecent
	}
	return result
}

// readAll adds up the postings, and compares what ends between them, until something is unreadable.
func (c *comparison) readAll(ctx context.Context) {
	c.nextSegment(ctx)
	for item := range c.postings.all(ctx) {
		p, ok := figuresOf(item)
		c.unreadable = c.unreadable || !ok
		if c.unreadable {
			return
		}
		c.pass(ctx, p.ksuid)
		c.count(p)
	}
	c.pass(ctx, "")
}

// count adds a posting to the sums. A posting is young if its balance need not count it yet.
func (c *comparison) count(p leg) {
	at, _ := instantOf(p.ksuid)
	if c.beforeRecent == nil && !at.Before(c.recent) {
		before := c.all.copy()
		c.beforeRecent = &before
	}
	isYoung := !at.Before(c.settled)
	if isYoung {
		c.young.add(p)
	}
	if p.ksuid > c.balance.head.through {
		c.settledTail, c.youngTail = c.settledTail || !isYoung, c.youngTail || isYoung
	}
	c.all.add(p)
	c.closing.count(p, at)
}

// here returns the sums so far.
func (c *comparison) here() *place { return &place{c.all.copy().fold, c.young.copy().fold} }

// mayEnd reports whether a fold may end at a KSUID that is not a posting's: only where no posting can arrive any more.
// A rebuild keeps such ends, as they do not change the fold. Above that, postings would be passed over.
func (c *comparison) mayEnd(through string) bool {
	at, ok := instantOf(through)
	return ok && at.Before(c.past)
}

// pass compares the segments and cuts that end before the next posting; "" is the end.
func (c *comparison) pass(ctx context.Context, next string) {
	for c.segment != nil {
		if c.after == nil && (next == "" || next > c.segment.after) {
			c.after = c.here()
		}
		if next != "" && next <= c.segment.through {
			break
		}
		c.closeSegment()
		c.nextSegment(ctx)
	}
	for i := range c.cuts {
		switch cut := &c.cuts[i]; {
		case cut.at != nil:
		case cut.stored.through == "":
			cut.at = &place{noFold(), noFold()}
		case next == "" || next > cut.stored.through:
			cut.at = c.here()
			if c.mayEnd(cut.stored.through) &&
				(cut.name != table.AttrHead || cut.stored.through == c.balance.seal.through) {
				cut.at.all.through = cut.stored.through
			}
		}
	}
}

// found adds an issue.
func (c *comparison) found(code Code, key table.Key, attribute, stored, recomputed string, s state, isProved bool) {
	c.issues = append(c.issues, issue{Finding{code, key, attribute, stored, recomputed}, s, isProved})
}

// judgeBalance compares the balance's folds with the sums at their ends. It adds one issue, with everything that is
// wrong.
func (c *comparison) judgeBalance() {
	var stored, recomputed []string
	worst := right
	differ := func(name, is, ought string, s state) {
		stored, recomputed = append(stored, name+": "+is), append(recomputed, name+": "+ought)
		worst = max(worst, s)
	}
	b := c.balance
	if b.version == 0 && c.all.count > 0 && (c.lost || c.closed) { // a segment is written with its balance
		c.found(BalanceLost, table.BalanceKey(c.of.id, c.asset), "", absent, c.all.String(), wrong, false)
		return
	}
	for _, cut := range c.cuts {
		if cut.name == table.AttrHead && b.unfinished {
			continue // its head is old until it is read to the end
		}
		if s := judge(cut.stored, cut.at.all, cut.at.young); s != right {
			differ(cut.name, cut.stored.String(), cut.at.all.String(), s)
		}
	}
	if b.base.through > b.seal.through || !b.unfinished && b.seal.through > b.head.through {
		differ("order", "not nested", "base within seal within head", wrong)
	}
	if first := c.firstCounted(); b.first != first {
		s := worst // a first that is not counted yet
		if s == right || b.first < first && b.first != "" {
			s = wrong
		}
		differ(table.AttrFirst, quoted(b.first), quoted(first), s)
	}
	// An intermediate save of a refold that comes late marks the balance unfinished although its head is complete.
	if c.settledTail || b.unfinished && !c.youngTail && !b.head.equal(c.all.fold) {
		is := b.head.String()
		if b.unfinished {
			is += ", unfinished"
		}
		differ(table.AttrHead, is, c.all.String(), behind)
	}
	if len(stored) == 0 {
		return
	}
	code, is := balanceCodes[worst], strings.Join(stored, "; ")
	if b.version == 0 {
		is = absent
	}
	c.found(code, table.BalanceKey(c.of.id, c.asset), "", is, strings.Join(recomputed, "; "), worst, worst >= wrong)
}

// firstCounted returns the first posting, "" if the balance does not count it.
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
