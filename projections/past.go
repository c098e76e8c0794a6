package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Past computes balances as of a past time, and statements. A past balance is the sum of the closed segments up to that
// time and of the postings after the last of them. It is safe for concurrent use.
type Past struct {
	strong, eventual *Views
	lists            *Lists
	now              func() time.Time
}

// NewPast returns a Past on a table. now is the process's clock (nil: time.Now).
func NewPast(t table.Table, now func() time.Time) *Past {
	if now == nil {
		now = time.Now
	}
	views := NewViews(t)
	return &Past{strong: views, eventual: views.Eventual(), lists: NewLists(t), now: now}
}

// PastBalance is a balance as of a time: the fold of every posting at that time or before. Postings are never removed,
// so equal Counts mean equal folds.
type PastBalance struct {
	events.Pair
	Fold
	At      time.Time // the time, or the present if it is in the future
	Settled bool      // see isSettled
}

// isSettled reports whether no command in progress can post from first through `through` any more: that is at least
// table.SettleWindow ago, and no closing of the books that covers it, or a part of it, awaits its FinalAt. Postings
// with an effective date outside closed periods may still come. It makes one request, none if `through` is not that
// long ago. What is read after the call is settled if it returns true. Errors: those of Views.
func (p *Past) isSettled(ctx context.Context, first, through events.KSUID) (bool, error) {
	begun := p.now()
	if through >= SettledBefore(begun, begun) {
		return false, nil
	}
	q := table.Query{
		Partition: table.Period.PK(), Within: table.Period.All(), Descending: true, Consistency: table.Strong,
		Limit: closingsRead,
	}
	closings, err := readPage(ctx, p.strong.table, q, decodeAs[events.PeriodClosed])
	if err != nil {
		return false, fmt.Errorf("read closed periods: %w", err)
	}
	if through >= SettledBefore(begun, closings.at) {
		return false, nil
	}
	if closings.at.Before(begun) {
		begun = closings.at
	}
	return !slices.ContainsFunc(closings.found, func(c events.PeriodClosed) bool {
		return first < events.FirstKSUID(c.Before) && begun.Before(c.FinalAt())
	}), nil
}

// closingsRead is the number of newest closings that may await their FinalAt. More in 5 minutes would be a mistake.
const closingsRead = 20

func (p *Past) views(strong bool) *Views {
	if strong {
		return p.strong
	}
	return p.eventual
}

// Balance returns the balance of k as of at, in whole microseconds. If strong, it includes every transaction
// acknowledged before the call. One with an effective date may be missing, or disappear again, until it is projected.
// It makes one request for each megabyte of segments (about 4,000), one for the postings after the last segment, and
// one for the closings of the books. Errors: those of Views; events.ErrOverflow.
func (p *Past) Balance(ctx context.Context, k events.Pair, at time.Time, strong bool) (PastBalance, error) {
	isSettled, err := p.isSettled(ctx, lastThrough(at), lastThrough(at))
	if err != nil {
		return PastBalance{}, err
	}
	b, err := p.sum(ctx, p.views(strong), k, at)
	b.Settled = isSettled
	return b, err
}

// sum is Balance without Settled.
func (p *Past) sum(ctx context.Context, views *Views, k events.Pair, at time.Time) (PastBalance, error) {
	b, through := PastBalance{Pair: k}, lastThrough(at)
	for s, err := range views.Segments(ctx, k, through) {
		if err == nil {
			b.Fold, err = views.extend(ctx, b.Fold, s)
		}
		if err != nil {
			return PastBalance{}, err
		}
	}
	var err error
	b.Fold, _, err = views.FoldOn(ctx, k, b.Fold, through)
	b.At = p.until(at, b.Through.Time())
	return b, err
}

// until returns t, or the present if t is in the future: this process's time, or that of the newest posting counted, if
// a process with another clock minted it.
func (p *Past) until(t, newest time.Time) time.Time {
	if now := p.now().UTC().Truncate(time.Microsecond); newest.Before(now) {
		newest = now
	}
	if t.Before(newest) {
		return t
	}
	return newest
}

// lastThrough returns the greatest KSUID of the instant t, in whole microseconds.
func lastThrough(t time.Time) events.KSUID { return events.LastKSUIDBefore(t.Add(time.Microsecond)) }

// Balances is Balance for a page of an account's assets, by asset. It leaves out assets without a posting at that time,
// so a page may be short. It is also short if the Slice has a Budget that does not pay for more. It finds the assets in
// one request, or if strong in one for each. Each asset then takes the requests of Balance; the closings are read once.
func (p *Past) Balances(ctx context.Context, account string, at time.Time, strong bool, s Slice) (
	listed Page[PastBalance], err error,
) {
	isSettled, err := p.isSettled(ctx, lastThrough(at), lastThrough(at))
	if err != nil {
		return listed, err
	}
	page := balancesPage[PastBalance]{
		views: p.views(strong), slice: s,
		next: func(ctx context.Context, v *Views, after string) (string, error) {
			return v.NextAsset(ctx, account, after)
		},
		read: func(ctx context.Context, v *Views, asset string) (PastBalance, error) {
			return p.sum(ctx, v, events.Pair{Account: account, Asset: asset}, at)
		},
	}
	next := ""
	if !strong {
		var assets []string
		if assets, next, err = p.projectedAssets(ctx, account, at, s); err != nil {
			return listed, err
		}
		page.next = among(assets)
	}
	found, err := page.all(ctx)
	if err != nil {
		return listed, err
	}
	for _, b := range found.Items {
		if b.Settled = isSettled; b.Count > 0 {
			listed.Items = append(listed.Items, b)
		}
	}
	listed.Next = cmp.Or(found.Next, next)
	return listed, nil
}

