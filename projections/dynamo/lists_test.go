package dynamo_test

import (
	"errors"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/ddb/ddbtest"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/dynamo"
)

// Holders are one query of the index, and one batch for all their balances. Keys that the store left unread are asked
// for again; a balance that the index knows and the table's replica doesn't yet is left out, and the page goes on
// behind it.
func TestHolders(t *testing.T) {
	balance := func(account string) string {
		return `{"PK":{"S":"ACCOUNT#` + account +
			`"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"},"Version":{"N":"1"}}`
	}
	key := func(account string) string {
		return `{"PK":{"S":"ACCOUNT#` + account + `"},"SK":{"S":"BALANCE#USD"}}`
	}
	batches := 0
	fake, client := ddbtest.New(t, func(r ddbtest.Request) ddbtest.Reply {
		if r.Operation == "Query" {
			return ddbtest.OK(`{"Items":[` + strings.Join([]string{key("a"), key("b"), key("c"), key("d")}, ",") +
				`]}`)
		}
		if batches++; batches == 1 {
			return ddbtest.OK(`{"Responses":{"books":[` + balance("c") + `]},"UnprocessedKeys":{"books":{"Keys":[` +
				key("a") + `]}}}`)
		}
		return ddbtest.OK(`{"Responses":{"books":[` + balance("a") + `]}}`)
	})
	page, err := dynamo.NewLists(client, "books").Holders(t.Context(), "USD", projections.Slice{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	var accounts []string
	for _, b := range page.Items {
		accounts = append(accounts, b.Account)
	}
	if strings.Join(accounts, " ") != "a c" || page.Next != "c" {
		t.Errorf("holders %v, next %q", accounts, page.Next)
	}
	r := fake.Requests()
	if len(r) != 3 || r[0].Body["IndexName"] != table.IndexInverse || r[0].Body["Limit"] != 4.0 {
		t.Errorf("sent %v", r)
	}
}

// A version that no write can count on is no reason not to show an item. Who would write it is told that it is
// malformed.
func TestAnyVersionIsShown(t *testing.T) {
	head := `"Head":{"M":{"Through":{"S":"3MQ930VcDUzkmMa0YDc4uP3ev4t"},"Credits":{"N":"7"},"Debits":{"N":"0"},` +
		`"Expenditure":{"N":"0"},"Count":{"N":"1"}}}`
	for version, readable := range map[string]bool{
		``: false, `"Version":{"S":"x"},`: false, `"Version":{"N":"9223372036854775807"},`: false,
		`"Version":{"N":"1000000000000001"},`:                 false,
		`"Version":{"N":"1` + strings.Repeat("0", 37) + `"},`: false, `"Version":{"N":"-1"},`: false,
		`"Version":{"N":"1000000000000000"},`: true,
	} {
		item := `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"},` + version + head + `}`
		_, client := ddbtest.New(t, ddbtest.Always(ddbtest.OK(`{"Item":`+item+
			`,"Responses":{"books":[`+item+`]}}`)))
		b, err := dynamo.NewLists(client, "books").Balance(t.Context(), jane)
		if err != nil || b.Head.Credits != events.NewAmount(7) {
			t.Errorf("%s is shown as %+v, %v", version, b, err)
		}
		_, _, err = dynamo.NewViews(client, "books").Balance(t.Context(), jane)
		if readable && err != nil || !readable && !errors.Is(err, store.ErrMalformedItem) {
			t.Errorf("%s is read: %v", version, err)
		}
		found, _, _, err := dynamo.NewViews(client, "books").Snapshot(t.Context(), jane, nil)
		if err != nil || (found.Value.Version > 0) != readable {
			t.Errorf("%s is found as %+v, %v", version, found, err)
		}
	}
}
