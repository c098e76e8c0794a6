package projections

import (
	"context"
	"fmt"
	"strconv"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// ReversalsOf lists the reversals of a transaction, oldest first; positions are their numbers. It is strongly
// consistent, and makes two requests.
func (l *Lists) ReversalsOf(ctx context.Context, transaction string, s Slice) (page Page[Reversal], err error) {
	defer annotate(&err, "list reversals")
	after := int64(0)
	if s.After != "" {
		if after, err = strconv.ParseInt(s.After, 10, 64); err != nil {
			return page, err
		}
	}
	r := store.Reversal.All().After(store.Number(after))
	q := store.Query{Partition: store.Transaction.PK(transaction), Within: r, Consistency: store.Strong}
	number := func(k store.Key) (string, bool) {
		_, n, ok := store.Reversal.Parse(k)
		return strconv.FormatInt(n, 10), ok
	}
	reversals, err := list(ctx, l, "list", q, s.Limit, number, decodeAs[events.TransactionReversed])
	if err != nil {
		return page, err
	}
	wanted := make(map[string]bool, len(reversals.Items))
	for _, e := range reversals.Items {
		wanted[e.By] = false
	}
	found, err := TransactionsByID(ctx, l.table, wanted, store.Strong)
	if err != nil {
		return page, err
	}
	page.Next = reversals.Next
	for _, e := range reversals.Items {
		by, ok := found[e.By]
		if !ok { // the transaction becomes visible item by item
			return page, fmt.Errorf("header of %s is not visible: %w", e.By, store.ErrConflict)
		}
		page.Items = append(page.Items, Reversal{Number: e.Number, Header: by.Header})
	}
	return page, nil
}
