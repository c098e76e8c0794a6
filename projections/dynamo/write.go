package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Write implements projections.Balances.
func (v *Views) Write(ctx context.Context, c projections.Change) error {
	if len(c.Segments) > projections.SegmentsMax {
		return fmt.Errorf("%d segments in one change", len(c.Segments))
	}
	next := c.Balance
	next.Version++
	unchanged := ifRevision(revisionRead(c.Balance.Version, c.Revision), table.AttrVersion)
	balance := v.put(balanceItem(next), unchanged)
	if len(c.Segments) == 0 && c.Summary == nil {
		return v.putAlone(ctx, balance)
	}

	actions := []types.TransactWriteItem{{Put: balance}}
	for _, s := range c.Segments {
		// Segments need no condition: they are always written with their balance, whose version protects them.
		actions = append(actions, types.TransactWriteItem{Put: v.put(segmentItem(s), condition{})})
	}
	if c.Summary != nil {
		next := *c.Summary
		next.Version++
		unchanged := ifRevision(revisionRead(c.Summary.Version, c.SummaryRevision), table.AttrVersion)
		actions = append(actions, types.TransactWriteItem{Put: v.put(summaryItem(next), unchanged)})
	}
	if err := ddb.Ready(ctx); err != nil {
		return err
	}
	_, err := v.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, ddb.Once)
	return ddb.WriteError(err)
}

// WriteMembership implements projections.ProjectorViews.
func (v *Views) WriteMembership(ctx context.Context, m projections.Membership) error {
	return v.putNewer(ctx, membershipItem(m), table.AttrNumber, m.Number)
}

// WriteGrouped implements projections.ProjectorViews.
func (v *Views) WriteGrouped(ctx context.Context, g projections.GroupedAccount) error {
	return v.putNewer(ctx, groupedItem(g), table.AttrNumber, g.Number)
}

// putNewer puts item, whose attribute of that name is number. If the stored item has the same or a higher number, it
// writes nothing and returns nil.
func (v *Views) putNewer(ctx context.Context, item ddb.Item, name string, number int64) error {
	older := condition{
		expression: ddb.IfAbsent + " OR #number < :number",
		names:      map[string]string{"#number": name},
		values:     ddb.Item{":number": ddb.Integer(number)},
	}
	err := v.putAlone(ctx, v.put(item, older))
	if errors.Is(err, errCondition) {
		return nil // the stored item is as new or newer
	}
	return err
}

// put returns a put of item under a condition, for putAlone or a transaction.
func (v *Views) put(item ddb.Item, c condition) *types.Put {
	put := &types.Put{
		TableName:                 &v.table,
		Item:                      item,
		ExpressionAttributeNames:  c.names,
		ExpressionAttributeValues: c.values,
	}
	if c.expression != "" {
		put.ConditionExpression = aws.String(c.expression)
	}
	return put
}

// errCondition is the conflict of a single write whose condition failed.
var errCondition = fmt.Errorf("%w: the item has changed since it was read", store.ErrConflict)

// putAlone sends a put as a single request, which costs half as much as a transaction. Errors: errCondition, and those
// of ddb.WriteError.
func (v *Views) putAlone(ctx context.Context, p *types.Put) error {
	_, err := v.send(ctx, p)
	return err
}

// send is putAlone, and also returns the store's clock.
func (v *Views) send(ctx context.Context, p *types.Put) (time.Time, error) {
	if err := ddb.Ready(ctx); err != nil {
		return time.Time{}, err
	}
	out, err := v.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 p.TableName,
		Item:                      p.Item,
		ConditionExpression:       p.ConditionExpression,
		ExpressionAttributeNames:  p.ExpressionAttributeNames,
		ExpressionAttributeValues: p.ExpressionAttributeValues,
	}, ddb.Once)
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed):
		return ddb.ErrorTime(err), errCondition
	case err != nil:
		return ddb.ErrorTime(err), ddb.WriteError(err)
	}
	return ddb.StoreTime(out.ResultMetadata), nil
}
