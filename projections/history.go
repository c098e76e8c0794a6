package projections

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// History lists an account's postings of all assets, newest first.
func (l *Lists) History(ctx context.Context, account string, span Span, s Slice) (
	Page[events.PostingRecorded], error,
) {
	from, to := bounds(span, s.After)
	r := store.Posting.History().Since(from).Before(to)
	q := store.Query{Index: store.IndexHistory, Partition: store.Account.PK(account), Within: r, Descending: true}
	return list(ctx, l, "list history", q, s.Limit, idOfPosting, decodeAs[events.PostingRecorded])
}

// HistoryOf lists an account's postings of one asset, newest first; if strong, by a consistent read.
func (l *Lists) HistoryOf(
	ctx context.Context, k events.Pair, span Span, s Slice, strong bool,
) (Page[events.PostingRecorded], error) {
	from, to := bounds(span, s.After)
	r := store.Posting.All(k.Asset).Since(from).Before(to)
	q := store.Query{Partition: store.Account.PK(k.Account), Within: r, Descending: true}
	q.Consistency = store.Consistency(strong)
	return list(ctx, l, "list history of an asset", q, s.Limit, idOfPosting, decodeAs[events.PostingRecorded])
}

// bounds returns the KSUIDs from (included) and to (excluded) for the rest of a history, newest first, after the
// posting `after`.
func bounds(span Span, after string) (from, to string) {
	if !span.From.IsZero() {
		from = string(events.FirstKSUID(wholeMicros(span.From)))
	}
	if !span.To.IsZero() {
		to = string(events.FirstKSUID(wholeMicros(span.To)))
	}
	if after != "" && (to == "" || after < to) {
		to = after
	}
	return from, to
}

// wholeMicros rounds t up to whole microseconds, the precision of postings' times.
func wholeMicros(t time.Time) time.Time {
	return t.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

// idOfPosting returns the position of a posting in a history: its KSUID.
func idOfPosting(k store.Key) (string, bool) {
	_, _, id, ok := store.Posting.Parse(k)
	return id, ok
}

// AccountPage reads an account, its summary and its first balances, at most limit.
func (l *Lists) AccountPage(ctx context.Context, account string, limit int) (page AccountPage, err error) {
	defer annotate(&err, "read account page")
	page.Summary.Account = account
	q := store.Query{Partition: store.Account.PK(account), Within: store.PageRange()}
	const leading = 3 // the account, its newest change and its summary, which sort before its balances
	items, last, err := l.query(ctx, q, leading+limit+1)
	if err != nil {
		return page, err
	}
	if page.Opened, items, err = takeAccount(items); err != nil {
		return page, err
	}
	if len(items) > 0 && is(items[0], store.Current.Parse) {
		newest, err := store.DecodeCurrent(items[0])
		if err != nil {
			return page, err
		}
		page.Newest, items = &newest, items[1:]
	}
	if len(items) > 0 && is(items[0], store.Summary.Parse) {
		if page.Summary, err = decodeSummary(items[0]); err != nil {
			return page, err
		}
		items = items[1:]
	}
	page.Balances, err = paged(items, last, limit, secondOf(store.Balance.Parse), decodeBalance)
	return page, err
}

// takeAccount decodes the account if it is the first of items. It returns the other items.
func takeAccount(items []store.Item) (*events.AccountOpened, []store.Item, error) {
	if len(items) == 0 {
		return nil, nil, nil
	}
	key, err := store.KeyOf(items[0])
	if err != nil {
		return nil, nil, err
	}
	if _, ok := store.Account.Parse(key); !ok {
		return nil, items, nil
	}
	opened, err := decodeAs[events.AccountOpened](items[0])
	return &opened, items[1:], err
}

// is reports whether parse accepts the key of an item.
func is(item store.Item, parse func(store.Key) (string, bool)) bool {
	key, err := store.KeyOf(item)
	_, ok := parse(key)
	return ok && err == nil
}

// Newest reads the account and its newest n postings of all assets. The account is nil if the history index does not
// have it.
func (l *Lists) Newest(ctx context.Context, account string, n int) (
	opened *events.AccountOpened, postings Page[events.PostingRecorded], err error,
) {
	defer annotate(&err, "read account and newest postings")
	// The account sorts above its postings: in descending order it comes first.
	r := store.Range{From: store.Posting.Prefix(), To: store.Account.SK2()}
	q := store.Query{
		Index: store.IndexHistory, Partition: store.Account.PK(account), Within: r, Descending: true,
	}
	items, last, err := l.query(ctx, q, n+1)
	if err != nil {
		return nil, postings, err
	}
	if opened, items, err = takeAccount(items); err != nil {
		return nil, postings, err
	}
	if n > 0 {
		postings, err = paged(items, last, n, idOfPosting, decodeAs[events.PostingRecorded])
	} else if last != nil || len(items) > 0 {
		postings.Next = topOfHistory()
	}
	return opened, postings, err
}

// topOfHistory is a position above all postings, for a page without any.
func topOfHistory() string {
	const beyond = 1 << 40 // seconds since 1970: later than any KSUID
	return string(events.FirstKSUID(time.Unix(beyond, 0)))
}
