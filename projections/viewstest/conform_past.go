package viewstest

import (
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// past tests PastViews with both consistencies.
func (c *conformance) past() {
	var segments []projections.Segment
	var postings []events.PostingRecorded
	for n := 10; n <= 200; n += 10 { // several pages of the in-memory store
		segments = append(segments, segment(jane, n-10, n, 7))
		postings = append(postings, events.PostingRecorded{
			Leg:         events.Leg{ID: id(n), Account: "jane", Asset: "USD", Quantity: events.NewAmount(int64(n))},
			Transaction: "t", Kind: events.KindTransfer, Description: "é",
		})
		c.must(c.seed.Put(c.ctx, postings[len(postings)-1]))
	}
	other := events.Pair{Account: "jane", Asset: "USD:1"}
	c.must(c.seed.Post(c.ctx, other, projections.Posting{ID: id(15)}))
	c.write(projections.Change{Balance: projections.Balance{Pair: jane}, Segments: segments})
	c.write(projections.Change{Balance: projections.Balance{Pair: other}, Segments: []projections.Segment{
		segment(other, 0, 15, 1)}})
	for _, r := range []struct {
		after, through int // 0: from the first
		from, to       int // of all
	}{
		{0, 200, 0, 20}, {0, 999, 0, 20}, {10, 200, 1, 20}, {15, 145, 1, 14}, {20, 30, 2, 3}, {0, 10, 0, 1},
		{0, 9, 0, 0}, {20, 20, 2, 2}, {200, 200, 20, 20}, {30, 20, 3, 3},
	} {
		for _, views := range []projections.PastViews{c.Views, c.Eventual()} {
			var after events.KSUID
			if r.after > 0 {
				after = id(r.after)
			}
			timed := func(at events.KSUID, clock time.Time) {
				if clock.IsZero() && at < id(r.through) {
					c.Errorf("the page after %s came without the store's clock", at)
				}
			}
			gotSegments := pages(c, after, func(at events.KSUID) ([]projections.Segment, bool, error) {
				page, more, clock, err := views.Segments(c.ctx, jane, at, id(r.through))
				timed(at, clock)
				return page, more, err
			}, func(s projections.Segment) events.KSUID { return s.Through })
			gotPostings := pages(c, after, func(at events.KSUID) ([]events.PostingRecorded, bool, error) {
				page, more, clock, err := views.Entries(c.ctx, jane, at, id(r.through), 3)
				if timed(at, clock); len(page) > 3 {
					c.Errorf("%d postings in a page of 3", len(page))
				}
				return page, more, err
			}, func(p events.PostingRecorded) events.KSUID { return p.ID })
			if !slices.Equal(gotSegments, segments[r.from:r.to]) || !slices.Equal(gotPostings, postings[r.from:r.to]) {
				c.Errorf("after %d through %d: %v, %v", r.after, r.through, gotSegments, gotPostings)
			}
		}
	}
}
