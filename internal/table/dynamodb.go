package table

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is Table on DynamoDB. It is safe for concurrent use.
type DynamoDB struct {
	client *dynamodb.Client
	name   string
}

var _ Table = (*DynamoDB)(nil)

// NewTable returns the named table.
func NewTable(client *dynamodb.Client, name string) *DynamoDB {
	return &DynamoDB{client: client, name: name}
}

// sortKeys has the names of the keys of the table and its indexes.
var sortKeys = map[string][2]string{
	"":           {AttrPK, AttrSK},
	IndexHistory: {AttrPK, AttrSK2},
	IndexInverse: {AttrPK2, AttrPK},
}

// Query implements Table.
func (t *DynamoDB) Query(ctx context.Context, q Query) (Page, error) {
	keys := sortKeys[q.Index]
	in := &dynamodb.QueryInput{
		TableName: &t.name, ExclusiveStartKey: q.After,
		KeyConditionExpression: aws.String(keys[0] + " = :partition AND " + keys[1] + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: Item{
			":partition": String(q.Partition), ":from": String(q.Within.From), ":to": String(q.Within.To),
		},
	}
	if q.Index != "" {
		in.IndexName = &q.Index
	} else {
		in.ConsistentRead = aws.Bool(bool(q.Consistency))
	}
	if q.Limit > 0 {
		in.Limit = aws.Int32(int32(q.Limit))
	}
	if q.Descending {
		in.ScanIndexForward = aws.Bool(false)
	}
	if q.CountOnly {
		in.Select = types.SelectCount
	}
	if q.Priced {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	}
	in.ProjectionExpression, in.ExpressionAttributeNames = selected(q.Attributes)
	out, err := t.client.Query(ctx, in)
	if err != nil {
		return Page{}, ReadError(err)
	}
	read := page(out.Items, out.LastEvaluatedKey, int(out.Count), StoreTime(out.ResultMetadata))
	if used := out.ConsumedCapacity; used != nil {
		read.ReadHalves = int(2 * aws.ToFloat64(used.CapacityUnits))
	}
	return read, nil
}

// page returns a page. The SDK's empty key is the end.
func page(items []Item, next Item, count int, at time.Time) Page {
	return Page{Items: items, Next: present(next), Count: count, At: at}
}

// selected returns the expression for the named attributes. It uses placeholders, as some names are reserved words.
func selected(attributes []string) (*string, map[string]string) {
	if len(attributes) == 0 {
		return nil, nil
	}
	names := make(map[string]string, len(attributes))
	places := make([]string, len(attributes))
	for i, name := range attributes {
		places[i] = "#" + name
		names[places[i]] = name
	}
	return aws.String(strings.Join(places, ", ")), names
}

// Scan implements Table.
func (t *DynamoDB) Scan(ctx context.Context, s Scan) (Page, error) {
	in := &dynamodb.ScanInput{
		TableName: &t.name, ConsistentRead: aws.Bool(bool(s.Consistency)), ExclusiveStartKey: s.After,
	}
	if s.Parts > 0 {
		in.Segment, in.TotalSegments = aws.Int32(int32(s.Part)), aws.Int32(int32(s.Parts))
	}
	in.ProjectionExpression, in.ExpressionAttributeNames = selected(s.Attributes)
	if len(s.Types) > 0 {
		if in.ExpressionAttributeNames == nil {
			in.ExpressionAttributeNames = make(map[string]string)
		}
		in.ExpressionAttributeNames["#type"] = AttrType
		in.ExpressionAttributeValues = make(Item, len(s.Types))
		terms := make([]string, len(s.Types))
		for i, name := range s.Types {
			value := fmt.Sprintf(":%d", i)
			terms[i], in.ExpressionAttributeValues[value] = "#type = "+value, String(name)
		}
		in.FilterExpression = aws.String(strings.Join(terms, " OR "))
	}
	out, err := t.client.Scan(ctx, in)
	if err != nil {
		return Page{}, ReadError(err)
	}
	return page(out.Items, out.LastEvaluatedKey, int(out.ScannedCount), StoreTime(out.ResultMetadata)), nil
}

// Write implements Table.
func (t *DynamoDB) Write(ctx context.Context, w Write) (time.Time, error) {
	if w.Item == nil && w.Update == "" {
		return time.Time{}, errors.New("a write alone must put or update")
	}
	if err := Ready(ctx); err != nil {
		return time.Time{}, err
	}
	at, err := t.writeAlone(ctx, w)
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		at = ErrorTime(err)
		return at, &Refused{Old: present(failed.Item), At: at}
	}
	if err != nil {
		return ErrorTime(err), WriteError(err)
	}
	return at, nil
}

