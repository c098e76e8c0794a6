package audit

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ledger.example/internal/store"
)

// pair has the items of one asset of one account.
type pair struct {
	account account
	asset   string
	balance balance
	guard   *guard // nil: none is stored
	start   tally  // the sums of the postings that an earlier round found right
	lost    bool   // the summary counts a balance, but none is stored

	settled time.Time // postings before this instant must be projected
	past    time.Time // postings before this instant can no longer be committed
	recent  time.Time // postings before this instant have probably been committed

	unreadable bool // an item is unusable; the scan reports it

	segments, postings items // after start; read them after balance and guard

	closing *closing // nil: the account is not closed, or the closing was checked before
}

// issue is an unconfirmed finding.
type issue struct {
	Finding
	state state
	looks int // it is a finding after this number of successive looks
}

const (
	// proved: writes during the reads cannot explain an issue. Postings are never deleted, and a balance is one item.
	proved = 1
	// An issue that a write in progress causes disappears at the next look, or moves to another item.
	lasting = 3
)

// comparison compares a pair. It adds up the postings in order, and compares each stored fold with the sums at its end.
// If the pair is unreadable, the comparison proves nothing.
type comparison struct {
	pair
	all, young tally // of all postings, and of those that need not be projected yet
	issues     []issue

	folds          [3]foldCheck // base, seal, head
	segment        *segment     // the next segment; nil: there are no more
	segmentStart   *checkpoint  // the sums at its beginning; nil until the comparison passes that
	previousEnd    checkpoint   // the sums at the end of the segment before
	isSegmentWrong bool         // a segment is wrong or missing
	hasSegment     bool         // at least one segment is stored

	beforeRecent *tally // the sums before the first recent posting; nil until the comparison passes that
}

// checkpoint has the sums of the postings through one KSUID, and of the young ones among them.
type checkpoint struct{ all, young fold }

// foldCheck is the comparison of one of the balance's folds.
type foldCheck struct {
	name   string
	stored fold
	actual *checkpoint // the sums at its end; nil until the comparison passes that
}

// compare compares the balance, the segments and the guard of a pair with its postings. It reads the postings once.
func compare(ctx context.Context, p pair) *comparison {
	c := &comparison{pair: p, all: p.start.copy(), young: newTally(), previousEnd: checkpoint{p.start.fold, noFold()}}
	if c.balance.version == 0 {
		c.balance.base, c.balance.seal, c.balance.head = noFold(), noFold(), noFold()
	}
	c.folds = [3]foldCheck{{name: store.AttrBase, stored: c.balance.base},
		{name: store.AttrSeal, stored: c.balance.seal}, {name: store.AttrHead, stored: c.balance.head}}
	if !c.unreadable {
		c.readAll(ctx)
	}
	if c.unreadable {
		return c
	}
	c.judgeBalance()
	c.judgeBase()
	c.judgeGuard(c.all.fold)
	if c.beforeRecent == nil {
		c.beforeRecent = &c.all
	}
	return c
}

// tail returns the numbers of postings after the end of the head, and of the young ones among them.
func (c *comparison) tail() (all, young int64) {
	head := c.folds[2].actual
	return c.all.count - head.all.count, c.young.count - head.young.count
}

// isTailYoung reports whether the head does not count the last postings, and all of these are young.
func (c *comparison) isTailYoung() bool {
	all, young := c.tail()
	return young > 0 && young == all
}

// resume returns the sums from which the next comparison may start.
func (c *comparison) resume() tally {
	if base := c.folds[0]; !c.isSegmentWrong && base.stored.equal(base.actual.all) {
		return tally{base.stored, c.all.first}
	}
	return newTally()
}

// readAll adds up the postings, and compares the folds that end between them. It stops at an unreadable item.
func (c *comparison) readAll(ctx context.Context) {
	c.readSegment(ctx)
	for item := range c.postings.all(ctx) {
		p, ok := amountsOf(item)
		c.unreadable = c.unreadable || !ok
		if c.unreadable {
			return
		}
		c.compareEndsBefore(ctx, p.ksuid)
		c.count(p)
	}
	c.compareEndsBefore(ctx, "")
}

