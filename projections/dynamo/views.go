// Package dynamo keeps projections in the ledger's DynamoDB table, and lists what is there.
package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// Views is projections.Views on one table. It is safe for concurrent use.
//
// Errors that projections.Views doesn't name (the table is missing, access is denied, an item cannot be decoded) come
// back as they are: no repetition would cure them, and nothing was written.
type Views struct {
	client *dynamodb.Client
	table  string
}

var _ projections.Views = (*Views)(nil)

// NewViews returns the views in the named table.
func NewViews(client *dynamodb.Client, tableName string) *Views {
	return &Views{client: client, table: tableName}
}

// Balance implements projections.Views.
func (v *Views) Balance(ctx context.Context, k projections.Key) (projections.Balance, time.Time, error) {
	item, clock, err := get(ctx, v.client, v.table, table.BalanceKey(k.Account, k.Asset), true)
	b := projections.Balance{Key: k}
	if err == nil && item != nil {
		b, err = decodeBalance(item)
	}
	if err != nil {
		return projections.Balance{}, clock, fmt.Errorf("read balance: %w", err)
	}
	return b, clock, nil
}

// Summary implements projections.Views.
func (v *Views) Summary(ctx context.Context, account string) (projections.Summary, error) {
	item, _, err := get(ctx, v.client, v.table, table.SummaryKey(account), true)
	s := projections.Summary{Account: account}
	if err == nil && item != nil {
		s, err = decodeSummary(item)
	}
	if err != nil {
		return projections.Summary{}, fmt.Errorf("read summary: %w", err)
	}
	return s, nil
}

// get reads one item, nil when it is absent, and the store's clock.
func get(ctx context.Context, client *dynamodb.Client, tableName string, k table.Key, strong bool) (wire.Item, time.Time, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &tableName,
		Key:            wire.Key(k),
		ConsistentRead: &strong,
	})
	if err != nil {
		return nil, time.Time{}, wire.ReadError(err)
	}
	clock := wire.StoreTime(out.ResultMetadata)
	if len(out.Item) == 0 {
		return nil, clock, nil
	}
	return out.Item, clock, nil
}

// SegmentFrom implements projections.Views.
func (v *Views) SegmentFrom(ctx context.Context, k projections.Key, id events.KSUID) (projections.Segment, error) {
	item, err := v.first(ctx, k.Account, table.SegmentsFrom(k.Asset, string(id)), &dynamodb.QueryInput{})
	if err == nil && item == nil {
		err = table.ErrAbsent
	}
	if err != nil {
		return projections.Segment{}, fmt.Errorf("read segment: %w", err)
	}
	s, err := decodeSegment(item)
	if err != nil {
		return projections.Segment{}, fmt.Errorf("read segment: %w", err)
	}
	return s, nil
}

// NextAsset implements projections.Views.
func (v *Views) NextAsset(ctx context.Context, account, after string) (string, error) {
	item, err := v.first(ctx, account, table.PostingAssetAfter(after), &dynamodb.QueryInput{
		ProjectionExpression: aws.String(table.AttrPK + ", " + table.AttrSK),
	})
	if err == nil && item == nil {
		err = table.ErrAbsent
	}
	if err != nil {
		return "", fmt.Errorf("look for the next asset: %w", err)
	}
	key, err := wire.KeyOf(item)
	if err != nil {
		return "", fmt.Errorf("look for the next asset: %w", err)
	}
	_, asset, _, ok := table.ParsePosting(key)
	if !ok {
		return "", fmt.Errorf("look for the next asset: %w: %s is no posting", wire.ErrMalformedItem, key.SK)
	}
	return asset, nil
}

// within makes q a query of an account's partition, strongly consistent.
func (v *Views) within(account string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.TableName = &v.table
	q.ConsistentRead = aws.Bool(true)
	return wire.Within(table.AccountKey(account).PK, r, q)
}

// first reads the first item of an account's partition in r, nil when there is none.
func (v *Views) first(ctx context.Context, account string, r table.Range, q *dynamodb.QueryInput) (wire.Item, error) {
	return wire.First(ctx, v.client, v.within(account, r, q))
}

// query reads one page of an account's partition.
func (v *Views) query(ctx context.Context, account string, r table.Range, q *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	out, err := v.client.Query(ctx, v.within(account, r, q))
	if err != nil {
		return nil, wire.ReadError(err)
	}
	return out, nil
}

// Together implements projections.Views.
func (v *Views) Together(ctx context.Context, k projections.Key, through events.KSUID) (projections.Balance, projections.Segment, error) {
	b, s, err := v.together(ctx, k, through)
	if err != nil {
		return projections.Balance{}, projections.Segment{}, fmt.Errorf("read balance and segment: %w", err)
	}
	return b, s, nil
}

func (v *Views) together(ctx context.Context, k projections.Key, through events.KSUID) (b projections.Balance, s projections.Segment, err error) {
	in := &dynamodb.TransactGetItemsInput{}
	for _, key := range []table.Key{
		table.BalanceKey(k.Account, k.Asset),
		table.SegmentKey(k.Account, k.Asset, string(through)),
	} {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{
			Get: &types.Get{TableName: &v.table, Key: wire.Key(key)},
		})
	}
	out, err := v.client.TransactGetItems(ctx, in)
	if err != nil {
		return b, s, wire.ReadError(err)
	}
	if len(out.Responses) != len(in.TransactItems) {
		return b, s, fmt.Errorf("asked for %d items, was answered of %d", len(in.TransactItems), len(out.Responses))
	}
	balance, segment := out.Responses[0].Item, out.Responses[1].Item
	if len(segment) == 0 {
		return b, s, table.ErrAbsent
	}
	b = projections.Balance{Key: k}
	if len(balance) > 0 {
		if b, err = decodeBalance(balance); err != nil {
			return b, s, err
		}
	}
	s, err = decodeSegment(segment)
	return b, s, err
}

// NewestGrant implements projections.Views.
func (v *Views) NewestGrant(ctx context.Context, account, user string) (projections.Membership, error) {
	e, err := wire.NewestGrant(ctx, v.client, v.table, account, user)
	if err != nil {
		return projections.Membership{}, fmt.Errorf("read newest grant: %w", err)
	}
	m := projections.Membership{Account: account, User: user}
	switch e := e.(type) {
	case events.MemberGranted:
		m.Role, m.Number = e.Role, e.Number
	case events.MemberRevoked:
		m.Number = e.Number
	default:
		return projections.Membership{}, fmt.Errorf("read newest grant: %w: %T among grants", wire.ErrMalformedItem, e)
	}
	return m, nil
}
