package setup

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Listed puts opened accounts into the table, and into a page of the journal that was written some time ago. It returns
// the ids of the events.
func Listed(t testing.TB, client *dynamodb.Client, name string, ago time.Duration, accounts ...string) (ids []string) {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Microsecond).Add(-ago)
	page := projections.JournalPage{ID: events.FirstKSUID(at)}
	put := func(item table.Item) {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range accounts {
		opened := events.AccountOpened{ID: account, Name: account, Profile: "{}", Actor: "test", At: at}
		put(table.EventItem(opened))
		page.Entries = append(page.Entries, projections.EntryOf(opened))
		ids = append(ids, table.EventKey(opened).ID())
	}
	put(projections.JournalForm.Item(page))
	return ids
}
