package tests

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/ledger"
	ledgerdynamo "ledger.example/ledger/dynamo"
	"ledger.example/ledger/journaltest"
	"ledger.example/projections"
	projectionsdynamo "ledger.example/projections/dynamo"
)

func TestJournalOnDynamoDB(t *testing.T) { journalOn(t, newTable) }

func TestJournalInMemory(t *testing.T) { journalOn(t, newTableInMemory) }

func journalOn(t *testing.T, newTable func(testing.TB) (*dynamodb.Client, string)) {
	journaltest.Conform(t, func(t *testing.T) journaltest.Harness {
		client, name := newTable(t)
		views := projectionsdynamo.NewViews(client, name)
		return journaltest.Harness{
			Journal: ledgerdynamo.NewJournal(client, name),
			Project: func(t testing.TB, p ledger.Pair, credits events.Amount) {
				t.Helper()
				// The very item that the read side writes is the one that a command looks into.
				b, _, err := views.Balance(t.Context(), projections.Key{Account: p.Account, Asset: p.Asset})
				if err != nil {
					t.Fatal(err)
				}
				b.Head.Credits = credits
				if err := views.Write(t.Context(), projections.Change{Balance: b}); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}
