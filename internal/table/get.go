package table

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/retry"
)

// emptyAnswers is after how many replies in a row without any item read a batch fails.
const emptyAnswers = 4

// backoff is the delay between reads of unprocessed keys.
var backoff = retry.Backoff{First: 50 * time.Millisecond, Max: 400 * time.Millisecond}

// BatchGet implements Table. It requests unprocessed keys again. The time is that of the last reply.
func (t *DynamoDB) BatchGet(ctx context.Context, keys []Key, c Consistency) ([]Item, time.Time, error) {
	items, pending := make([]Item, 0, len(keys)), make([]Item, len(keys))
	for i, key := range keys {
		pending[i] = KeyItem(key)
	}
	var at time.Time
	for empty := 0; len(pending) > 0; {
		asked := pending[:min(len(pending), BatchGetKeys)]
		out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				t.name: {Keys: asked, ConsistentRead: aws.Bool(bool(c))},
			},
		})
		if err != nil {
			return nil, time.Time{}, ReadError(err)
		}
		items = append(items, out.Responses[t.name]...)
		at = StoreTime(out.ResultMetadata)

		unread := out.UnprocessedKeys[t.name].Keys
		pending = append(unread, pending[len(asked):]...)
		if len(unread) < len(asked) {
			empty = 0
		} else if empty++; empty == emptyAnswers {
			return nil, time.Time{}, fmt.Errorf("%w: a batch of %d keys was left unread", ErrThrottled,
				len(unread))
		}
		if len(unread) > 0 {
			if err := Pause(ctx, empty); err != nil {
				return nil, time.Time{}, err
			}
		}
	}
	return items, at, nil
}

// Get implements Table.
func (t *DynamoDB) Get(ctx context.Context, k Key, c Consistency) (Item, time.Time, error) {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.name, Key: KeyItem(k), ConsistentRead: aws.Bool(bool(c)),
	})
	if err != nil {
		return nil, time.Time{}, ReadError(err)
	}
	return present(out.Item), StoreTime(out.ResultMetadata), nil
}

// Snapshot implements Table.
func (t *DynamoDB) Snapshot(ctx context.Context, keys []Key, attributes ...string) ([]Item, time.Time, error) {
	expression, names := selected(attributes)
	in := &dynamodb.TransactGetItemsInput{TransactItems: make([]types.TransactGetItem, len(keys))}
	for i, key := range keys {
		in.TransactItems[i].Get = &types.Get{
			TableName: &t.name, Key: KeyItem(key), ProjectionExpression: expression, ExpressionAttributeNames: names,
		}
	}
	out, err := t.client.TransactGetItems(ctx, in)
	if err != nil {
		return nil, time.Time{}, ReadError(err)
	}
	at := StoreTime(out.ResultMetadata)
	if len(out.Responses) != len(keys) {
		return nil, at, fmt.Errorf("the store answered %d of %d reads", len(out.Responses), len(keys))
	}
	items := make([]Item, len(keys))
	for i, response := range out.Responses {
		items[i] = present(response.Item)
	}
	return items, at, nil
}

// present returns nil for an item without attributes, which the SDK may return for an absent item.
func present(item Item) Item {
	if len(item) == 0 {
		return nil
	}
	return item
}

// Pause waits a random time after the given number of failed attempts. Error: ErrUnavailable if ctx ends.
func Pause(ctx context.Context, failed int) error {
	if backoff.Sleep(ctx, failed) != nil {
		return Ready(ctx)
	}
	return nil
}
