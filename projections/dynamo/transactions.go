package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

var _ projections.JournalViews = (*Lists)(nil)

// Transactions implements projections.Lists. It skips entries that are void or contradict their header.
func (l *Lists) Transactions(ctx context.Context, by projections.Search, s projections.Slice) (
	page projections.Page[projections.Transaction], err error,
) {
	defer annotate(&err, "list transactions")
	entries, next, err := l.listedEntries(ctx, by, s)
	if err != nil {
		return page, err
	}
	wanted := make(map[string]bool, len(entries))
	for _, e := range entries {
		wanted[e.Transaction] = wanted[e.Transaction] || e.Held
	}
	found, err := l.TransactionsByID(ctx, wanted)
	if err != nil {
		return page, err
	}
	page.Next = next
	for _, e := range entries {
		t, ok := found[e.Transaction]
		if ok && t.Header.Legs[0].ID == e.ID && t.Header.IsHold() == e.Held &&
			(by.Key == "" || t.Header.Metadata[by.Key] == by.Value) {
			page.Items = append(page.Items, t)
		}
	}
	return page, nil
}

// listedEntries returns the entries of one page over all partitions, in order. next is the position of the last, "" if
// there are no more.
func (l *Lists) listedEntries(ctx context.Context, by projections.Search, s projections.Slice) (
	entries []projections.ListedEntry, next string, err error,
) {
	r, direction := listedRange(by, s.After)
	if r.Empty() {
		return nil, "", nil
	}
	partitions := []string{table.ListedMetadata.PK(by.Key, by.Value)}
	if by.Key == "" {
		partitions = partitions[:0]
		for shard := range table.Shards {
			partitions = append(partitions, table.TransactionsPK(shard))
		}
	}
	queries := make([]*dynamodb.QueryInput, len(partitions))
	for i, pk := range partitions {
		queries[i] = ddb.Within(pk, r, &dynamodb.QueryInput{ScanIndexForward: &by.OldestFirst})
	}
	items, more, err := l.merge(ctx, queries, s.Limit, table.AttrSK, direction)
	if err != nil {
		return nil, "", err
	}
	if more {
		_, next, _ = strings.Cut(text(items[s.Limit-1][table.AttrSK]), "#")
	}
	for _, item := range items {
		if ddb.Read(item).OptionalFlag(table.AttrVoid) { // also if it is malformed
			continue
		}
		e, err := decodeListedEntry(item)
		if err != nil {
			return nil, "", err
		}
		entries = append(entries, e)
	}
	return entries, next, nil
}

// listedRange returns the range of a search after a position, and its direction: 1 for oldest first, -1 for newest.
func listedRange(by projections.Search, after string) (r table.Range, direction int) {
	if !by.OldestFirst {
		from, to := bounds(by.Span, after)
		return table.Listed.All().Since(from).Before(to), -1
	}
	from, to := bounds(by.Span, "")
	if after > from {
		return table.Listed.All().After(after).Before(to), 1
	}
	return table.Listed.All().Since(from).Before(to), 1
}

// JournalPages implements projections.JournalViews.
func (l *Lists) JournalPages(ctx context.Context, after string, limit int) (
	pages []projections.JournalPage, at time.Time, err error,
) {
	q := ddb.Within(table.Journal.PK(), table.Journal.All().After(after), &dynamodb.QueryInput{
		TableName: &l.table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
	})
	out, err := ddb.Page(ctx, l.client, q)
	if err != nil {
		return nil, at, err
	}
	pages = make([]projections.JournalPage, len(out.Items))
	for i, item := range out.Items {
		if pages[i], err = decodeJournal(item); err != nil {
			return nil, at, err
		}
	}
	return pages, ddb.StoreTime(out.ResultMetadata), nil
}
