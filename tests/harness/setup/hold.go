package setup

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// DueHold puts a hold and its list entry directly into a table. It is a transfer of 1 USD from payer to payee that
// expired the given time ago.
func DueHold(t testing.TB, client *dynamodb.Client, name, id string, ago time.Duration) events.TransactionPosted {
	t.Helper()
	expires := time.Now().UTC().Truncate(time.Microsecond).Add(-ago)
	ids, _, err := events.NewMinter(func() time.Time { return expires.Add(-time.Hour) }, nil).Mint(2)
	if err != nil {
		t.Fatal(err)
	}
	hold := events.TransactionPosted{
		ID: id, Kind: events.KindTransfer, Annotation: events.Annotation{Metadata: map[string]string{}},
		Fingerprint: "1:abc", Actor: "test",
		ExpiresAt: expires, Legs: []events.Leg{
			{ID: ids[0], Account: "payer", Asset: "USD", Quantity: events.NewAmount(-1)},
			{ID: ids[1], Account: "payee", Asset: "USD", Quantity: events.NewAmount(1)},
		},
	}
	for _, item := range []table.Item{
		table.EventItem(hold), table.EventItem(hold.Postings()[0]), table.EventItem(hold.Postings()[1]),
	} {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	views := projections.NewViews(table.NewTable(client, name))
	entries := projections.HoldEntries(events.Transaction{Header: hold}, table.Lanes{})
	if err := views.Show(t.Context(), projections.Holds, entries...); err != nil {
		t.Fatal(err)
	}
	return hold
}
