// Package dynamo keeps the journal of events, and the guards beside it, in the ledger's DynamoDB table.
package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// Journal is ledger.Journal on one table. It is safe for concurrent use.
//
// Errors that ledger.Journal doesn't name (the table is missing, access is denied, an item cannot be decoded) come back
// as they are: no repetition would cure them, and nothing was written.
type Journal struct {
	client      *dynamodb.Client
	table       string
	expressions expressions
}

var _ ledger.Journal = (*Journal)(nil)

// NewJournal returns the journal in the named table.
func NewJournal(client *dynamodb.Client, tableName string) *Journal {
	return &Journal{client: client, table: tableName, expressions: newExpressions()}
}

// Look implements ledger.Journal.
func (j *Journal) Look(ctx context.Context, wanted ledger.Wanted) (ledger.Found, error) {
	found := ledger.Found{
		Accounts: make(map[string]events.AccountOpened, len(wanted.Accounts)),
		Assets:   make(map[string]events.AssetRegistered, len(wanted.Assets)),
		Credits:  make(map[ledger.Pair]events.Amount, len(wanted.Credits)),
	}
	items, at, err := wire.BatchGet(ctx, j.client, j.table, wantedKeys(wanted), true)
	if err != nil {
		return ledger.Found{}, fmt.Errorf("look up definitions: %w", err)
	}
	found.At = at
	for _, item := range items {
		if err := file(item, &found); err != nil {
			return ledger.Found{}, fmt.Errorf("look up definitions: %w", err)
		}
	}
	return found, nil
}

// wantedKeys returns each key once: the store refuses a batch that names one twice.
func wantedKeys(w ledger.Wanted) []table.Key {
	size := len(w.Accounts) + len(w.Assets) + len(w.Credits)
	keys, seen := make([]table.Key, 0, size), make(map[table.Key]bool, size)
	add := func(k table.Key) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for _, account := range w.Accounts {
		add(table.AccountKey(account))
	}
	for _, asset := range w.Assets {
		add(table.AssetKey(asset))
	}
	for _, pair := range w.Credits {
		add(table.BalanceKey(pair.Account, pair.Asset))
	}
	return keys
}

// file puts what an item tells into found.
func file(item wire.Item, found *ledger.Found) error {
	key, err := wire.KeyOf(item)
	if err != nil {
		return err
	}
	if account, asset, ok := table.ParseBalance(key); ok {
		credits, err := knownCredits(item)
		found.Credits[ledger.Pair{Account: account, Asset: asset}] = credits
		return err
	}
	e, err := wire.DecodeEvent(item)
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case events.AccountOpened:
		found.Accounts[e.ID] = e
	case events.AssetRegistered:
		found.Assets[e.ID] = e
	}
	return nil
}

// knownCredits reads the credits in a balance's head. A head that isn't there has seen no postings.
func knownCredits(balance wire.Item) (events.Amount, error) {
	r := wire.Read(balance)
	if !r.Has(table.AttrHead) {
		return events.Amount{}, nil
	}
	head := wire.Read(r.Map(table.AttrHead))
	credits := head.Amount(table.AttrCredits)
	if r.Err() != nil {
		return credits, r.Err()
	}
	return credits, head.Err()
}

// Transaction implements ledger.Journal.
func (j *Journal) Transaction(ctx context.Context, id string) (events.TransactionPosted, time.Time, error) {
	out, err := j.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &j.table,
		Key:            wire.Key(table.TransactionKey(id)),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return events.TransactionPosted{}, time.Time{}, fmt.Errorf("read transaction: %w", wire.ReadError(err))
	}
	at := wire.StoreTime(out.ResultMetadata)
	if len(out.Item) == 0 {
		return events.TransactionPosted{}, at, fmt.Errorf("read transaction: %w", table.ErrAbsent)
	}
	t, err := decode[events.TransactionPosted](out.Item)
	if err != nil {
		return events.TransactionPosted{}, at, fmt.Errorf("read transaction: %w", err)
	}
	return t, at, nil
}

// Whole implements ledger.Journal. It asks for the keys alone: what a header or a posting says never changes.
func (j *Journal) Whole(ctx context.Context, t events.TransactionPosted) (time.Time, error) {
	keys := []table.Key{wire.EventKey(t)}
	for _, posting := range t.Postings() {
		keys = append(keys, wire.EventKey(posting))
	}
	in := &dynamodb.TransactGetItemsInput{TransactItems: make([]types.TransactGetItem, len(keys))}
	for i, key := range keys {
		in.TransactItems[i].Get = &types.Get{
			TableName:            &j.table,
			Key:                  wire.Key(key),
			ProjectionExpression: aws.String(table.AttrPK),
		}
	}
	out, err := j.client.TransactGetItems(ctx, in)
	if err != nil {
		return time.Time{}, fmt.Errorf("read whole transaction: %w", wire.ReadError(err))
	}
	at := wire.StoreTime(out.ResultMetadata)
	if len(out.Responses) != len(keys) {
		return at, fmt.Errorf("read whole transaction: asked for %d items, was answered of %d", len(keys), len(out.Responses))
	}
	for i, response := range out.Responses {
		if len(response.Item) == 0 {
			return at, fmt.Errorf("read whole transaction: %w: %s %s", table.ErrAbsent, keys[i].PK, keys[i].SK)
		}
	}
	return at, nil
}

// decode reads an event of one type.
func decode[E events.Event](item wire.Item) (E, error) {
	e, err := wire.DecodeEvent(item)
	if err != nil {
		var none E
		return none, err
	}
	typed, ok := e.(E)
	if !ok {
		return typed, fmt.Errorf("%w: it is a %T, not a %T", wire.ErrMalformedItem, e, typed)
	}
	return typed, nil
}
