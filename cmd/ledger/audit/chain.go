package audit

import (
	"context"

	"ledger.example/ledger/table"
)

func (c *comparison) nextSegment(ctx context.Context) error {
	c.segment, c.after = nil, nil
	item, err := c.pair.segments(ctx)
	if item == nil || err != nil {
		return err
	}
	s, ok := as[segment](item)
	if !ok {
		return errUnreadable
	}
	c.segment = &s
	return nil
}

// closeSegment compares a segment whose end was reached with the postings in it, and its beginning with the end of the one
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
		c.lacks(missing)
		c.judgeSegment(key, s, end.minus(*c.after))
	}
	c.chain = *end
	c.chain.all.through = s.through
}

// minus is what was added up since q.
func (p *place) minus(q place) place { return place{p.all.minus(q.all), p.young.minus(q.young)} }

func (c *comparison) judgeSegment(key table.Key, s segment, stretch place) {
	if c.mayEnd(s.through) {
		stretch.all.through = s.through
	}
	found := judge(s.fold, stretch.all, stretch.young)
	code := SegmentBehind
	switch found {
	case right:
		return
	case wrong:
		code = SegmentWrong
	}
	c.torn = true
	c.found(code, key, "", s.String(), stretch.all.String(), found, found == wrong)
}

// lacks reports a stretch without a segment.
func (c *comparison) lacks(stretch place) {
	c.torn = true
	c.found(SegmentMissing, table.SegmentKey(c.of.id, c.asset, stretch.all.through), "", absent, stretch.all.String(), wrong, false)
}

// judgeBase finds out whether the segments reach up to the base.
func (c *comparison) judgeBase() {
	if c.chain.all.through < c.balance.base.through {
		missing := c.cuts[0].at.minus(c.chain)
		missing.all.through = c.balance.base.through
		c.lacks(missing)
	}
}
