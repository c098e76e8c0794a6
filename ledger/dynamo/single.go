package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// RegisterAsset implements ledger.Journal.
func (j *Journal) RegisterAsset(ctx context.Context, e events.AssetRegistered) (events.AssetRegistered, error) {
	stored, err := putOnce(ctx, j, e)
	if err != nil {
		return stored, fmt.Errorf("register asset: %w", err)
	}
	return stored, nil
}

// OpenAccount implements ledger.Journal.
func (j *Journal) OpenAccount(ctx context.Context, e events.AccountOpened) (events.AccountOpened, error) {
	stored, err := putOnce(ctx, j, e)
	if err != nil {
		return stored, fmt.Errorf("open account: %w", err)
	}
	return stored, nil
}

// NewestGrant implements ledger.Journal.
func (j *Journal) NewestGrant(ctx context.Context, account, user string) (events.Event, error) {
	e, err := wire.NewestGrant(ctx, j.client, j.table, account, user)
	if err != nil {
		return nil, fmt.Errorf("read newest grant: %w", err)
	}
	return e, nil
}

// PutGrant implements ledger.Journal.
func (j *Journal) PutGrant(ctx context.Context, e events.Event) (events.Event, error) {
	switch e.(type) {
	case events.MemberGranted, events.MemberRevoked:
	default:
		return nil, fmt.Errorf("put grant: %T is none", e)
	}
	stored, err := putOnce(ctx, j, e)
	if err != nil {
		return stored, fmt.Errorf("put grant: %w", err)
	}
	return stored, nil
}

// putOnce puts an event on the condition that none is there, and returns what is stored then: e, or with ErrExists the
// event that was there.
func putOnce[E events.Event](ctx context.Context, j *Journal, e E) (stored E, err error) {
	if err := wire.Ready(ctx); err != nil {
		return stored, err
	}
	_, err = j.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           &j.table,
		Item:                                wire.EventItem(e),
		ConditionExpression:                 aws.String(wire.IfAbsent),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, wire.Once)
	var exists *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return e, nil
	case !errors.As(err, &exists):
		return stored, wire.WriteError(err)
	}
	if stored, err = decode[E](exists.Item); err != nil {
		return stored, fmt.Errorf("what is there already: %w", err)
	}
	return stored, table.ErrExists
}
