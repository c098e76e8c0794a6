package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// readGuard decodes the guard of a pair. A new guard has version 0.
func readGuard(pair events.Pair, item ddb.Item) (ledger.Guard, error) {
	r := ddb.Open(item, table.Spend.Type)
	guard := ledger.Guard{Pair: pair, Spent: r.Amount(table.AttrSpent)}
	if r.Has(table.AttrChange) {
		guard.Version = r.Integer(table.AttrChange)
	}
	if r.Err() != nil {
		return guard, fmt.Errorf("guard of %s in %s: %w", pair.Asset, pair.Account, r.Err())
	}
	return guard, nil
}

// CreateGuard implements ledger.Journal.
func (j *Journal) CreateGuard(ctx context.Context, pair events.Pair) error {
	if err := ddb.Ready(ctx); err != nil {
		return fmt.Errorf("create guard: %w", err)
	}
	item := ddb.Begin(table.Spend.Key(pair.Account, pair.Asset), table.Spend.Type)
	item[table.AttrSpent] = ddb.Integer(0)
	_, err := j.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &j.table, Item: item, ConditionExpression: &ifAbsent,
	}, ddb.Once)
	if _, exists := errors.AsType[*types.ConditionalCheckFailedException](err); err == nil || exists {
		return nil
	}
	return fmt.Errorf("create guard: %w", ddb.WriteError(err))
}

// Expressions of SetGuardVersion.
var (
	setVersion   = "SET #change = :version"
	isOlder      = "#form = :form AND attribute_not_exists(#change) OR #form = :form AND #change < :version"
	versionNames = map[string]string{"#form": table.AttrForm, "#change": table.AttrChange}
)

// SetGuardVersion implements ledger.Journal.
func (j *Journal) SetGuardVersion(ctx context.Context, pair events.Pair, version int64) error {
	if err := ddb.Ready(ctx); err != nil {
		return fmt.Errorf("set guard version: %w", err)
	}
	_, err := j.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &j.table,
		Key:                      ddb.Key(table.Spend.Key(pair.Account, pair.Asset)),
		UpdateExpression:         &setVersion,
		ConditionExpression:      &isOlder,
		ExpressionAttributeNames: versionNames,
		ExpressionAttributeValues: ddb.Item{
			":version": ddb.Integer(version), ":form": ddb.Integer(events.Form),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, ddb.Once)
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("set guard version: %w", ddb.WriteError(err))
	case len(failed.Item) == 0:
		return fmt.Errorf("set guard version: %w", store.ErrAbsent)
	}
	_, err = readGuard(pair, failed.Item)
	return err
}

// Guards implements ledger.Journal.
func (j *Journal) Guards(ctx context.Context, account, after string) ([]ledger.Guard, string, error) {
	out, err := ddb.Page(ctx, j.client, ddb.Within(table.Account.PK(account), table.Spend.All().After(after),
		&dynamodb.QueryInput{TableName: &j.table, ConsistentRead: aws.Bool(true)}))
	if err != nil {
		return nil, "", fmt.Errorf("read guards: %w", err)
	}
	page := make([]ledger.Guard, len(out.Items))
	for i, item := range out.Items {
		key, err := ddb.KeyOf(item)
		if err != nil {
			return nil, "", fmt.Errorf("read guards: %w", err)
		}
		_, asset, ok := table.Spend.Parse(key)
		if !ok {
			return nil, "", fmt.Errorf("read guards: %w: %s %s", store.ErrMalformedItem, key.PK, key.SK)
		}
		if page[i], err = readGuard(events.Pair{Account: account, Asset: asset}, item); err != nil {
			return nil, "", err
		}
	}
	if out.LastEvaluatedKey == nil || len(page) == 0 {
		return page, "", nil
	}
	return page, page[len(page)-1].Pair.Asset, nil
}

// The condition of PutChange on the newest change.
var (
	isPrevious  = "#number = :previous"
	changeNames = map[string]string{"#number": "Number"} // a field of the event, named by its codec
)

// PutChange implements ledger.Journal.
func (j *Journal) PutChange(ctx context.Context, c events.AccountChanged) error {
	if err := ddb.Ready(ctx); err != nil {
		return fmt.Errorf("put change: %w", err)
	}
	maker := ddb.NewItemEncoder(2)
	change := j.putAbsent(maker, c)
	newest := types.Put{TableName: &j.table, Item: maker.Current(c), ConditionExpression: &ifAbsent}
	if previous := c.Number - 1; previous > 1 {
		newest.ConditionExpression, newest.ExpressionAttributeNames = &isPrevious, changeNames
		newest.ExpressionAttributeValues = ddb.Item{":previous": ddb.Integer(previous)}
	}
	_, err := j.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Put: &change}, {Put: &newest}},
	}, ddb.Once)
	if err != nil {
		return fmt.Errorf("put change: %w", ddb.WriteError(err))
	}
	return nil
}
