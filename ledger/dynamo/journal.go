// Package dynamo implements ledger.Journal, the events and the spending guards, on the ledger's DynamoDB table.
//
// Every method makes the requests that ledger.Journal describes, and translates their errors to those of package store.
// It never retries a write: package ledger does.
package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// Journal is ledger.Journal on one table. It is safe for concurrent use.
//
// Errors that ledger.Journal does not list are returned unchanged: the table is missing, access is denied, an item
// cannot be decoded. A retry would not help, and nothing was written.
type Journal struct {
	client *dynamodb.Client
	table  string
}

var _ ledger.Journal = (*Journal)(nil)

// NewJournal returns the journal in the named table.
func NewJournal(client *dynamodb.Client, tableName string) *Journal {
	return &Journal{client: client, table: tableName}
}

// Lookup implements ledger.Journal.
func (j *Journal) Lookup(ctx context.Context, wanted ledger.LookupKeys) (ledger.LookupResult, error) {
	found := ledger.LookupResult{
		Accounts: make(map[string]ledger.Account, len(wanted.Accounts)),
		Assets:   make(map[string]events.AssetRegistered, len(wanted.Assets)),
		Groups:   make(map[string]events.GroupRegistered, len(wanted.Groups)),
		Credits:  make(map[events.Pair]events.Amount, len(wanted.Credits)),
		Guards:   make(map[events.Pair]ledger.Guard, len(wanted.Credits)),
	}
	items, at, err := ddb.BatchGet(ctx, j.client, j.table, wantedKeys(wanted), true)
	if err != nil {
		return ledger.LookupResult{}, fmt.Errorf("look up definitions: %w", err)
	}
	found.At = at
	var accounts openings
	for _, item := range items {
		if err := addItem(item, &found, &accounts); err != nil {
			return ledger.LookupResult{}, fmt.Errorf("look up definitions: %w", err)
		}
	}
	for _, opening := range accounts.opened {
		found.Accounts[opening.ID] = ledger.NewAccount(opening, accounts.changed[opening.ID])
	}
	return found, nil
}

// openings are the items of accounts.
type openings struct {
	opened  []events.AccountOpened
	changed map[string]*events.AccountChanged // the newest change, by account; may be nil
}

// wantedKeys returns each key once, because BatchGetItem rejects duplicate keys.
func wantedKeys(w ledger.LookupKeys) []table.Key {
	size := 2*len(w.Accounts) + len(w.Assets) + len(w.Groups) + 2*len(w.Credits)
	keys, seen := make([]table.Key, 0, size), make(map[table.Key]bool, size)
	add := func(k table.Key) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for _, account := range w.Accounts {
		add(table.Account.Key(account))
		add(table.Current.Key(account))
	}
	for _, asset := range w.Assets {
		add(table.Asset.Key(asset))
	}
	for _, group := range w.Groups {
		add(table.Group.Key(group))
	}
	for _, pair := range w.Credits {
		add(table.Balance.Key(pair.Account, pair.Asset))
		add(table.Spend.Key(pair.Account, pair.Asset))
	}
	return keys
}

// addItem adds an item to found, or to accounts.
func addItem(item ddb.Item, found *ledger.LookupResult, accounts *openings) error {
	key, err := ddb.KeyOf(item)
	if err != nil {
		return err
	}
	if account, asset, ok := table.Balance.Parse(key); ok {
		found.Credits[events.Pair{Account: account, Asset: asset}] = knownCredits(item)
		return nil
	}
	if account, asset, ok := table.Spend.Parse(key); ok {
		pair := events.Pair{Account: account, Asset: asset}
		found.Guards[pair], err = readGuard(pair, item)
		return err
	}
	if account, ok := table.Current.Parse(key); ok {
		newest, err := ddb.DecodeCurrent(item)
		if accounts.changed == nil {
			accounts.changed = make(map[string]*events.AccountChanged)
		}
		accounts.changed[account] = &newest
		return err
	}
	e, err := ddb.DecodeEvent(item)
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case events.AccountOpened:
		accounts.opened = append(accounts.opened, e)
	case events.AssetRegistered:
		found.Assets[e.ID] = e
	case events.GroupRegistered:
		found.Groups[e.ID] = e
	}
	return nil
}