func (t *DynamoDB) writeAlone(ctx context.Context, w Write) (time.Time, error) {
	maker := actionMaker{table: &t.name, room: 1}
	a := maker.action(&w)
	if a.Put != nil {
		out, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &t.name, Item: a.Put.Item,
			ConditionExpression:                 a.Put.ConditionExpression,
			ExpressionAttributeNames:            a.Put.ExpressionAttributeNames,
			ExpressionAttributeValues:           a.Put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: a.Put.ReturnValuesOnConditionCheckFailure,
		}, Once)
		if err != nil {
			return time.Time{}, err
		}
		return StoreTime(out.ResultMetadata), nil
	}
	out, err := t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: a.Update.Key,
		UpdateExpression:                    a.Update.UpdateExpression,
		ConditionExpression:                 a.Update.ConditionExpression,
		ExpressionAttributeNames:            a.Update.ExpressionAttributeNames,
		ExpressionAttributeValues:           a.Update.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: a.Update.ReturnValuesOnConditionCheckFailure,
	}, Once)
	if err != nil {
		return time.Time{}, err
	}
	return StoreTime(out.ResultMetadata), nil
}

// Transact implements Table.
//
// The SDK makes a new client request token for every call. The conditions of the writes make a transaction idempotent.
// A constant token would not: the store would repeat its answer to an earlier attempt, and reject an attempt with
// raised bounds.
func (t *DynamoDB) Transact(ctx context.Context, writes []Write) (time.Time, error) {
	if len(writes) > TransactionActions {
		return time.Time{}, fmt.Errorf("a transaction of %d actions: at most %d are possible", len(writes),
			TransactionActions)
	}
	if err := Ready(ctx); err != nil {
		return time.Time{}, err
	}
	actions, maker := make([]types.TransactWriteItem, len(writes)), actionMaker{table: &t.name, room: len(writes)}
	for i := range writes {
		actions[i] = maker.action(&writes[i])
	}
	out, err := t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, Once)
	if err == nil {
		return StoreTime(out.ResultMetadata), nil
	}
	at := ErrorTime(err)
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return at, WriteError(err)
	}
	reasons, fault := reasonsOf(cancelled)
	if fault == nil && len(reasons) != len(writes) {
		fault = fmt.Errorf("%w: %d reasons for %d writes", ErrUnknownOutcome, len(reasons), len(writes))
	}
	if fault != nil {
		return at, fmt.Errorf("%w: %w", fault, cancelled)
	}
	return at, &Cancelled{Reasons: reasons, At: at}
}

// actionMaker makes the actions of one request. It puts them into arrays, as ItemEncoder does with values.
type actionMaker struct {
	table *string
	room  int
	puts  []types.Put
}

// keyedUpdate has an update and its key.
type keyedUpdate struct {
	types.Update
	pk, sk types.AttributeValueMemberS
}

func (k *keyedUpdate) key(of Key) Item {
	k.pk.Value, k.sk.Value = of.PK, of.SK
	return Item{AttrPK: &k.pk, AttrSK: &k.sk}
}

// action returns a write in the form of a transaction's action.
func (m *actionMaker) action(w *Write) (a types.TransactWriteItem) {
	condition, old := &w.If, types.ReturnValuesOnConditionCheckFailureAllOld
	if w.If == "" {
		condition = nil
	}
	if !w.ReturnOld {
		old = ""
	}
	switch {
	case w.Item != nil:
		a.Put = grow(&m.puts, types.Put{
			TableName: m.table, Item: w.Item, ConditionExpression: condition, ExpressionAttributeNames: w.Names,
			ExpressionAttributeValues: w.Values, ReturnValuesOnConditionCheckFailure: old,
		}, m.room)
	case w.Update != "":
		var k keyedUpdate
		k.Update = types.Update{
			TableName: m.table, Key: k.key(w.Key), UpdateExpression: &w.Update, ConditionExpression: condition,
			ExpressionAttributeNames: w.Names, ExpressionAttributeValues: w.Values,
			ReturnValuesOnConditionCheckFailure: old,
		}
		a.Update = &k.Update
	default:
		a.ConditionCheck = &types.ConditionCheck{
			TableName: m.table, Key: KeyItem(w.Key), ConditionExpression: condition,
			ExpressionAttributeNames: w.Names, ExpressionAttributeValues: w.Values,
			ReturnValuesOnConditionCheckFailure: old,
		}
	}
	return a
}