// count adds a posting to the sums. A posting is young if its balance need not count it yet.
func (c *comparison) count(p leg) {
	at, _ := instantOf(p.ksuid)
	if c.beforeRecent == nil && !at.Before(c.recent) {
		before := c.all.copy()
		c.beforeRecent = &before
	}
	if !at.Before(c.settled) {
		c.young.add(p)
	}
	c.all.add(p)
	c.closing.count(p, at)
}

// here returns the sums so far.
func (c *comparison) here() *checkpoint { return &checkpoint{c.all.copy().fold, c.young.copy().fold} }

// mayEnd reports whether a fold may end at a KSUID without a posting. A rebuild keeps such ends. They are harmless
// where no more postings can be committed; later ends would make the projector skip postings.
func (c *comparison) mayEnd(through string) bool {
	at, ok := instantOf(through)
	return ok && at.Before(c.past)
}

// compareEndsBefore compares the segments and folds that end before the next posting. next is "" after the last
// posting.
func (c *comparison) compareEndsBefore(ctx context.Context, next string) {
	for c.segment != nil {
		if c.segmentStart == nil && (next == "" || next > c.segment.after) {
			c.segmentStart = c.here()
		}
		if next != "" && next <= c.segment.through {
			break
		}
		c.compareSegment()
		c.readSegment(ctx)
	}
	for i := range c.folds {
		switch cut := &c.folds[i]; {
		case cut.actual != nil:
		case cut.stored.through == "":
			cut.actual = &checkpoint{noFold(), noFold()}
		case next == "" || next > cut.stored.through:
			cut.actual = c.here()
			if c.mayEnd(cut.stored.through) &&
				(cut.name != store.AttrHead || cut.stored.through == c.balance.seal.through) {
				cut.actual.all.through = cut.stored.through
			}
		}
	}
}

// addIssue adds an issue.
func (c *comparison) addIssue(code Code, key store.Key, attribute, stored, recomputed string, s state, looks int) {
	c.issues = append(c.issues, issue{Finding{code, key, attribute, stored, recomputed}, s, looks})
}

// judgeBalance compares the balance's folds with the sums at their ends. It adds one issue for all differences.
func (c *comparison) judgeBalance() {
	var stored, recomputed []string
	worst := right
	differ := func(name, is, ought string, s state) {
		stored, recomputed = append(stored, name+": "+is), append(recomputed, name+": "+ought)
		worst = max(worst, s)
	}
	b := c.balance
	if b.version == 0 && c.all.count > 0 && (c.lost || c.hasSegment) { // a segment needs a balance
		c.addIssue(BalanceLost, store.Balance.Key(c.account.id, c.asset), "", absent, c.all.String(), wrong, lasting)
		return
	}
	for _, cut := range c.folds {
		if cut.name == store.AttrHead && b.unfinished {
			continue // the refold of the head is in progress
		}
		if s := judge(cut.stored, cut.actual.all, cut.actual.young); s != right {
			differ(cut.name, cut.stored.String(), cut.actual.all.String(), s)
		}
	}
	if b.base.through > b.seal.through || !b.unfinished && b.seal.through > b.head.through {
		differ("order", "not nested", "base within seal within head", wrong)
	}
	if first := c.firstCounted(); b.first != first {
		s := worst // the first posting is not projected yet
		if s == right || b.first < first && b.first != "" {
			s = wrong
		}
		differ(store.AttrFirst, quoted(b.first), quoted(first), s)
	}
	// A delayed save of a refold in progress may mark a balance as unfinished although its head is complete.
	if all, young := c.tail(); all > young || b.unfinished && young == 0 && !b.head.equal(c.all.fold) {
		is := b.head.String()
		if b.unfinished {
			is += ", unfinished"
		}
		differ(store.AttrHead, is, c.all.String(), behind)
	}
	if len(stored) == 0 {
		return
	}
	code, is := codeOf(worst, BalanceBehind, BalanceWrong, BalanceCountsMore), strings.Join(stored, "; ")
	if b.version == 0 {
		is = absent
	}
	c.addIssue(code, store.Balance.Key(c.account.id, c.asset), "", is, strings.Join(recomputed, "; "), worst,
		worst.looks())
}

// firstCounted returns the KSUID of the first posting, or "" if the balance does not count it.
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
