package setup

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// Listed puts an opened account into the table and into a page of the journal that was written some time ago. It
// returns the id of the event.
func Listed(t testing.TB, client *dynamodb.Client, table, account string, ago time.Duration) (id string) {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Microsecond).Add(-ago)
	opened := events.AccountOpened{ID: account, Name: account, Profile: "{}", Actor: "test", At: at}
	page := projections.JournalPage{ID: events.FirstKSUID(at), Entries: []projections.JournalEntry{projections.EntryOf(opened)}}
	for _, item := range []store.Item{store.EventItem(opened), projections.JournalForm.Item(page)} {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	return store.EventKey(opened).ID()
}