// knownCredits decodes the funds in a balance's head. It returns 0 if they are absent or malformed: a valid lower
// bound. If it is too low for a debit, the exact funds are read from the postings.
func knownCredits(balance ddb.Item) events.Amount {
	r := ddb.Open(balance, table.Balance.Type)
	if !r.Has(table.AttrHead) {
		return events.Amount{}
	}
	head := ddb.Read(r.Map(table.AttrHead))
	funds, err := head.Amount(table.AttrCredits).Add(head.OptionalAmount(table.AttrReturned))
	if r.Err() != nil || head.Err() != nil || err != nil {
		return events.Amount{}
	}
	return funds
}

// Transaction implements ledger.Journal.
func (j *Journal) Transaction(ctx context.Context, id string) (t events.TransactionPosted, at time.Time, err error) {
	item, at, err := ddb.Get(ctx, j.client, j.table, table.Transaction.Key(id), true)
	if err == nil && item == nil {
		err = store.ErrAbsent
	}
	if err == nil {
		t, err = ddb.Only[events.TransactionPosted](ddb.DecodeEvent(item))
	}
	if err != nil {
		return events.TransactionPosted{}, at, fmt.Errorf("read transaction: %w", err)
	}
	return t, at, nil
}

// Lifecycle implements ledger.Journal.
func (j *Journal) Lifecycle(ctx context.Context, id string) (lifecycle ledger.Lifecycle, at time.Time, err error) {
	q := ddb.Within(table.Transaction.PK(id), table.LifecycleRange(), &dynamodb.QueryInput{
		TableName: &j.table, ConsistentRead: aws.Bool(true),
	})
	for {
		out, err := ddb.Page(ctx, j.client, q)
		if err != nil {
			return ledger.Lifecycle{}, at, fmt.Errorf("read transaction: %w", err)
		}
		at = ddb.StoreTime(out.ResultMetadata)
		for _, item := range out.Items {
			if err := addToLifecycle(item, &lifecycle); err != nil {
				return ledger.Lifecycle{}, at, fmt.Errorf("read transaction: %w", err)
			}
		}
		if out.LastEvaluatedKey == nil {
			break
		}
		q.ExclusiveStartKey = out.LastEvaluatedKey
	}
	if lifecycle.Header.ID == "" { // the end and the reversals may be visible before the header
		return ledger.Lifecycle{}, at, fmt.Errorf("read transaction: %w", store.ErrAbsent)
	}
	return lifecycle, at, nil
}

// addToLifecycle adds an item to lifecycle.
func addToLifecycle(item ddb.Item, lifecycle *ledger.Lifecycle) error {
	e, err := ddb.DecodeEvent(item)
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case events.TransactionPosted:
		lifecycle.Header = e
	case events.HoldEnded:
		lifecycle.Ended = &e
	case events.TransactionReversed:
		lifecycle.Reversals = append(lifecycle.Reversals, e)
	default:
		return fmt.Errorf("%w: a %T in the partition of a transaction", store.ErrMalformedItem, e)
	}
	return nil
}

// VerifyComplete implements ledger.Journal. It reads keys only, because events never change.
func (j *Journal) VerifyComplete(
	ctx context.Context, head events.Event, postings []events.PostingRecorded,
) (time.Time, error) {
	keys := make([]table.Key, 0, 1+len(postings))
	keys = append(keys, ddb.EventKey(head))
	for i := range postings {
		keys = append(keys, ddb.EventKey(&postings[i]))
	}
	items, at, err := ddb.TransactGet(ctx, j.client, j.table, keys, table.AttrPK)
	if err != nil {
		return at, fmt.Errorf("verify transaction: %w", err)
	}
	for i, item := range items {
		if item == nil {
			return at, fmt.Errorf("verify transaction: %w: %s %s", store.ErrAbsent, keys[i].PK, keys[i].SK)
		}
	}
	return at, nil
}
