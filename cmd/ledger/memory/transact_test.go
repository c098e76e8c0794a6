package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// plain is an item that is no event.
func plain(k table.Key, version int64) wire.Item {
	i := wire.Key(k)
	i[table.AttrVersion] = wire.Integer(version)
	return i
}

func putting(items ...wire.Item) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, i := range items {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(books), Item: i}})
	}
	return in
}

func getting(keys ...table.Key) *dynamodb.TransactGetItemsInput {
	in := &dynamodb.TransactGetItemsInput{}
	for _, k := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String(books), Key: wire.Key(k)}})
	}
	return in
}

// versionOf reads an item's version, strongly consistent or not; "" when it is absent.
func versionOf(t testing.TB, client *dynamodb.Client, k table.Key, strong bool) string {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(books), Key: wire.Key(k), ConsistentRead: &strong})
	if err != nil {
		t.Fatal(err)
	}
	v, _ := out.Item[table.AttrVersion].(*types.AttributeValueMemberN)
	if v == nil {
		return ""
	}
	return v.Value
}

var keyA, keyB, keyC = table.SummaryKey("a"), table.SummaryKey("b"), table.SummaryKey("c")

// Between the items of a transaction plain reads see half of it, those read together nothing, and others' writes to what is
// still to come are refused.
func TestTransactionsBecomeVisibleItemByItem(t *testing.T) {
	var client *dynamodb.Client
	var store *memory.Store
	var seen []string
	within := false
	store, client = open(t, memory.Options{
		Order: func(n int, swap func(i, j int)) { swap(0, n-1) },
		Between: func(ctx context.Context) {
			if within {
				return // of a transaction below
			}
			within = true
			defer func() { within = false }()
			seen = append(seen, versionOf(t, client, keyA, true)+versionOf(t, client, keyB, true)+versionOf(t, client, keyC, true))

			_, busy := store.Item(keyA)
			if !busy {
				t.Error("the item that comes last is not busy")
			}
			var cancelled *types.TransactionCanceledException
			if _, err := client.TransactGetItems(ctx, getting(keyC, keyA)); !errors.As(err, &cancelled) || reasonsOf(cancelled) != fmt.Sprint([]string{reasonOf(store, keyC), wire.ReasonConflict}) {
				t.Errorf("read together: %v", err)
			}
			var conflict *types.TransactionConflictException
			if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(books), Item: plain(keyA, 9)}); !errors.As(err, &conflict) {
				t.Errorf("a put meanwhile: %v", err)
			}
			if _, err := client.TransactWriteItems(ctx, putting(plain(keyA, 9), plain(table.SummaryKey("other"), 9))); !errors.As(err, &cancelled) || reasonsOf(cancelled) != "[TransactionConflict None]" {
				t.Errorf("a transaction meanwhile: %v", err)
			}
			if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(books), Item: plain(table.SummaryKey("else"), 1)}); err != nil {
				t.Errorf("a put of something else: %v", err)
			}
		},
	})
	put(t, client, plain(keyB, 1))
	if _, err := client.TransactWriteItems(t.Context(), putting(plain(keyA, 2), plain(keyB, 2), plain(keyC, 2))); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1", "12", "22"}; !slices.Equal(seen, want) {
		t.Errorf("seen between: %q, want %q", seen, want)
	}
	if _, err := client.TransactGetItems(t.Context(), getting(keyA, keyB, keyC)); err != nil {
		t.Error(err)
	}
	var keys []table.Key
	for _, c := range store.Since(1) {
		keys = append(keys, c.Key)
	}
	if want := []table.Key{table.SummaryKey("else"), keyC, keyB, keyA}; !slices.Equal(keys, want) {
		t.Errorf("became visible: %v, want %v", keys, want)
	}
}

func reasonsOf(e *types.TransactionCanceledException) string {
	var codes []string
	for _, r := range e.CancellationReasons {
		codes = append(codes, *r.Code)
	}
	return fmt.Sprint(codes)
}

