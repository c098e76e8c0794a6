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

// StatementPage is a page of a statement: the postings of a span, oldest first. Opening is the fold of all postings
// before the span. Closing is the fold of all postings before its end. On the last page, Closing equals Opening plus
// the postings of all pages.
type StatementPage struct {
	Opening, Closing Fold
	Lines            []StatementLine
	To               time.Time      // the end of the span, or the present if that is in the future
	Settled          bool           // of Closing, since the first page was read; see PastBalance
	Next             *StatementMark // where the next page begins; nil: the end
}

// StatementMark is a cursor in a statement. It carries the sums, To and Settled, so that pages remain consistent when
// postings arrive between them. Balance is the fold through the last posting of the previous page.
type StatementMark struct {
	Opening, Balance, Closing Fold
	To                        time.Time
	Settled                   bool
}

// Statement returns a page of at most limit postings of k in span. Both ends of span are set. A nil from begins the
// statement. Reads are eventually consistent. The first page takes one request for each megabyte of segments, and one
// for the page and the postings before it in its segment. If there are more pages, one more request computes Closing.
// Each later page takes one request. Errors: those of Balance.
func (p *Past) Statement(ctx context.Context, k events.Pair, span Span, from *StatementMark, limit int) (
	page StatementPage, err error,
) {
	if from != nil && from.To.Before(span.To) {
		span.To = from.To
	}
	before, through, begun := events.LastKSUIDBefore(span.From), events.LastKSUIDBefore(span.To), p.now()
	mark, skip := StatementMark{}, 0
	if from != nil {
		mark = *from
	} else if mark, skip, err = p.open(ctx, k, before, through); err != nil {
		return page, err
	}
	for after, more := mark.Balance.Through, true; more && page.Next == nil; skip = 0 {
		q := p.eventual.postings(k, after, through)
		q.Limit = skip + limit - len(page.Lines) + 1
		read, err := readPage(ctx, p.eventual.table, q, decodeAs[events.PostingRecorded])
		if err != nil {
			return page, fmt.Errorf("read postings: %w", err)
		}
		more, page.Settled = read.next != nil, through < SettledBefore(begun, read.at)
		for _, e := range read.found {
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
		mark.Closing, _, err = p.eventual.FoldOn(ctx, k, mark.Closing, through)
	}
	if from == nil {
		mark.To = p.until(span.To, mark.Closing.Through.Time().Add(time.Microsecond))
		mark.Settled = page.Settled
	}
	page.Opening, page.Closing, page.To = mark.Opening, mark.Closing, mark.To
	page.Settled = page.Settled && mark.Settled
	return page, err
}

// open returns the sums of the segments before the span, and of those before its end. skip is how many postings of the
// next segment may precede the span.
func (p *Past) open(ctx context.Context, k events.Pair, before, through events.KSUID) (
	mark StatementMark, skip int, err error,
) {
	next := int64(StretchPostings)
	for s, err := range p.eventual.Segments(ctx, k, through) {
		if err == nil {
			mark.Closing, err = p.eventual.extend(ctx, mark.Closing, s.Segment)
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
	return mark, int(min(next, skipMax)), nil
}

// skipMax bounds the postings before a statement that one request reads. A segment with many late postings has more.
const skipMax = 4 * StretchPostings
