package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/dynamo"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire/wiretest"
)

func amount(t testing.TB, s string) events.Amount {
	t.Helper()
	a, err := events.ParseAmount(s, events.FoldedDigits)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// commit has legs postings, of which each has its own account, and a debit of each of the first debits accounts.
func commit(t testing.TB, legs, debits int) ledger.Commit {
	t.Helper()
	ids, _, err := events.NewMinter(time.Now, nil).Mint(legs)
	if err != nil {
		t.Fatal(err)
	}
	c := ledger.Commit{Header: events.TransactionPosted{
		ID: "t-1", Kind: events.KindTransaction, Metadata: map[string]string{}, Fingerprint: "1:abc", Actor: "local",
	}}
	for i, id := range ids {
		account := fmt.Sprintf("a%02d", i)
		c.Header.Legs = append(c.Header.Legs, events.Leg{ID: id, Account: account, Asset: "USD", Quantity: amount(t, "-5")})
		if i < debits {
			c.Debits = append(c.Debits, ledger.Debit{
				Pair: ledger.Pair{Account: account, Asset: "USD"}, Gross: amount(t, "5"), Bound: amount(t, "10"),
			})
		}
	}
	return c
}

// reason is one reason of a cancellation; with an item, what was there.
func reason(code, item string) string {
	if item == "" {
		return fmt.Sprintf(`{"Code":%q,"Message":"m"}`, code)
	}
	return fmt.Sprintf(`{"Code":%q,"Message":"m","Item":%s}`, code, item)
}

func cancellation(reasons ...string) wiretest.Reply {
	return wiretest.Reply{Status: 400, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
		`"Message":"cancelled","CancellationReasons":[` + strings.Join(reasons, ",") + `]}`}
}

// actions returns the actions of the only request, which must be one transaction.
func actions(t *testing.T, s *wiretest.Store) []map[string]any {
	t.Helper()
	requests := s.Requests()
	if len(requests) != 1 || requests[0].Operation != "TransactWriteItems" {
		t.Fatalf("requests: %v", requests)
	}
	var all []map[string]any
	for _, action := range requests[0].Body["TransactItems"].([]any) {
		all = append(all, action.(map[string]any))
	}
	return all
}

// An append is one request: every event on the condition of its absence, every guard on its bound, and what is there
// comes back when a condition fails.
func TestAppendIsOneRequest(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	c := commit(t, 3, 2)
	c.Debits[1].Bound = amount(t, "-1")
	at, err := dynamo.NewJournal(client, "books").Append(t.Context(), c)
	if err != nil || at.Format(time.RFC1123) != strings.Replace(wiretest.Clock, "GMT", "UTC", 1) {
		t.Fatalf("at %v: %v", at, err)
	}
	all := actions(t, store)
	if len(all) != 6 {
		t.Fatalf("%d actions", len(all))
	}
	for i, action := range all[:4] {
		put, ok := action["Put"].(map[string]any)
		if !ok || put["ConditionExpression"] != "attribute_not_exists(PK)" {
			t.Errorf("action %d is no put on the condition of absence: %v", i, action)
		}
	}
	for i, wanted := range []string{"attribute_not_exists(#spent) OR #spent <= :bound", "#spent <= :bound"} {
		update, ok := all[4+i]["Update"].(map[string]any)
		if !ok {
			t.Fatalf("no update of a guard: %v", all[4+i])
		}
		if update["ConditionExpression"] != wanted {
			t.Errorf("guard %d is written if %v", i, update["ConditionExpression"])
		}
		key := update["Key"].(map[string]any)
		if wanted := table.SpendKey(c.Debits[i].Account, "USD"); !reflect.DeepEqual(key["SK"], map[string]any{"S": wanted.SK}) ||
			!reflect.DeepEqual(key["PK"], map[string]any{"S": wanted.PK}) {
			t.Errorf("guard %d is %v", i, key)
		}
		values := update["ExpressionAttributeValues"].(map[string]any)
		if !reflect.DeepEqual(values[":gross"], map[string]any{"N": "5"}) ||
			!reflect.DeepEqual(values[":bound"], map[string]any{"N": c.Debits[i].Bound.String()}) {
			t.Errorf("guard %d: %v", i, values)
		}
	}
	for i, action := range all {
		for _, body := range action {
			if body.(map[string]any)["ReturnValuesOnConditionCheckFailure"] != "ALL_OLD" || body.(map[string]any)["TableName"] != "books" {
				t.Errorf("action %d: %v", i, body)
			}
		}
	}
}

// The SDK's token must differ between two appends of one commit, or the store would answer the second for the first.
func TestAppendsHaveTokensOfTheirOwn(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	journal, c := dynamo.NewJournal(client, "books"), commit(t, 2, 1)
	for range 2 {
		if _, err := journal.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	r := store.Requests()
	if first, second := r[0].Body["ClientRequestToken"], r[1].Body["ClientRequestToken"]; first == nil || first == second {
		t.Errorf("tokens %v and %v", first, second)
	}
}

// The largest transaction that can be posted fits; what doesn't is refused before it is sent.
func TestAppendIsBounded(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	journal := dynamo.NewJournal(client, "books")
	if _, err := journal.Append(t.Context(), commit(t, events.PostingsMax, events.PostingsMax)); err != nil {
		t.Error(err)
	}
	if _, err := journal.Append(t.Context(), commit(t, 50, 50)); !errors.Is(err, dynamo.ErrTooLarge) {
		t.Errorf("101 actions: %v", err)
	}
	if n := len(store.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// Each cancellation is read in the order of the request: header, two postings, two debits.
func TestCancellations(t *testing.T) {
	c := commit(t, 2, 2)
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	if _, err := dynamo.NewJournal(client, "books").Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	header := wiretest.JSON(actions(t, store)[0]["Put"].(map[string]any)["Item"])
	guard := func(spent string) string {
		return `{"PK":{"S":"ACCOUNT#a"},"SK":{"S":"SPEND#USD"},"Type":{"S":"Spend"},"Spent":{"N":"` + spent + `"}}`
	}
	const none = `{"Code":"None"}`
	conditional := func(item string) string { return reason("ConditionalCheckFailed", item) }
	conflict, throttled, capacity := reason("TransactionConflict", ""), reason("ThrottlingError", ""), reason("ProvisionedThroughputExceeded", "")
	refused := func(i int, spent string) ledger.Refusal {
		return ledger.Refusal{Pair: c.Debits[i].Pair, Spent: amount(t, spent)}
	}
	for _, one := range []struct {
		name    string
		reasons []string
		wanted  *ledger.Cancelled // nil: an error of ours
	}{
		{"refused", []string{none, none, none, conditional(guard("7")), none},
			&ledger.Cancelled{Refused: []ledger.Refusal{refused(0, "7")}}},
		{"refused twice, by 38 digits and by nothing", []string{none, none, none, conditional(guard(strings.Repeat("9", 38))), conditional("")},
			&ledger.Cancelled{Refused: []ledger.Refusal{refused(0, strings.Repeat("9", 38)), refused(1, "0")}}},
		{"there already", []string{conditional(header), none, none, none, none},
			&ledger.Cancelled{Header: ledger.HeaderExists, Stored: &c.Header}},
		{"there already, by our own first attempt", []string{conditional(header), conditional(header), conditional(header), conditional(guard("5")), none},
			&ledger.Cancelled{Header: ledger.HeaderExists, Stored: &c.Header, Refused: []ledger.Refusal{refused(0, "5")}}},
		{"header in conflict", []string{conflict, none, none, none, none}, &ledger.Cancelled{Header: ledger.HeaderConflict}},
		{"header in conflict, its posting committed", []string{conflict, conditional(header), none, none, none},
			&ledger.Cancelled{Header: ledger.HeaderConflict}},
		{"header throttled", []string{throttled, none, none, none, none}, &ledger.Cancelled{Header: ledger.HeaderThrottled}},
		{"header above capacity", []string{capacity, none, none, none, none}, &ledger.Cancelled{Header: ledger.HeaderThrottled}},
		{"guard in conflict", []string{none, none, none, none, conflict}, &ledger.Cancelled{Conflict: true}},
		{"posting throttled", []string{none, throttled, none, none, none}, &ledger.Cancelled{Throttled: true}},
		{"guard above capacity", []string{none, none, none, capacity, none}, &ledger.Cancelled{Throttled: true}},
		{"all at once", []string{none, throttled, none, conditional(guard("7")), conflict},
			&ledger.Cancelled{Refused: []ledger.Refusal{refused(0, "7")}, Conflict: true, Throttled: true}},
		{"a posting is there, its header is not", []string{none, conditional(header), none, none, none}, &ledger.Cancelled{}},

		{"guard malformed", []string{none, none, none, reason("ValidationError", ""), none}, nil},
		{"header malformed", []string{reason("ValidationError", ""), none, none, none, none}, nil},
		{"collection full", []string{none, reason("ItemCollectionSizeLimitExceeded", ""), none, none, none}, nil},
		{"header unreadable", []string{conditional(guard("1")), none, none, none, none}, nil},
		{"header not told", []string{conditional(""), none, none, none, none}, nil},
		{"guard unreadable", []string{none, none, none, conditional(`{"PK":{"S":"x"}}`), none}, nil},
		{"too few reasons", []string{none}, nil},
	} {
		t.Run(one.name, func(t *testing.T) {
			_, client := wiretest.New(t, wiretest.Always(cancellation(one.reasons...)))
			at, err := dynamo.NewJournal(client, "books").Append(t.Context(), c)
			var got *ledger.Cancelled
			switch {
			case at.IsZero():
				t.Error("the store's clock was not told")
			case one.wanted == nil:
				if err == nil || errors.As(err, &got) || namesOutcome(err) {
					t.Errorf("error %v", err)
				}
			case !errors.As(err, &got):
				t.Errorf("error %v", err)
			default:
				one.wanted.At = at
				if !reflect.DeepEqual(got, one.wanted) {
					t.Errorf("\n got    %+v\n wanted %+v", got, one.wanted)
				}
			}
		})
	}
}

// namesOutcome tells whether err is one of package table's.
func namesOutcome(err error) bool {
	return slices.ContainsFunc([]error{
		table.ErrAbsent, table.ErrExists, table.ErrConflict, table.ErrThrottled, table.ErrUnavailable, table.ErrUnknownOutcome,
	}, func(one error) bool { return errors.Is(err, one) })
}

// What is not a cancellation is told as package wire has it, and sent once.
func TestAppendFailures(t *testing.T) {
	for _, c := range []struct {
		reply  wiretest.Reply
		wanted error
	}{
		{wiretest.Refusal(400, "ThrottlingException", "x"), table.ErrThrottled},
		{wiretest.Refusal(500, "InternalServerError", "x"), table.ErrUnknownOutcome},
		{wiretest.Refusal(400, "TransactionInProgressException", "x"), table.ErrUnknownOutcome},
		{wiretest.Reply{Err: &url.Error{Op: "Post", Err: syscall.ECONNRESET}}, table.ErrUnknownOutcome},
	} {
		store, client := wiretest.New(t, wiretest.Always(c.reply))
		_, err := dynamo.NewJournal(client, "books").Append(t.Context(), commit(t, 2, 1))
		if !errors.Is(err, c.wanted) {
			t.Errorf("error %v, wanted %v", err, c.wanted)
		}
		if n := len(store.Requests()); n != 1 {
			t.Errorf("%v: sent %d times", c.wanted, n)
		}
	}
}

// An append that had no time left was not sent, and so wrote nothing.
func TestAppendWithoutTime(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.OK("{}")))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := dynamo.NewJournal(client, "books").Append(over, commit(t, 2, 1))
	if !errors.Is(err, table.ErrUnavailable) || errors.Is(err, table.ErrUnknownOutcome) || len(store.Requests()) != 0 {
		t.Errorf("error %v", err)
	}
}
