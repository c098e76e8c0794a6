package dynamo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/dynamo"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire/wiretest"
)

// Every path that writes an event writes it on the condition of its absence, once, and asks what is there.
func TestEveryWriteOfAnEventIsConditional(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	asset := events.AssetRegistered{ID: "USD", Name: "US dollar", Actor: "local", At: at}
	account := events.AccountOpened{ID: "jane", Profile: "{}", Actor: "local", At: at}
	granted := events.MemberGranted{Account: "jane", User: "ann", Role: events.RoleViewer, Number: 1, Actor: "local", At: at}
	revoked := events.MemberRevoked{Account: "jane", User: "ann", Number: 2, Actor: "local", At: at}
	for name, put := range map[string]func(*dynamo.Journal, context.Context) error{
		"asset":      func(j *dynamo.Journal, ctx context.Context) error { _, err := j.RegisterAsset(ctx, asset); return err },
		"account":    func(j *dynamo.Journal, ctx context.Context) error { _, err := j.OpenAccount(ctx, account); return err },
		"grant":      func(j *dynamo.Journal, ctx context.Context) error { _, err := j.PutGrant(ctx, granted); return err },
		"revocation": func(j *dynamo.Journal, ctx context.Context) error { _, err := j.PutGrant(ctx, revoked); return err },
	} {
		t.Run(name, func(t *testing.T) {
			reply := wiretest.OK("{}")
			store, client := wiretest.New(t, func(wiretest.Request) wiretest.Reply { return reply })
			journal := dynamo.NewJournal(client, "books")
			if err := put(journal, t.Context()); err != nil {
				t.Fatal(err)
			}
			sent := store.Requests()[0]
			if sent.Operation != "PutItem" || sent.Body["ConditionExpression"] != "attribute_not_exists(PK)" ||
				sent.Body["ReturnValuesOnConditionCheckFailure"] != "ALL_OLD" || sent.Body["TableName"] != "books" {
				t.Errorf("sent %v", sent)
			}

			reply = wiretest.Reply{Status: 400, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",` +
				`"message":"x","Item":` + wiretest.JSON(sent.Body["Item"]) + `}`}
			if err := put(journal, t.Context()); !errors.Is(err, table.ErrExists) {
				t.Errorf("there already: %v", err)
			}
			reply = wiretest.Refusal(500, "InternalServerError", "x")
			if err := put(journal, t.Context()); !errors.Is(err, table.ErrUnknownOutcome) {
				t.Errorf("no answer: %v", err)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if err := put(journal, over); !errors.Is(err, table.ErrUnavailable) || errors.Is(err, table.ErrUnknownOutcome) {
				t.Errorf("a context that is over: %v", err)
			}
			if n := len(store.Requests()); n != 3 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestOnlyGrantsAreGrants(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	if _, err := dynamo.NewJournal(client, "books").PutGrant(t.Context(), events.AccountOpened{ID: "jane"}); err == nil {
		t.Error("an account was put as a grant")
	}
	if n := len(store.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A command decides on what it reads: every read of the journal is strongly consistent, and names each key once.
func TestReadsAreStrong(t *testing.T) {
	store, client := wiretest.New(t, func(r wiretest.Request) wiretest.Reply {
		return wiretest.OK(`{"Items":[],"Responses":{}}`)
	})
	journal, ctx := dynamo.NewJournal(client, "books"), t.Context()
	if _, err := journal.Look(ctx, ledger.Wanted{
		Accounts: []string{"jane", "jane"}, Assets: []string{"USD", "USD"},
		Credits: []ledger.Pair{{Account: "jane", Asset: "USD"}, {Account: "jane", Asset: "USD"}},
	}); err != nil {
		t.Error(err)
	}
	if _, _, err := journal.Transaction(ctx, "t-1"); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("no header: %v", err)
	}
	if _, err := journal.NewestGrant(ctx, "jane", "ann"); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("no grant: %v", err)
	}
	r := store.Requests()
	if len(r) != 3 {
		t.Fatalf("%d requests", len(r))
	}
	batch := r[0].Body["RequestItems"].(map[string]any)["books"].(map[string]any)
	if keys := batch["Keys"].([]any); len(keys) != 3 {
		t.Errorf("asked for %v", keys)
	}
	for what, body := range map[string]map[string]any{"batch": batch, "get": r[1].Body, "query": r[2].Body} {
		if body["ConsistentRead"] != true {
			t.Errorf("%s is not strongly consistent: %v", what, body)
		}
	}
}
