package projections

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
)

// StatementLine is a posting with the balance after it.
type StatementLine struct {
	events.PostingRecorded
	After events.Amount // posted quantity
}

// StatementPage is a page of a statement: the postings of a span, oldest first. Opening is the fold of all before the
// span. Closing is that of all before its end: on the last page it is Opening and every posting of all pages.
type StatementPage struct {
	Opening, Closing Fold
	Lines            []StatementLine
	Settled          bool           // see PastBalance; of Closing
	Next             *StatementMark // where to go on; nil: the end
}

// StatementMark is a place in a statement. It carries the sums, so that pages fit together whatever arrives between
// them. Balance is the fold through the last posting of the pages before.
type StatementMark struct{ Opening, Balance, Closing Fold }

// Statement returns a page of at most limit postings of k in span, both of whose ends are given: from the beginning,
// or from a mark. Reads are eventually consistent. The first page takes the requests of Balance at the end of the
// span, and one for the page with what precedes it in its stretch; the last of Balance's only when there are more
// pages. The others take one. Errors: those of Balance.
func (p *Past) Statement(ctx context.Context, k events.Pair, span Span, from *StatementMark, limit int) (
	page StatementPage, err error,
) {
	before, through, begun := events.LastKSUIDBefore(span.From), events.LastKSUIDBefore(span.To), p.now()
	mark, skip := StatementMark{}, 0
	if from != nil {
		mark = *from
	} else if mark, skip, err = p.open(ctx, k, before, through); err != nil {
		return page, err
	}
	for after, more := mark.Balance.Through, true; more && page.Next == nil; skip = 0 {
		var found []events.PostingRecorded
		var at time.Time
		found, more, at, err = p.eventual.Entries(ctx, k, after, through, skip+limit-len(page.Lines)+1)
		if err != nil {
			return page, fmt.Errorf("read postings: %w", err)
		}
		page.Settled = through < SettledBefore(begun, at)
		for _, e := range found {
			if len(page.Lines) == limit {
				page.Next = &mark
				break
			}
			if mark.Balance, err = mark.Balance.Add(Posting{e.ID, e.Figures()}); err != nil {
				return page, fmt.Errorf("add posting %s: %w", e.ID, err)
			}
			if after = e.ID; after <= before {
				mark.Opening = mark.Balance
				continue
			}
			page.Lines = append(page.Lines, StatementLine{e, mark.Balance.Quantity()})
		}
	}
	switch {
	case page.Next == nil:
		mark.Closing = mark.Balance
	case from == nil:
		mark.Closing, _, err = FoldOn(ctx, p.eventual, k, mark.Closing, through)
	}
	page.Opening, page.Closing = mark.Opening, mark.Closing
	return page, err
}

// open returns the sums of the segments before the span, and of those before its end, and how many postings of the
// next segment may stand before the span.
func (p *Past) open(ctx context.Context, k events.Pair, before, through events.KSUID) (
	mark StatementMark, skip int, err error,
) {
	next := int64(StretchPostings)
	for s, err := range readSegments(ctx, p.eventual, k, through) {
		if err == nil {
			mark.Closing, err = extend(ctx, p.eventual, mark.Closing, s.Segment)
		}
		switch {
		case err != nil:
			return mark, 0, err
		case s.Through <= before:
			mark.Opening = mark.Closing
		case s.After <= mark.Opening.Through:
			next = s.Count
		}
	}
	mark.Balance = mark.Opening
	return mark, int(min(next, skipMost)), nil
}

// skipMost is the most postings before a statement that one request reads: those of a segment may be more, if many
// came late.
const skipMost = 4 * StretchPostings
