package redrive

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// Present returns what finds out, for Config.Present, which items are in a table.
func Present(client *dynamodb.Client, tableName string) func(context.Context, []table.Key) ([]table.Key, error) {
	return func(ctx context.Context, keys []table.Key) ([]table.Key, error) {
		items, _, err := wire.BatchGet(ctx, client, tableName, keys, true)
		if err != nil {
			return nil, err
		}
		found := make([]table.Key, len(items))
		for i, item := range items {
			if found[i], err = wire.KeyOf(item); err != nil {
				return nil, err
			}
		}
		return found, nil
	}
}
