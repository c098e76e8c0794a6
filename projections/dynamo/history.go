package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// History implements projections.Lists.
func (l *Lists) History(ctx context.Context, account string, span projections.Span, s projections.Slice) (projections.Listed[events.PostingRecorded], error) {
	from, to := bounds(span, s.After)
	r := table.HistoryRange(from, to)
	q := wire.WithinHistory(table.AccountKey(account).PK, r, &dynamodb.QueryInput{ScanIndexForward: aws.Bool(false)})
	return list(ctx, l, "list history", r, q, s.Limit, idOfPosting, decodeAs[events.PostingRecorded])
}

// HistoryOf implements projections.Lists.
func (l *Lists) HistoryOf(ctx context.Context, k projections.Key, span projections.Span, s projections.Slice, strong bool) (projections.Listed[events.PostingRecorded], error) {
	from, to := bounds(span, s.After)
	r := table.PostingsBetween(k.Asset, from, to)
	q := wire.Within(table.AccountKey(k.Account).PK, r, &dynamodb.QueryInput{
		ScanIndexForward: aws.Bool(false),
		ConsistentRead:   &strong,
	})
	return list(ctx, l, "list history of an asset", r, q, s.Limit, idOfPosting, decodeAs[events.PostingRecorded])
}

// bounds returns the KSUIDs from (included) and to (excluded) between which what is left of a history lies, newest first,
// after the posting `after` was given.
func bounds(span projections.Span, after string) (from, to string) {
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

// wholeMicros returns the first whole microsecond at or after t: postings are of whole microseconds, so those at or after
// t are those at or after it.
func wholeMicros(t time.Time) time.Time {
	whole := t.Truncate(time.Microsecond)
	if whole.Before(t) {
		whole = whole.Add(time.Microsecond)
	}
	return whole
}

func idOfPosting(k table.Key) (string, bool) {
	_, _, id, ok := table.ParsePosting(k)
	return id, ok
}

// AccountPage implements projections.Lists.
func (l *Lists) AccountPage(ctx context.Context, account string, limit int) (*events.AccountOpened, projections.Summary, projections.Listed[projections.Balance], error) {
	q := wire.Within(table.AccountKey(account).PK, table.PageRange(), &dynamodb.QueryInput{})
	const beside = 2 // the account and its summary, which sort before its balances
	items, last, err := l.query(ctx, q, beside+limit+1)

	var opened *events.AccountOpened
	summary := projections.Summary{Account: account}
	for err == nil && len(items) > 0 {
		var key table.Key
		if key, err = wire.KeyOf(items[0]); err != nil {
			break
		}
		if _, ok := table.ParseAccount(key); ok {
			opened = new(events.AccountOpened)
			*opened, err = decodeAs[events.AccountOpened](items[0])
		} else if _, ok := table.ParseSummary(key); ok {
			summary, err = decodeSummary(items[0])
		} else {
			break
		}
		items = items[1:]
	}
	var balances projections.Listed[projections.Balance]
	if err == nil {
		balances, err = paged(items, last, limit, assetOfBalance, decodeBalance)
	}
	if err != nil {
		return nil, projections.Summary{}, projections.Listed[projections.Balance]{}, fmt.Errorf("read account page: %w", err)
	}
	return opened, summary, balances, nil
}

// Newest implements projections.Lists.
func (l *Lists) Newest(ctx context.Context, account string, n int) (*events.AccountOpened, projections.Listed[events.PostingRecorded], error) {
	opened, postings, err := l.newest(ctx, account, n)
	if err != nil {
		return nil, projections.Listed[events.PostingRecorded]{}, fmt.Errorf("read account and newest postings: %w", err)
	}
	return opened, postings, nil
}

// topOfHistory is a position above all postings: a page of none has no last posting to go on after.
func topOfHistory() string {
	const beyond = 1 << 40 // seconds since 1970: past every instant that a KSUID can hold
	return string(events.FirstKSUID(time.Unix(beyond, 0)))
}

func (l *Lists) newest(ctx context.Context, account string, n int) (*events.AccountOpened, projections.Listed[events.PostingRecorded], error) {
	var postings projections.Listed[events.PostingRecorded]
	// From below all postings to the account itself, which sorts above them: in reverse it comes first.
	r := table.Range{From: table.PostingPrefix, To: table.ProfileSK2}
	q := wire.WithinHistory(table.AccountKey(account).PK, r, &dynamodb.QueryInput{ScanIndexForward: aws.Bool(false)})
	items, last, err := l.query(ctx, q, n+1)
	if err != nil || len(items) == 0 {
		return nil, postings, err
	}
	key, err := wire.KeyOf(items[0])
	if err != nil {
		return nil, postings, err
	}
	var opened *events.AccountOpened
	if _, ok := table.ParseAccount(key); ok {
		opened = new(events.AccountOpened)
		if *opened, err = decodeAs[events.AccountOpened](items[0]); err != nil {
			return nil, postings, err
		}
		items = items[1:]
	}
	if n == 0 {
		if last != nil || len(items) > 0 {
			postings.Next = topOfHistory()
		}
		return opened, postings, nil
	}
	postings, err = paged(items, last, n, idOfPosting, decodeAs[events.PostingRecorded])
	return opened, postings, err
}
