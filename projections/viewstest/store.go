// Package viewstest supports tests of projections: a table of the built-in store that tests fill, observe and damage.
package viewstest

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/projections"
)

const tableName = "ledger"

// T is a test of package testing or of package rapid, as the fixtures need it.
type T interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// Store is a table of the built-in store, with its projections. It is safe for concurrent use, except for setting its
// exported fields.
type Store struct {
	*projections.Views
	Seed
	Table table.Table        // counts its requests
	Lists *projections.Lists // of Table

	Now  func() time.Time // the store's clock; it must not go back
	Page int              // maximum items in a page; 0: as DynamoDB

	t  T
	db *memdb.Store

	mu       sync.Mutex
	requests Requests
}

// Requests counts the requests to a Store through its Table.
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
	if _, err := dynamolocal.CreateTable(t.Context(), s.Client, tableName); err != nil {
		t.Fatal(err)
	}
	s.Table = &tabletest.Faulty{Table: table.NewTable(s.Client, tableName), Around: s.count}
	s.Views, s.Lists = projections.NewViews(s.Table), projections.NewLists(s.Table)
	return s
}

// Requests returns the counts since its last call.
func (s *Store) Requests() Requests {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = Requests{}
	return r
}

// AllSegments returns the stored segments of k, in order, as far as they can be decoded. Its requests are not counted.
func (s *Store) AllSegments(k events.Pair) (all []projections.Segment) {
	s.t.Helper()
	q := table.Query{
		Partition: table.Account.PK(k.Account), Within: table.Segment.All(k.Asset), Consistency: table.Strong,
	}
	for item, err := range table.All(context.Background(), table.NewTable(s.Client, s.Name), q) {
		if err != nil {
			s.t.Fatal(err)
		}
		found, _ := projections.SegmentForm.Decode(item)
		found.Pair, found.Through = k, events.KSUID(table.LastID(table.TextOf(item[table.AttrSK])))
		all = append(all, found)
	}
	return all
}

// Seed puts events directly into a table, in the form in which commands store them. It also reads memberships.
type Seed struct {
	Client *dynamodb.Client
	Name   string // of the table
}

// Put puts events.
func (s Seed) Put(ctx context.Context, all ...events.Event) error {
	for _, e := range all {
		_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:           &s.Name,
			Item:                table.EventItem(e),
			ConditionExpression: aws.String(table.IfAbsent),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Change puts c as the newest change of its account.
func (s Seed) Change(ctx context.Context, c events.AccountChanged) error {
	item := table.NewItemEncoder(1).Current(c)
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Name, Item: item})
	return err
}

// Post puts postings of k.
func (s Seed) Post(ctx context.Context, k events.Pair, postings ...projections.Posting) error {
	for _, p := range postings {
		err := s.Put(ctx, events.PostingRecorded{
			Leg: events.Leg{
				ID: p.ID, Account: k.Account, Asset: k.Asset, Quantity: p.Quantity, Cost: p.Cost,
			},
			Pending: p.Pending, Phase: p.Phase, Backdated: p.Backdated, RecordedAt: p.RecordedAt,
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

// Membership reads the stored membership of user on account. Error: table.ErrAbsent.
func (s Seed) Membership(ctx context.Context, account, user string) (projections.Membership, error) {
	item, _, err := table.NewTable(s.Client, s.Name).Get(ctx, table.Membership.Key(account, user), table.Strong)
	switch {
	case err != nil:
		return projections.Membership{}, err
	case item == nil:
		return projections.Membership{}, table.ErrAbsent
	}
	return projections.MembershipForm.Decode(item)
}
