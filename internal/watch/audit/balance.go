package audit

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ledger.example/internal/table"
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
	latest  time.Time // as must those from this instant on: their time is wrong, see isYoung
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
	usageOfBase    usage        // at the end of the base
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
	if c.balance.Version == 0 {
		c.balance.Base, c.balance.Seal, c.balance.Head = noFold(), noFold(), noFold()
	}
	c.folds = [3]foldCheck{{name: table.AttrBase, stored: c.balance.Base},
		{name: table.AttrSeal, stored: c.balance.Seal}, {name: table.AttrHead, stored: c.balance.Head}}
	if !c.unreadable {
		c.readAll(ctx)
	}
	if c.unreadable {
		return c
	}
	c.judgeBalance()
	c.judgeBase()
	c.judgeGuard(c.all)
	if c.beforeRecent == nil {
		c.beforeRecent = &c.all
	}
	return c
}

// tail returns the numbers of postings after the end of the head, and of the young ones among them.
func (c *comparison) tail() (all, young int64) {
	head := c.folds[2].actual
	return c.all.Count - head.all.Count, c.young.Count - head.young.Count
}

// isTailYoung reports whether the head does not count the last postings, and all of these are young.
func (c *comparison) isTailYoung() bool {
	all, young := c.tail()
	return young > 0 && young == all
}

// resume returns the sums from which the next comparison may start.
func (c *comparison) resume() tally {
	if base := c.folds[0]; !c.isSegmentWrong && base.stored.equal(base.actual.all) {
		return tally{base.stored, c.all.first, c.usageOfBase}
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
		c.compareEndsBefore(ctx, p.ID)
		c.count(p)
	}
	c.compareEndsBefore(ctx, "")
}

// count adds a posting to the sums. A posting is young if its balance need not count it yet.
func (c *comparison) count(p posting) {
	at := p.at()
	if effective, _ := instantOf(p.ID); c.beforeRecent == nil && !effective.Before(c.recent) {
		before := c.all.copy()
		c.beforeRecent = &before
	}
	if !at.Before(c.settled) && at.Before(c.latest) {
		c.young.add(p)
	}
	c.all.add(p)
	c.closing.count(p, at)
}

// here returns the sums so far.
func (c *comparison) here() *checkpoint { return &checkpoint{c.all.fold.copy(), c.young.fold.copy()} }

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
		if c.segmentStart == nil && (next == "" || next > c.segment.After) {
			c.segmentStart = c.here()
		}
		if next != "" && next <= c.segment.Through {
			break
		}
		c.compareSegment()
		c.readSegment(ctx)
	}
	for i := range c.folds {
		switch cut := &c.folds[i]; {
		case cut.actual != nil:
		case cut.stored.Through == "":
			cut.actual = &checkpoint{noFold(), noFold()}
		case next == "" || next > cut.stored.Through:
			cut.actual = c.here()
			if cut.name == table.AttrBase {
				c.usageOfBase = c.all.usage.copy()
			}
			if c.mayEnd(cut.stored.Through) &&
				(cut.name != table.AttrHead || cut.stored.Through == c.balance.Seal.Through) {
				cut.actual.all.Through = cut.stored.Through
			}
		}
	}
}

// addIssue adds an issue.
func (c *comparison) addIssue(code Code, key table.Key, attribute, stored, recomputed string, s state, looks int) {
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
	if b.Version == 0 && c.all.Count > 0 && (c.lost || c.hasSegment) { // a segment needs a balance
		c.addIssue(BalanceLost, table.Balance.Key(c.account.ID, c.asset), "", absent, c.all.String(), wrong, lasting)
		return
	}
	for _, cut := range c.folds {
		if cut.name == table.AttrHead && b.Unfinished {
			continue // the refold of the head is in progress
		}
		if s := judge(cut.stored, cut.actual.all, cut.actual.young); s != right {
			differ(cut.name, cut.stored.String(), cut.actual.all.String(), s)
		}
	}
	if b.Base.Through > b.Seal.Through || !b.Unfinished && b.Seal.Through > b.Head.Through {
		differ("order", "not nested", "base within seal within head", wrong)
	}
	if first := c.firstCounted(); b.First != first {
		s := worst // the first posting is not projected yet
		if s == right || b.First < first && b.First != "" {
			s = wrong
		}
		differ(table.AttrFirst, quoted(b.First), quoted(first), s)
	}
	// A delayed save of a refold in progress may mark a balance as unfinished although its head is complete.
	if all, young := c.tail(); all > young || b.Unfinished && young == 0 && !b.Head.equal(c.all.fold) {
		is := b.Head.String()
		if b.Unfinished {
			is += ", unfinished"
		}
		differ(table.AttrHead, is, c.all.String(), behind)
	}
	if len(stored) == 0 {
		return
	}
	code, is := codeOf(worst, BalanceBehind, BalanceWrong, BalanceCountsMore), strings.Join(stored, "; ")
	if b.Version == 0 {
		is = absent
	}
	c.addIssue(code, table.Balance.Key(c.account.ID, c.asset), "", is, strings.Join(recomputed, "; "), worst,
		worst.looks())
}

