package tests

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
	projectionsdynamo "ledger.example/projections/dynamo"
	"ledger.example/projections/viewstest"
)

func TestViewsOnDynamoDB(t *testing.T) { viewsOn(t, newTable) }

func TestViewsInMemory(t *testing.T) { viewsOn(t, newTableInMemory) }

func viewsOn(t *testing.T, newTable func(testing.TB) (*dynamodb.Client, string)) {
	viewstest.Conform(t, func(t *testing.T) (projections.Views, viewstest.Seed) {
		client, name := newTable(t)
		return projectionsdynamo.NewViews(client, name), eventSeed{client, name}
	})
}

// eventSeed puts events as commands store them, without a command.
type eventSeed struct {
	client *dynamodb.Client
	table  string
}

func (s eventSeed) put(ctx context.Context, facts ...events.Event) error {
	for _, fact := range facts {
		_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:           &s.table,
			Item:                wire.EventItem(fact),
			ConditionExpression: aws.String(wire.IfAbsent),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Post implements viewstest.Seed.
func (s eventSeed) Post(ctx context.Context, k projections.Key, postings ...projections.Posting) error {
	for _, p := range postings {
		err := s.put(ctx, events.PostingRecorded{
			Leg: events.Leg{
				ID: p.ID, Account: k.Account, Asset: k.Asset, Quantity: p.Quantity, Cost: p.Cost,
			},
			Transaction: "t-" + string(p.ID),
			Kind:        events.KindTransaction,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Grant implements viewstest.Seed.
func (s eventSeed) Grant(ctx context.Context, m projections.Membership) error {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	if m.Role == "" {
		return s.put(ctx, events.MemberRevoked{Account: m.Account, User: m.User, Number: m.Number, Actor: "test", At: at})
	}
	return s.put(ctx, events.MemberGranted{Account: m.Account, User: m.User, Role: m.Role, Number: m.Number, Actor: "test", At: at})
}

// Membership implements viewstest.Seed.
func (s eventSeed) Membership(ctx context.Context, account, user string) (projections.Membership, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      &s.table,
		Key:            wire.Key(table.MembershipKey(account, user)),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return projections.Membership{}, err
	}
	if out.Item == nil {
		return projections.Membership{}, table.ErrAbsent
	}
	r := wire.Read(out.Item)
	return projections.Membership{
		Account: r.Text(table.AttrAccount), User: r.Text(table.AttrUser),
		Role: events.Role(r.OptionalText(table.AttrRole)), Number: r.Integer(table.AttrNumber),
	}, r.Err()
}