// reasonOf is why an item cannot be read together with others now.
func reasonOf(s *memory.Store, k table.Key) string {
	if _, busy := s.Item(k); busy {
		return wire.ReasonConflict
	}
	return wire.ReasonNone
}

// A transaction that was decided is carried through, whatever becomes of who asked for it.
func TestATransactionOutlivesItsCaller(t *testing.T) {
	_, client := open(t, memory.Options{Between: func(context.Context) { panic("killed") }})
	func() {
		defer func() { recover() }()
		client.TransactWriteItems(t.Context(), putting(plain(keyA, 2), plain(keyB, 2)))
		t.Error("the caller lives")
	}()
	if got := versionOf(t, client, keyA, true) + versionOf(t, client, keyB, true); got != "22" {
		t.Errorf("the versions are %q", got)
	}
	if _, err := client.TransactGetItems(t.Context(), getting(keyA, keyB)); err != nil {
		t.Error(err)
	}
}

// Fewer actions can be made the most, so that what comes in several writes comes in more.
func TestTheMostActionsCanBeLowered(t *testing.T) {
	_, client := open(t, memory.Options{Actions: 2})
	if _, err := client.TransactWriteItems(t.Context(), putting(plain(keyA, 1), plain(keyB, 1))); err != nil {
		t.Error(err)
	}
	if _, err := client.TransactWriteItems(t.Context(), putting(plain(keyA, 2), plain(keyB, 2), plain(keyC, 2))); err == nil {
		t.Error("three were taken")
	}
}

// An event that is there is never written again, by any way of writing; what isn't one is.
func TestEventsAreNeverRewritten(t *testing.T) {
	event := posting("jane", 1)
	key := wire.Item{table.AttrPK: event[table.AttrPK], table.AttrSK: event[table.AttrSK]}
	set := types.Update{
		TableName: aws.String(books), Key: key, UpdateExpression: aws.String("SET Quantity = :v"),
		ExpressionAttributeValues: wire.Item{":v": wire.Integer(5)},
	}
	ways := map[string]func(context.Context, *dynamodb.Client) error{
		"put": func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(books), Item: event})
			return err
		},
		"update": func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: set.TableName, Key: key, UpdateExpression: set.UpdateExpression, ExpressionAttributeValues: set.ExpressionAttributeValues})
			return err
		},
		"delete": func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(books), Key: key})
			return err
		},
		"put in a transaction": func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.TransactWriteItems(ctx, putting(plain(keyA, 1), event))
			return err
		},
		"update in a transaction": func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: &set}}})
			return err
		},
		"delete in a transaction": func(ctx context.Context, c *dynamodb.Client) error {
			_, err := c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Delete: &types.Delete{TableName: aws.String(books), Key: key}}}})
			return err
		},
	}
	for name, way := range ways {
		var told []error
		_, client := open(t, memory.Options{Violation: func(err error) { told = append(told, err) }})
		put(t, client, event)
		put(t, client, plain(keyB, 1))
		put(t, client, plain(keyB, 2))
		if len(told) != 0 {
			t.Fatal("told of what is right:", told)
		}
		if err := way(t.Context(), client); err != nil || len(told) != 1 {
			t.Errorf("%s: told %v, and answered %v", name, told, err)
		}
		_, strict := open(t, memory.Options{})
		put(t, strict, event)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			way(t.Context(), strict)
		}()
		out, err := strict.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(books), Key: key})
		if err != nil || len(out.Item) != len(event) {
			t.Errorf("%s: the event is %v, %v", name, out, err)
		}
	}
	// A condition that fails protects it.
	_, client := open(t, memory.Options{})
	put(t, client, event)
	var failed *types.ConditionalCheckFailedException
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(books), Item: event, ConditionExpression: aws.String(wire.IfAbsent)}); !errors.As(err, &failed) {
		t.Error(err)
	}
}