// firstCounted returns the KSUID of the first posting, or "" if the balance does not count it.
func (c *comparison) firstCounted() string {
	if first := c.all.first; first <= max(c.balance.Seal.Through, c.balance.Head.Through) {
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

// readSegment reads the next segment, if there is one.
func (c *comparison) readSegment(ctx context.Context) {
	c.segment, c.segmentStart = nil, nil
	if item := c.pair.segments(ctx); item != nil {
		if s, ok := as[segment](item); ok {
			c.segment, c.hasSegment = &s, true
		} else {
			c.unreadable = true
		}
	}
}

// compareSegment compares the segment that ends here with its postings, and its beginning with the end of the segment
// before.
func (c *comparison) compareSegment() {
	s, end := *c.segment, c.here()
	key := table.Segment.Key(c.account.ID, c.asset, s.Through)
	if base := c.balance.Base.Through; c.balance.Version > 0 && s.Through > base {
		c.addIssue(SegmentWrong, key, "", s.String(), "no segment: the base ends at "+quoted(base), wrong, lasting)
		return
	}
	sums := end.minus(c.previousEnd)
	switch {
	case s.After == c.previousEnd.all.Through:
		c.judgeSegment(key, s, sums)
	case s.After < c.previousEnd.all.Through, s.After >= s.Through, s.fold.sameSums(sums.all):
		c.isSegmentWrong = true
		c.addIssue(SegmentWrong, key, table.AttrAfter, quoted(s.After), quoted(c.previousEnd.all.Through), wrong,
			lasting)
	default:
		missing := c.segmentStart.minus(c.previousEnd)
		missing.all.Through = s.After
		c.noSegment(missing)
		c.judgeSegment(key, s, end.minus(*c.segmentStart))
	}
	c.previousEnd = *end
	c.previousEnd.all.Through = s.Through
}

// minus returns the sums since an earlier checkpoint.
func (p *checkpoint) minus(q checkpoint) checkpoint {
	return checkpoint{p.all.minus(q.all), p.young.minus(q.young)}
}

// judgeSegment compares a segment with the sums of its postings.
func (c *comparison) judgeSegment(key table.Key, s segment, sums checkpoint) {
	if c.mayEnd(s.Through) {
		sums.all.Through = s.Through
	}
	state := judge(s.fold, sums.all, sums.young)
	if state == right {
		return
	}
	c.isSegmentWrong = true
	code := codeOf(state, SegmentBehind, SegmentWrong, SegmentCountsMore)
	c.addIssue(code, key, "", s.String(), sums.all.String(), state, state.looks())
}

// noSegment adds an issue for postings that no segment counts. sums are those of the missing segment.
func (c *comparison) noSegment(sums checkpoint) {
	c.isSegmentWrong = true
	c.addIssue(SegmentMissing, table.Segment.Key(c.account.ID, c.asset, sums.all.Through), "", absent,
		sums.all.String(), wrong, lasting)
}

// judgeBase checks that the segments reach the end of the base.
func (c *comparison) judgeBase() {
	if c.previousEnd.all.Through < c.balance.Base.Through {
		missing := c.folds[0].actual.minus(c.previousEnd)
		missing.all.Through = c.balance.Base.Through
		c.noSegment(missing)
	}
}
