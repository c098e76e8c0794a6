package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// reads reads items of one table by their keys. Views and Lists share it.
type reads struct {
	client *dynamodb.Client
	table  string
}

// forEach reads the items of keys, and calls add for each. Errors: those of ddb.BatchGet and of add.
func (r reads) forEach(
	ctx context.Context, keys []table.Key, strong bool, add func(key table.Key, item ddb.Item) error,
) error {
	items, _, err := ddb.BatchGet(ctx, r.client, r.table, keys, strong)
	if err != nil {
		return err
	}
	for _, item := range items {
		key, err := ddb.KeyOf(item)
		if err != nil {
			return err
		}
		if err := add(key, item); err != nil {
			return err
		}
	}
	return nil
}

// TransactionsByID implements projections.JournalViews and repair.ListViews.
func (r reads) TransactionsByID(ctx context.Context, ended map[string]bool) (
	map[string]projections.Transaction, error,
) {
	return r.transactions(ctx, ended, true)
}

// transactions is TransactionsByID with a choice of consistency.
func (r reads) transactions(ctx context.Context, ended map[string]bool, strong bool) (
	map[string]projections.Transaction, error,
) {
	keys := make([]table.Key, 0, 2*len(ended))
	for id, isEnded := range ended {
		if keys = append(keys, table.Transaction.Key(id)); isEnded {
			keys = append(keys, table.Outcome.Key(id))
		}
	}
	found, ends := make(map[string]projections.Transaction, len(ended)), make(map[string]*events.HoldEnded)
	err := r.forEach(ctx, keys, strong, func(_ table.Key, item ddb.Item) error {
		e, err := ddb.DecodeEvent(item)
		switch e := e.(type) {
		case events.TransactionPosted:
			found[e.ID] = projections.Transaction{Header: e}
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
