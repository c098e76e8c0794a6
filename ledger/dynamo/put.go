package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// Put implements ledger.Journal.
func (j *Journal) Put(ctx context.Context, e events.Event, unless ...events.Event) (events.Event, error) {
	stored, err := j.putOnce(ctx, e, unless)
	if err != nil {
		err = fmt.Errorf("put %s: %w", e.EventName(), err)
	}
	return stored, err
}

func (j *Journal) putOnce(ctx context.Context, e events.Event, unless []events.Event) (events.Event, error) {
	if err := ddb.Ready(ctx); err != nil {
		return nil, err
	}
	m := ddb.NewItemEncoder(1 + len(unless))
	put := j.putAbsent(m, e)
	if len(unless) > 0 {
		return j.putUnless(ctx, m, put, e, unless)
	}
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
	return existing(exists.Item)
}

// existing decodes the event that is already stored, and returns it with ErrExists.
func existing(item ddb.Item) (events.Event, error) {
	stored, err := ddb.DecodeEvent(item)
	if err != nil {
		return nil, fmt.Errorf("stored event: %w", err)
	}
	return stored, store.ErrExists
}

// putUnless makes a put of e, and checks in the same transaction that none of unless is stored.
func (j *Journal) putUnless(
	ctx context.Context, m *ddb.ItemEncoder, put types.Put, e events.Event, unless []events.Event,
) (events.Event, error) {
	actions := []types.TransactWriteItem{{Put: &put}}
	for _, other := range unless {
		actions = append(actions, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &j.table, Key: m.Key(ddb.EventKey(other)), ConditionExpression: &ifAbsent,
		}})
	}
	_, err := j.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, ddb.Once)
	if err == nil {
		return e, nil
	}
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(cancelled.CancellationReasons) != len(actions) {
		return nil, ddb.WriteError(err)
	}
	reasons := cancelled.CancellationReasons
	if _, _, fault := ddb.Reasons(reasons); fault != nil {
		return nil, ddb.WriteError(err)
	}
	failed := func(r types.CancellationReason) bool { return aws.ToString(r.Code) == ddb.ReasonCondition }
	switch {
	case failed(reasons[0]):
		return existing(reasons[0].Item)
	// If the put has a conflict, that may be with an earlier attempt, so it is no ErrOutdated.
	case aws.ToString(reasons[0].Code) == ddb.ReasonNone && slices.ContainsFunc(reasons[1:], failed):
		return nil, fmt.Errorf("%w: %w", store.ErrOutdated, err)
	}
	return nil, ddb.WriteError(err)
}

// NewestGrant implements ledger.Journal.
func (j *Journal) NewestGrant(ctx context.Context, account, user string) (events.Role, int64, error) {
	return wrapGrant(ddb.NewestGrant(ctx, j.client, j.table, table.Account.PK(account), user))
}

// NewestGroupGrant implements ledger.Journal.
func (j *Journal) NewestGroupGrant(ctx context.Context, group, user string) (events.Role, int64, error) {
	return wrapGrant(ddb.NewestGrant(ctx, j.client, j.table, table.Group.PK(group), user))
}

// wrapGrant returns role and number of a newest grant, or wraps the error of reading it.
func wrapGrant(newest events.MemberGranted, err error) (events.Role, int64, error) {
	if err != nil {
		err = fmt.Errorf("read newest grant: %w", err)
	}
	return newest.Role, newest.Number, err
}

// NewestGroups implements ledger.Journal.
func (j *Journal) NewestGroups(ctx context.Context, account string) (groups []string, number int64, err error) {
	newest, err := ddb.NewestGroups(ctx, j.client, j.table, account)
	if err != nil {
		return nil, 0, fmt.Errorf("read newest groups: %w", err)
	}
	return newest.Groups, newest.Number, nil
}
