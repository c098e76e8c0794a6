package dynamo_test

import (
	"strings"
	"testing"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire/wiretest"
	"ledger.example/projections"
	"ledger.example/projections/dynamo"
)

// Holders are one query of the index, and one batch for all their balances. Keys that the store left unread are asked for
// again; a balance that the index knows and the table's replica doesn't yet is left out, and the page goes on behind it.
func TestHolders(t *testing.T) {
	balance := func(account string) string {
		return `{"PK":{"S":"ACCOUNT#` + account + `"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"},"Version":{"N":"1"}}`
	}
	key := func(account string) string {
		return `{"PK":{"S":"ACCOUNT#` + account + `"},"SK":{"S":"BALANCE#USD"}}`
	}
	batches := 0
	store, client := wiretest.New(t, func(r wiretest.Request) wiretest.Reply {
		if r.Operation == "Query" {
			return wiretest.OK(`{"Items":[` + strings.Join([]string{key("a"), key("b"), key("c"), key("d")}, ",") + `]}`)
		}
		if batches++; batches == 1 {
			return wiretest.OK(`{"Responses":{"books":[` + balance("c") + `]},"UnprocessedKeys":{"books":{"Keys":[` + key("a") + `]}}}`)
		}
		return wiretest.OK(`{"Responses":{"books":[` + balance("a") + `]}}`)
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
	r := store.Requests()
	if len(r) != 3 || r[0].Body["IndexName"] != table.IndexInverse || r[0].Body["Limit"] != 4.0 {
		t.Errorf("sent %v", r)
	}
}

// A page that the store cuts short goes on behind what it went through, also when it found nothing.
func TestACutListGoesOn(t *testing.T) {
	last := `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"MEMBER#bob"}}`
	revoked := `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"MEMBER#bob"},"Type":{"S":"Membership"},"Number":{"N":"2"}}`
	for _, items := range []string{``, revoked} {
		_, client := wiretest.New(t, wiretest.Always(wiretest.OK(`{"Items":[`+items+`],"LastEvaluatedKey":`+last+`}`)))
		page, err := dynamo.NewLists(client, "books").Members(t.Context(), "jane", projections.Slice{Limit: 10})
		if err != nil || len(page.Items) != 0 || page.Next != "bob" {
			t.Errorf("%+v: %v", page, err)
		}
	}
}

// Items that no projector of ours wrote are refused, wherever they turn up.
func TestMalformedItemsAreRefused(t *testing.T) {
	for name, item := range map[string]string{
		"another type":      `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Spend"},"Version":{"N":"1"}}`,
		"no version":        `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"}}`,
		"a text as a fold":  `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"},"Version":{"N":"1"},"Head":{"S":"x"}}`,
		"half a fold":       `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"BALANCE#USD"},"Type":{"S":"Balance"},"Version":{"N":"1"},"Head":{"M":{"Count":{"N":"1"}}}}`,
		"not a balance":     `{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"MEMBER#ann"},"Type":{"S":"Balance"},"Version":{"N":"1"}}`,
		"a number as a key": `{"PK":{"S":"ACCOUNT#jane"},"SK":{"N":"1"},"Type":{"S":"Balance"},"Version":{"N":"1"}}`,
	} {
		_, client := wiretest.New(t, wiretest.Always(wiretest.OK(`{"Item":`+item+`}`)))
		if b, err := dynamo.NewLists(client, "books").Balance(t.Context(), jane); err == nil {
			t.Errorf("%s came back as %+v", name, b)
		}
	}
}