// among finds assets in a list that is in order.
func among(assets []string) func(context.Context, *Views, string) (string, error) {
	return func(_ context.Context, _ *Views, after string) (string, error) {
		i, isFound := slices.BinarySearch(assets, after)
		if isFound {
			i++
		}
		if i == len(assets) {
			return "", table.ErrAbsent
		}
		return assets[i], nil
	}
}

// projectedAssets returns the assets of a page of stored balances whose first posting is not after at.
func (p *Past) projectedAssets(ctx context.Context, account string, at time.Time, s Slice) ([]string, string, error) {
	_, balances, err := p.lists.Balances(ctx, account, s)
	var assets []string
	for _, b := range balances.Items {
		if b.First <= lastThrough(at) {
			assets = append(assets, b.Asset)
		}
	}
	return assets, balances.Next, err
}

// Segments yields the segments of k that end at through or before ("": all), in order. It holds at most one page of
// them in memory. The first error ends it.
func (v *Views) Segments(ctx context.Context, k events.Pair, through events.KSUID) iter.Seq2[Segment, error] {
	q := v.within(k.Account, table.Segment.All(k.Asset).Through(string(through)))
	return func(yield func(Segment, error) bool) {
		for p, err := range readPages(ctx, v.table, q, decodeSegment) {
			if err != nil {
				yield(Segment{}, fmt.Errorf("read segments: %w", err))
				return
			}
			for _, s := range p.found {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// extend adds s to f. Between f and s a segment may be lost or not visible yet: transactions become visible item by
// item. Then extend reads the postings of the gap. It skips a segment that begins before f ends: the caller reads its
// postings instead.
func (v *Views) extend(ctx context.Context, f Fold, s Segment) (_ Fold, err error) {
	if s.After < f.Through {
		return f, nil
	}
	if s.After > f.Through {
		if f, _, err = v.FoldOn(ctx, s.Pair, f, s.After); err != nil {
			return Fold{}, err
		}
	}
	f, err = f.Plus(s.Fold)
	f.Through = s.Through
	return f, err
}

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
	Settled          bool           // of Closing, when the first page was read; see isSettled
	Next             *StatementMark // where the next page begins; nil: the end
}

// StatementMark is a cursor in a statement. It carries the sums, To and Settled, so that pages remain consistent when
// postings arrive between them. Balance is the fold through the last posting of the previous page. The ledger must have
// this posting, because the sums of another ledger would be wrong money.
type StatementMark struct {
	Opening, Balance, Closing Fold
	To                        time.Time
	Settled                   bool
}

// ErrNotInStatement means that the account does not have the posting before a mark: the mark is of another ledger, or
// the table was restored to a time before it.
var ErrNotInStatement = errors.New("the account does not have the posting before the mark")

// Statement returns a page of at most limit postings of k in span. Both ends of span are set. A nil from begins the
// statement. Reads are eventually consistent. The first page takes one request for the closings of the books, one for
// each megabyte of segments, and one for the page and the postings before it in its segment. If there are more pages,
// one more request computes Closing. Each later page takes one request. Errors: those of Balance; ErrNotInStatement.
func (p *Past) Statement(ctx context.Context, k events.Pair, span Span, from *StatementMark, limit int) (
	page StatementPage, err error,
) {
	if from != nil && from.To.Before(span.To) {
		span.To = from.To
	}
	before, through := events.LastKSUIDBefore(span.From), events.LastKSUIDBefore(span.To)
	mark, skip, known := StatementMark{}, 0, events.KSUID("")
	if from != nil {
		mark, known = *from, from.Balance.Through
	} else {
		isSettled, err := p.isSettled(ctx, events.FirstKSUID(span.From), through)
		if err == nil {
			mark, skip, err = p.open(ctx, k, before, through)
		}
		if err != nil {
			return page, err
		}
		mark.Settled = isSettled
	}
	for after, more := mark.Balance.Through, true; more && page.Next == nil; skip = 0 {
		q := p.eventual.postings(k, after, through)
		q.Limit = skip + limit - len(page.Lines) + 1
		read, err := p.postings(ctx, k, q, known)
		if known = ""; err != nil {
			return page, fmt.Errorf("read postings: %w", err)
		}
		more = read.next != nil
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
	}
	page.Opening, page.Closing, page.To, page.Settled = mark.Opening, mark.Closing, mark.To, mark.Settled
	return page, err
}

// postings reads a page of the postings of q. With known, q begins after the posting with that id: postings reads it,
// too, to see that it exists. If an eventually consistent read does not find it, a strong one decides. Error: also
// ErrNotInStatement.
func (p *Past) postings(ctx context.Context, k events.Pair, q table.Query, known events.KSUID) (
	read page[events.PostingRecorded], err error,
) {
	if known == "" {
		return readPage(ctx, p.eventual.table, q, decodeAs[events.PostingRecorded])
	}
	q.Within.From = table.Posting.All(k.Asset).Since(string(known)).From
	q.Limit++
	for _, v := range []*Views{p.eventual, p.strong} {
		q.Consistency = v.queries
		read, err = readPage(ctx, v.table, q, decodeAs[events.PostingRecorded])
		if err == nil && len(read.found) > 0 && read.found[0].ID == known {
			read.found = read.found[1:]
			return read, nil
		}
		if err != nil {
			return read, err
		}
	}
	return read, ErrNotInStatement
}

// open returns the sums of the segments before the span, and of those before its end. skip is how many postings of the
// next segment may precede the span.
func (p *Past) open(ctx context.Context, k events.Pair, before, through events.KSUID) (
	mark StatementMark, skip int, err error,
) {
	next := int64(StretchPostings)
	for s, err := range p.eventual.Segments(ctx, k, through) {
		if err == nil {
			mark.Closing, err = p.eventual.extend(ctx, mark.Closing, s)
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
