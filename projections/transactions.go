package projections

import (
	"context"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Transactions lists transactions by time. Positions are the KSUID of the first leg, a # and the id. It makes one
// request for each partition of the list (a metadata value has one), and one strongly consistent request for each
// hundred items found. A page may be short. It skips entries that are void or contradict their header.
func (l *Lists) Transactions(ctx context.Context, by Search, s Slice) (page Page[Transaction], err error) {
	defer annotate(&err, "list transactions")
	entries, next, err := l.listedEntries(ctx, by, s)
	if err != nil {
		return page, err
	}
	wanted := make(map[string]bool, len(entries))
	for _, e := range entries {
		wanted[e.Transaction] = wanted[e.Transaction] || e.Held
	}
	found, err := TransactionsByID(ctx, l.table, wanted, store.Strong)
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
func (l *Lists) listedEntries(ctx context.Context, by Search, s Slice) (
	entries []ListedEntry, next string, err error,
) {
	r, direction := listedRange(by, s.After)
	if r.Empty() {
		return nil, "", nil
	}
	partitions := []string{store.ListedMetadata.PK(by.Key, by.Value)}
	if by.Key == "" {
		partitions = partitions[:0]
		for shard := range store.Shards {
			partitions = append(partitions, store.TransactionsPK(shard))
		}
	}
	queries := make([]store.Query, len(partitions))
	for i, pk := range partitions {
		queries[i] = store.Query{Partition: pk, Within: r, Descending: !by.OldestFirst}
	}
	items, more, err := l.merge(ctx, queries, s.Limit, store.AttrSK, direction)
	if err != nil {
		return nil, "", err
	}
	if more {
		_, next, _ = strings.Cut(store.TextOf(items[s.Limit-1][store.AttrSK]), "#")
	}
	for _, item := range items {
		if store.Read(item).OptionalFlag(store.AttrVoid) { // also if it is malformed
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
func listedRange(by Search, after string) (r store.Range, direction int) {
	if !by.OldestFirst {
		from, to := bounds(by.Span, after)
		return store.Listed.All().Since(from).Before(to), -1
	}
	from, to := bounds(by.Span, "")
	if after > from {
		return store.Listed.All().After(after).Before(to), 1
	}
	return store.Listed.All().Since(from).Before(to), 1
}

// TransactionsByID reads the headers of the transactions whose ids are keys of ended. Where the value is true, it also
// reads the end of the hold. It makes one request for each hundred items. Absent transactions are left out, and so is
// an end without its header. Errors: those of store.Table; store.ErrMalformedItem; those of events.Decode.
func TransactionsByID(ctx context.Context, t store.Table, ended map[string]bool, c store.Consistency) (
	map[string]Transaction, error,
) {
	keys := make([]store.Key, 0, 2*len(ended))
	for id, isEnded := range ended {
		if keys = append(keys, store.Transaction.Key(id)); isEnded {
			keys = append(keys, store.Outcome.Key(id))
		}
	}
	found, ends := make(map[string]Transaction, len(ended)), make(map[string]*events.HoldEnded)
	err := forEach(ctx, t, keys, c, func(_ store.Key, item store.Item) error {
		e, err := store.DecodeEvent(item)
		switch e := e.(type) {
		case events.TransactionPosted:
			found[e.ID] = Transaction{Header: e}
		case events.HoldEnded:
			ends[e.Transaction] = &e
		}
		return err
	})
	for id, t := range found {
		t.Ended = ends[id]
		found[id] = t
	}
	return found, err
}
