// Package viewstest supports tests of projections. It has a conformance suite for the adapter projections/dynamo on any
// DynamoDB, and an in-memory table that tests fill, observe and damage.
package viewstest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/dynamo"
	"ledger.example/projections/repair"
)

const tableName = "ledger"

// T is a test of package testing or of package rapid, as the fixtures need it.
type T interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// Store is an in-memory table with the adapter projections/dynamo on it. It is safe for concurrent use, except for
// setting its exported fields.
type Store struct {
	*dynamo.Views
	Seed
	Lists *dynamo.Lists // of the same table

	Now  func() time.Time // the store's clock; it must not go back
	Page int              // maximum items in a page; 0: as DynamoDB

	t  T
	db *memdb.Store

	mu       sync.Mutex
	requests Requests
}

// Requests counts the requests to a Store through its Views and Lists.
type Requests struct {
	Gets, Queries, TransactGets int // reads
	Postings                    int // postings that queries returned
	Puts, TransactWrites        int // writes that were applied
}

// Writes is the number of writes that were applied.
func (r Requests) Writes() int { return r.Puts + r.TransactWrites }

// NewStore returns a store with an empty table as in template.yaml. now is its clock.
func NewStore(t T, now func() time.Time) *Store {
	t.Helper()
	s := &Store{t: t, Now: now}
	s.db = memdb.New(memdb.Options{
		Now: func() time.Time { return s.Now() },
		Page: func(_ context.Context, n int) int {
			if s.Page == 0 {
				return n
			}
			return min(n, s.Page)
		},
	})
	s.Seed = Seed{s.db.DynamoDB(), tableName}
	createTable(t, s.Client)
	s.Views = dynamo.NewViews(s.db.DynamoDB(s.counted), tableName)
	s.Lists = dynamo.NewLists(s.db.DynamoDB(s.counted), tableName)
	return s
}

// NewTable returns a client of an empty in-memory table with pages of seven items, and the table's name.
func NewTable(t T) (*dynamodb.Client, string) {
	db := memdb.New(memdb.Options{Page: func(_ context.Context, n int) int { return min(n, 7) }})
	client := db.DynamoDB()
	createTable(t, client)
	return client, tableName
}

func createTable(t T, client *dynamodb.Client) {
	t.Helper()
	if _, err := dynamolocal.CreateTable(t.Context(), client, tableName); err != nil {
		t.Fatal(err)
	}
}

// counted makes a client count its requests.
func (s *Store) counted(o *dynamodb.Options) {
	ddb.Observe("CountRequests", func(_ context.Context, in, out any, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests.count(in, out, err)
	})(o)
}

func (r *Requests) count(in, out any, err error) {
	switch in.(type) {
	case *dynamodb.GetItemInput:
		r.Gets++
	case *dynamodb.TransactGetItemsInput:
		r.TransactGets++
	case *dynamodb.QueryInput:
		r.Queries++
		if page, ok := out.(*dynamodb.QueryOutput); ok {
			for _, item := range page.Items {
				if sk := ddb.Read(item).OptionalText(table.AttrSK); strings.HasPrefix(sk, table.Posting.Prefix()) {
					r.Postings++
				}
			}
		}
	case *dynamodb.PutItemInput:
		if err == nil {
			r.Puts++
		}
	case *dynamodb.TransactWriteItemsInput:
		if err == nil {
			r.TransactWrites++
		}
	}
}

// Requests returns the counts since its last call.
func (s *Store) Requests() Requests {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = Requests{}
	return r
}

// AllSegments returns the stored segments of k, in order. Its requests are not counted.
func (s *Store) AllSegments(k events.Pair) (all []projections.Segment) {
	s.t.Helper()
	return segmentsOf(s.t, dynamo.NewViews(s.Client, tableName), k)
}

func segmentsOf(t T, views *dynamo.Views, k events.Pair) (all []projections.Segment) {
	t.Helper()
	found := pages(t, "", func(after events.KSUID) ([]repair.Stored[projections.Segment], bool, error) {
		return views.StoredSegments(context.Background(), k, after)
	}, func(s repair.Stored[projections.Segment]) events.KSUID { return s.Value.Through })
	for _, s := range found {
		all = append(all, s.Value)
	}
	return all
}

// pages reads all pages, each after the last element of the previous one. id returns an element's position.
func pages[E any](
	t T, after events.KSUID, read func(after events.KSUID) (page []E, more bool, err error), id func(E) events.KSUID,
) (all []E) {
	t.Helper()
	for {
		page, more, err := read(after)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page...); !more {
			return all
		}
		if len(page) > 0 {
			after = id(page[len(page)-1])
		}
	}
}

// Seed puts events directly into a table, in the form in which commands store them. It also reads items for which the
// ports have only writes.
type Seed struct {
	Client *dynamodb.Client
	Table  string
}

// Put puts events.
func (s Seed) Put(ctx context.Context, all ...events.Event) error {
	for _, e := range all {
		_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:           &s.Table,
			Item:                ddb.EventItem(e),
			ConditionExpression: aws.String(ddb.IfAbsent),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Change puts c as the newest change of its account.
func (s Seed) Change(ctx context.Context, c events.AccountChanged) error {
	item := ddb.NewItemEncoder(1).Current(c)
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Table, Item: item})
	return err
}

// Post puts postings of k.
func (s Seed) Post(ctx context.Context, k events.Pair, postings ...projections.Posting) error {
	for _, p := range postings {
		err := s.Put(ctx, events.PostingRecorded{
			Leg: events.Leg{
				ID: p.ID, Account: k.Account, Asset: k.Asset, Quantity: p.Quantity, Cost: p.Cost,
			},
			Pending: p.Pending, Phase: p.Phase, Backdated: p.Backdated,
			Transaction: "t-" + string(p.ID),
			Kind:        events.KindTransaction,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Grant puts the grant of m, a revocation if its role is "".
func (s Seed) Grant(ctx context.Context, m projections.Membership) error {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	return s.Put(ctx, events.MemberGranted{
		Account: m.Account, User: m.User, Role: m.Role, Number: m.Number, Actor: "test", At: at,
	})
}

// Membership reads the stored membership of user on account. Error: store.ErrAbsent.
func (s Seed) Membership(ctx context.Context, account, user string) (projections.Membership, error) {
	found, err := dynamo.NewViews(s.Client, s.Table).StoredMembership(
		ctx, projections.Membership{Account: account, User: user})
	if err == nil && !found.Exists {
		err = store.ErrAbsent
	}
	return found.Value, err
}
