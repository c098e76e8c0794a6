package memdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

// plain returns an item that is not an event.
func plain(k table.Key, version int64) table.Item {
	i := table.KeyItem(k)
	i[table.AttrVersion] = table.Integer(version)
	return i
}

func putting(items ...table.Item) *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, i := range items {
		put := types.TransactWriteItem{Put: &types.Put{TableName: tableName, Item: i}}
		in.TransactItems = append(in.TransactItems, put)
	}
	return in
}

func getting(keys ...table.Key) *dynamodb.TransactGetItemsInput {
	in := &dynamodb.TransactGetItemsInput{}
	for _, k := range keys {
		get := types.TransactGetItem{Get: &types.Get{TableName: tableName, Key: table.KeyItem(k)}}
		in.TransactItems = append(in.TransactItems, get)
	}
	return in
}

// versionOf reads an item's version; "" if there is no item.
func versionOf(t testing.TB, client *dynamodb.Client, k table.Key, strong bool) string {
	t.Helper()
	out, err := client.GetItem(t.Context(), getInput(k, strong))
	if err != nil {
		t.Fatal(err)
	}
	v, _ := out.Item[table.AttrVersion].(*types.AttributeValueMemberN)
	if v == nil {
		return ""
	}
	return v.Value
}

var keyA, keyB, keyC = table.Summary.Key("a"), table.Summary.Key("b"), table.Summary.Key("c")

// While the items of a transaction become visible, single reads see some of them, transactional reads are canceled, and
// writes to the other items conflict.
func TestTransactionsBecomeVisibleItemByItem(t *testing.T) {
	var client *dynamodb.Client
	var db *memdb.Store
	var seen []string
	within := false
	db, client = open(t, memdb.Options{
		Order: func(n int, swap func(i, j int)) { swap(0, n-1) },
		Between: func(ctx context.Context) {
			if within {
				return // of a transaction below
			}
			within = true
			defer func() { within = false }()
			var versions string
			for _, k := range []table.Key{keyA, keyB, keyC} {
				versions += versionOf(t, client, k, true)
			}
			seen = append(seen, versions)

			_, busy := db.Item(keyA)
			if !busy {
				t.Error("the item that comes last is not busy")
			}
			var cancelled *types.TransactionCanceledException
			reasons := fmt.Sprint([]string{reasonOf(db, keyC), table.ReasonConflict})
			_, err := client.TransactGetItems(ctx, getting(keyC, keyA))
			if !errors.As(err, &cancelled) || reasonsOf(cancelled) != reasons {
				t.Errorf("read together: %v", err)
			}
			var conflict *types.TransactionConflictException
			if _, err := client.PutItem(ctx, putInput(plain(keyA, 9))); !errors.As(err, &conflict) {
				t.Errorf("a put meanwhile: %v", err)
			}
			_, err = client.TransactWriteItems(ctx, putting(plain(keyA, 9), plain(table.Summary.Key("other"), 9)))
			if !errors.As(err, &cancelled) || reasonsOf(cancelled) != "[TransactionConflict None]" {
				t.Errorf("a transaction meanwhile: %v", err)
			}
			if _, err := client.PutItem(ctx, putInput(plain(table.Summary.Key("else"), 1))); err != nil {
				t.Errorf("a put of something else: %v", err)
			}
		},
	})
	put(t, client, plain(keyB, 1))
	three := putting(plain(keyA, 2), plain(keyB, 2), plain(keyC, 2))
	if _, err := client.TransactWriteItems(t.Context(), three); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1", "12", "22"}; !slices.Equal(seen, want) {
		t.Errorf("seen between: %q, want %q", seen, want)
	}
	if _, err := client.TransactGetItems(t.Context(), getting(keyA, keyB, keyC)); err != nil {
		t.Error(err)
	}
	var keys []table.Key
	for _, c := range db.Since(1) {
		keys = append(keys, c.Key)
	}
	if want := []table.Key{table.Summary.Key("else"), keyC, keyB, keyA}; !slices.Equal(keys, want) {
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

// reasonOf returns why a transactional read of an item is canceled.
func reasonOf(s *memdb.Store, k table.Key) string {
	if _, busy := s.Item(k); busy {
		return table.ReasonConflict
	}
	return table.ReasonNone
}

// A committed transaction completes even if its caller panics in a hook.
func TestTransactionCompletesIfItsCallerPanics(t *testing.T) {
	_, client := open(t, memdb.Options{Between: func(context.Context) { panic("killed") }})
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

// Every kind of write that changes an event is a violation. Other items can be changed.
func TestWritesToEventsAreViolations(t *testing.T) {
	event := posting("jane", 1)
	key := table.Item{table.AttrPK: event[table.AttrPK], table.AttrSK: event[table.AttrSK]}
	for name, action := range map[string]types.TransactWriteItem{
		"put":    {Put: &types.Put{TableName: tableName, Item: event}},
		"delete": {Delete: &types.Delete{TableName: tableName, Key: key}},
		"update": {Update: &types.Update{
			TableName: tableName, Key: key, UpdateExpression: aws.String("SET Quantity = :v"),
			ExpressionAttributeValues: table.Item{":v": table.Integer(5)},
		}},
	} {
		in := putting(plain(keyA, 1))
		in.TransactItems = append(in.TransactItems, action)
		var violations []error
		_, client := open(t, memdb.Options{Violation: func(err error) { violations = append(violations, err) }})
		put(t, client, event)
		put(t, client, plain(keyB, 1))
		put(t, client, plain(keyB, 2))
		if len(violations) != 0 {
			t.Fatal("violations of what is right:", violations)
		}
		if _, err := client.TransactWriteItems(t.Context(), in); err != nil || len(violations) != 1 {
			t.Errorf("%s: violations %v, answered %v", name, violations, err)
		}
		_, strict := open(t, memdb.Options{})
		put(t, strict, event)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			strict.TransactWriteItems(t.Context(), in)
		}()
		out, err := strict.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: tableName, Key: key})
		if err != nil || len(out.Item) != len(event) {
			t.Errorf("%s: the event is %v, %v", name, out, err)
		}
	}
}
