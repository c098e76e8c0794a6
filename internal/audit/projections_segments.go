package audit

import (
	"context"

	"ledger.example/internal/store"
)

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
	key := store.Segment.Key(c.account.id, c.asset, s.through)
	if base := c.balance.base.through; c.balance.version > 0 && s.through > base {
		c.addIssue(SegmentWrong, key, "", s.String(), "no segment: the base ends at "+quoted(base), wrong, lasting)
		return
	}
	sums := end.minus(c.previousEnd)
	switch {
	case s.after == c.previousEnd.all.through:
		c.judgeSegment(key, s, sums)
	case s.after < c.previousEnd.all.through, s.fold.sameSums(sums.all):
		c.isSegmentWrong = true
		c.addIssue(SegmentWrong, key, store.AttrAfter, quoted(s.after), quoted(c.previousEnd.all.through), wrong,
			lasting)
	default:
		missing := c.segmentStart.minus(c.previousEnd)
		missing.all.through = s.after
		c.noSegment(missing)
		c.judgeSegment(key, s, end.minus(*c.segmentStart))
	}
	c.previousEnd = *end
	c.previousEnd.all.through = s.through
}

// minus returns the sums since an earlier checkpoint.
func (p *checkpoint) minus(q checkpoint) checkpoint {
	return checkpoint{p.all.minus(q.all), p.young.minus(q.young)}
}

// judgeSegment compares a segment with the sums of its postings.
func (c *comparison) judgeSegment(key store.Key, s segment, sums checkpoint) {
	if c.mayEnd(s.through) {
		sums.all.through = s.through
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
	c.addIssue(SegmentMissing, store.Segment.Key(c.account.id, c.asset, sums.all.through), "", absent,
		sums.all.String(), wrong, lasting)
}

// judgeBase checks that the segments reach the end of the base.
func (c *comparison) judgeBase() {
	if c.previousEnd.all.through < c.balance.base.through {
		missing := c.folds[0].actual.minus(c.previousEnd)
		missing.all.through = c.balance.base.through
		c.noSegment(missing)
	}
}
