package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
)

// Put implements ledger.Journal.
func (j *Journal) Put(ctx context.Context, e events.Event) (events.Event, error) {
	stored, err := j.putOnce(ctx, e)
	if err != nil {
		name, _ := e.EventName()
		err = fmt.Errorf("put %s: %w", name, err)
	}
	return stored, err
}

func (j *Journal) putOnce(ctx context.Context, e events.Event) (events.Event, error) {
	if err := ddb.Ready(ctx); err != nil {
		return nil, err
	}
	put := j.putAbsent(ddb.NewItemEncoder(1), e)
	_, err := j.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           put.TableName,
		Item:                                put.Item,
		ConditionExpression:                 put.ConditionExpression,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	}, ddb.Once)
	exists, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case err == nil:
		return e, nil
	case !ok:
		return nil, ddb.WriteError(err)
	}
	stored, err := ddb.DecodeEvent(exists.Item)
	if err != nil {
		return nil, fmt.Errorf("stored event: %w", err)
	}
	return stored, store.ErrExists
}

// NewestGrant implements ledger.Journal.
func (j *Journal) NewestGrant(ctx context.Context, account, user string) (events.Role, int64, error) {
	return named(ddb.NewestGrant(ctx, j.client, j.table, account, user))
}

// NewestGroupGrant implements ledger.Journal.
func (j *Journal) NewestGroupGrant(ctx context.Context, group, user string) (events.Role, int64, error) {
	return named(ddb.NewestGroupGrant(ctx, j.client, j.table, group, user))
}

// named says of an error that it is about a newest grant.
func named(role events.Role, number int64, err error) (events.Role, int64, error) {
	if err != nil {
		err = fmt.Errorf("read newest grant: %w", err)
	}
	return role, number, err
}

// NewestGroups implements ledger.Journal.
func (j *Journal) NewestGroups(ctx context.Context, account string) (groups []string, number int64, err error) {
	newest, err := ddb.NewestGroups(ctx, j.client, j.table, account)
	if err != nil {
		return nil, 0, fmt.Errorf("read newest groups: %w", err)
	}
	return newest.Groups, newest.Number, nil
}
