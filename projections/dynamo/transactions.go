package dynamo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

var _ projections.JournalViews = (*Lists)(nil)

// Transactions implements projections.Lists. An entry is left out that is void, or does not agree with its header.
func (l *Lists) Transactions(ctx context.Context, by projections.Search, s projections.Slice) (
	page projections.Listed[projections.Transaction], err error,
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
		t := found[e.Transaction]
		if t.Header.ID != "" && t.Header.Legs[0].ID == e.ID && t.Header.IsHold() == e.Held &&
			(by.Key == "" || t.Header.Metadata[by.Key] == by.Value) {
			page.Items = append(page.Items, t)
		}
	}
	return page, nil
}

// listedEntries returns the entries of one page over all partitions, in order, and the position of the last if there
// are more.
func (l *Lists) listedEntries(ctx context.Context, by projections.Search, s projections.Slice) (
	entries []projections.ListedEntry, next string, err error,
) {
	r, direction := listedRange(by, s.After)
	if r.Empty() {
		return nil, "", nil
	}
	partitions := []string{table.MetadataPK(by.Key, by.Value)}
	if by.Key == "" {
		partitions = partitions[:0]
		for shard := range table.ListShards {
			partitions = append(partitions, table.TransactionsPK(shard))
		}
	}
	found := make([][]ddb.Item, len(partitions))
	reads, readCtx := errgroup.WithContext(ctx)
	for i, pk := range partitions {
		reads.Go(func() (err error) {
			q := ddb.Within(pk, r, &dynamodb.QueryInput{ScanIndexForward: &by.OldestFirst})
			found[i], _, err = l.query(readCtx, q, s.Limit+1)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return nil, "", err
	}
	items := slices.Concat(found...)
	slices.SortFunc(items, func(a, b ddb.Item) int {
		return direction * cmp.Compare(ddb.Read(a).Text(table.AttrSK), ddb.Read(b).Text(table.AttrSK))
	})
	if len(items) > s.Limit {
		items = items[:s.Limit]
		_, next, _ = strings.Cut(ddb.Read(items[s.Limit-1]).Text(table.AttrSK), "#")
	}
	for _, item := range items {
		if ddb.Read(item).OptionalFlag(table.AttrVoid) { // whatever it says
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

// listedRange returns the entries of a search behind the position after, and 1 for oldest first, else -1.
func listedRange(by projections.Search, after string) (r table.Range, direction int) {
	if !by.OldestFirst {
		return table.ListedBetween(bounds(by.Span, after)), -1
	}
	from, to := bounds(by.Span, "")
	if after > from {
		return table.ListedAfter(after, to), 1
	}
	return table.ListedBetween(from, to), 1
}

// JournalPages implements projections.JournalViews.
func (l *Lists) JournalPages(ctx context.Context, after string, limit int) (
	pages []projections.JournalPage, at time.Time, err error,
) {
	q := ddb.Within(table.JournalPK, table.JournalAfter(after, ""), &dynamodb.QueryInput{
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

// TransactionsByID implements projections.JournalViews.
func (l *Lists) TransactionsByID(ctx context.Context, ended map[string]bool) (
	map[string]projections.Transaction, error,
) {
	keys := make([]table.Key, 0, 2*len(ended))
	for id, isEnded := range ended {
		if keys = append(keys, table.TransactionKey(id)); isEnded {
			keys = append(keys, table.OutcomeKey(id))
		}
	}
	return lives(ctx, l.client, l.table, keys, true)
}
