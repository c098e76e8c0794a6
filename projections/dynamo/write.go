package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// Write implements projections.Views.
func (v *Views) Write(ctx context.Context, c projections.Change) error {
	if err := v.write(ctx, c); err != nil {
		return fmt.Errorf("write balance: %w", err)
	}
	return nil
}

func (v *Views) write(ctx context.Context, c projections.Change) error {
	if len(c.Segments) > projections.SegmentsMax {
		return fmt.Errorf("%d segments in one change", len(c.Segments))
	}
	next := c.Balance
	next.Version++
	balance := v.put(balanceItem(next), ifUnchanged(c.Balance.Version, c.Mark))
	if len(c.Segments) == 0 && c.Summary == nil {
		return v.putAlone(ctx, balance)
	}

	actions := []types.TransactWriteItem{{Put: balance}}
	for _, s := range c.Segments {
		// Segments are written with their balance only: its version is theirs.
		actions = append(actions, types.TransactWriteItem{Put: v.put(segmentItem(s), condition{})})
	}
	if c.Summary != nil {
		next := *c.Summary
		next.Version++
		actions = append(actions, types.TransactWriteItem{Put: v.put(summaryItem(next), ifUnchanged(c.Summary.Version, c.SummaryMark))})
	}
	if err := wire.Ready(ctx); err != nil {
		return err
	}
	_, err := v.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, wire.Once)
	return wire.WriteError(err)
}

// WriteMembership implements projections.Views.
func (v *Views) WriteMembership(ctx context.Context, m projections.Membership) error {
	older := condition{
		expression: wire.IfAbsent + " OR #number < :number",
		names:      map[string]string{"#number": table.AttrNumber},
		values:     wire.Item{":number": wire.Integer(m.Number)},
	}
	err := v.putAlone(ctx, v.put(membershipItem(m), older))
	if errors.Is(err, errCondition) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write membership: %w", err)
	}
	return nil
}

// condition is what a write asks of the item that it replaces; the zero condition is none.
type condition struct {
	expression string
	names      map[string]string
	values     wire.Item
}

// ifVersion is the condition that the item is still of the version that was read; 0 is that of an absent item.
func ifVersion(read int64) condition {
	if read == 0 {
		return condition{expression: wire.IfAbsent}
	}
	return condition{
		expression: "#version = :version",
		names:      map[string]string{"#version": table.AttrVersion},
		values:     wire.Item{":version": wire.Integer(read)},
	}
}

// ifUnchanged is the condition that the item still has a mark, or when none is given, the version that was read.
func ifUnchanged(read int64, mark *projections.Mark) condition {
	if mark != nil {
		return ifMark(*mark, table.AttrVersion)
	}
	return ifVersion(read)
}

func (v *Views) put(item wire.Item, c condition) *types.Put {
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
var errCondition = fmt.Errorf("%w: the item is not what was read", table.ErrConflict)

// putAlone sends a put as a request of its own, at half the price of a transaction. Errors: errCondition, and those of
// wire.WriteError.
func (v *Views) putAlone(ctx context.Context, p *types.Put) error {
	if err := wire.Ready(ctx); err != nil {
		return err
	}
	_, err := v.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 p.TableName,
		Item:                      p.Item,
		ConditionExpression:       p.ConditionExpression,
		ExpressionAttributeNames:  p.ExpressionAttributeNames,
		ExpressionAttributeValues: p.ExpressionAttributeValues,
	}, wire.Once)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return errCondition
	}
	return wire.WriteError(err)
}
