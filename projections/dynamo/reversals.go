package dynamo

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// ReversalsOf implements projections.Lists.
func (l *Lists) ReversalsOf(ctx context.Context, transaction string, s projections.Slice) (
	page projections.Page[projections.Reversal], err error,
) {
	defer annotate(&err, "list reversals")
	after := int64(0)
	if s.After != "" {
		if after, err = strconv.ParseInt(s.After, 10, 64); err != nil {
			return page, err
		}
	}
	r := table.Reversal.All().After(table.Number(after))
	q := ddb.Within(table.Transaction.PK(transaction), r, &dynamodb.QueryInput{ConsistentRead: aws.Bool(true)})
	number := func(k table.Key) (string, bool) {
		_, n, ok := table.Reversal.Parse(k)
		return strconv.FormatInt(n, 10), ok
	}
	reversals, err := list(ctx, l, "list", r, q, s.Limit, number, decodeAs[events.TransactionReversed])
	if err != nil {
		return page, err
	}
	wanted := make(map[string]bool, len(reversals.Items))
	for _, e := range reversals.Items {
		wanted[e.By] = false
	}
	found, err := l.TransactionsByID(ctx, wanted)
	if err != nil {
		return page, err
	}
	page.Next = reversals.Next
	for _, e := range reversals.Items {
		by, ok := found[e.By]
		if !ok { // the transaction becomes visible item by item
			return page, fmt.Errorf("header of %s is not visible: %w", e.By, store.ErrConflict)
		}
		page.Items = append(page.Items, projections.Reversal{Number: e.Number, Header: by.Header})
	}
	return page, nil
}
