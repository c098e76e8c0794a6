package audit

import (
	"context"

	"ledger.example/internal/table"
)

// nextSegment reads the next segment, if there is one.
func (c *comparison) nextSegment(ctx context.Context) {
	c.segment, c.after = nil, nil
	if item := c.pair.segments(ctx); item != nil {
		if s, ok := as[segment](item); ok {
			c.segment, c.closed = &s, true
		} else {
			c.unreadable = true
		}
	}
}

// closeSegment compares a segment whose end is reached with its postings, and its beginning with the end of the one
// before.
func (c *comparison) closeSegment() {
	s, end := *c.segment, c.here()
	key := table.SegmentKey(c.of.id, c.asset, s.through)
	if base := c.balance.base.through; c.balance.version > 0 && s.through > base {
		c.found(SegmentWrong, key, "", s.String(), "no segment: the base ends at "+quoted(base), wrong, false)
		return
	}
	stretch := end.minus(c.chain)
	switch {
	case s.after == c.chain.all.through:
		c.judgeSegment(key, s, stretch)
	case s.after < c.chain.all.through, s.fold.sameFigures(stretch.all):
		c.torn = true
		c.found(SegmentWrong, key, table.AttrAfter, quoted(s.after), quoted(c.chain.all.through), wrong, false)
	default:
		missing := c.after.minus(c.chain)
		missing.all.through = s.after
		c.noSegment(missing)
		c.judgeSegment(key, s, end.minus(*c.after))
	}
	c.chain = *end
	c.chain.all.through = s.through
}

// minus returns the sums since q.
func (p *place) minus(q place) place { return place{p.all.minus(q.all), p.young.minus(q.young)} }

// judgeSegment compares a segment with the sums of the postings in its stretch.
func (c *comparison) judgeSegment(key table.Key, s segment, stretch place) {
	if c.mayEnd(s.through) {
		stretch.all.through = s.through
	}
	found := judge(s.fold, stretch.all, stretch.young)
	if found == right {
		return
	}
	c.torn = true
	c.found(segmentCodes[found], key, "", s.String(), stretch.all.String(), found, found >= wrong)
}

// noSegment adds an issue for a stretch without a segment.
func (c *comparison) noSegment(stretch place) {
	c.torn = true
	c.found(SegmentMissing, table.SegmentKey(c.of.id, c.asset, stretch.all.through), "", absent, stretch.all.String(),
		wrong, false)
}

// judgeBase checks that the segments reach up to the base.
func (c *comparison) judgeBase() {
	if c.chain.all.through < c.balance.base.through {
		missing := c.cuts[0].at.minus(c.chain)
		missing.all.through = c.balance.base.through
		c.noSegment(missing)
	}
}
