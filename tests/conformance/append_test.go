package conformance

import (
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
	"ledger.example/internal/ddb/ddbtest"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/ledger/dynamo"
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
	header := events.TransactionPosted{
		ID: "t-1", Kind: events.KindTransaction, Metadata: map[string]string{}, Fingerprint: "1:abc", Actor: "local",
	}
	var spent []ledger.Debit
	for i, id := range ids {
		account := fmt.Sprintf("a%02d", i)
		header.Legs = append(header.Legs, events.Leg{ID: id, Account: account, Asset: "USD", Quantity: amount(t, "-5")})
		if i < debits {
			spent = append(spent, ledger.Debit{
				Pair: events.Pair{Account: account, Asset: "USD"}, Gross: amount(t, "5"), Bound: amount(t, "10"),
			})
		}
	}
	return ledger.NewCommit(header, spent...)
}

// reason is one reason of a cancellation; with an item, what was there.
func reason(code, item string) string {
	if item == "" {
		return fmt.Sprintf(`{"Code":%q,"Message":"m"}`, code)
	}
	return fmt.Sprintf(`{"Code":%q,"Message":"m","Item":%s}`, code, item)
}

func cancellation(reasons ...string) ddbtest.Reply {
	return ddbtest.Reply{Status: 400, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
		`"Message":"cancelled","CancellationReasons":[` + strings.Join(reasons, ",") + `]}`}
}

// actions returns the actions of the only request, which must be one transaction.
func actions(t *testing.T, s *ddbtest.Store) []map[string]any {
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

// The SDK's token must differ between two appends of one commit, or the store would answer the second for the first.
func TestAppendsHaveTokensOfTheirOwn(t *testing.T) {
	fake, client := ddbtest.New(t, ddbtest.Always(ddbtest.OK("{}")))
	journal, c := dynamo.NewJournal(client, "books"), commit(t, 2, 1)
	for range 2 {
		if _, err := journal.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	r := fake.Requests()
	if first, second := r[0].Body["ClientRequestToken"], r[1].Body["ClientRequestToken"]; first == nil || first == second {
		t.Errorf("tokens %v and %v", first, second)
	}
}

// The largest transaction that can be posted fits; what doesn't is refused before it is sent.
func TestAppendIsBounded(t *testing.T) {
	fake, client := ddbtest.New(t, ddbtest.Always(ddbtest.OK("{}")))
	journal := dynamo.NewJournal(client, "books")
	if _, err := journal.Append(t.Context(), commit(t, events.PostingsMax, events.PostingsMax)); err != nil {
		t.Error(err)
	}
	if _, err := journal.Append(t.Context(), commit(t, 50, 50)); !errors.Is(err, dynamo.ErrTooLarge) {
		t.Errorf("101 actions: %v", err)
	}
	if n := len(fake.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A transaction is sent once, whatever the answer: another attempt has KSUIDs of its own.
func TestAppendIsSentOnce(t *testing.T) {
	for _, reply := range []ddbtest.Reply{
		ddbtest.Refusal(400, "ThrottlingException", "x"), ddbtest.Refusal(500, "InternalServerError", "x"),
		{Err: &url.Error{Op: "Post", Err: syscall.ECONNRESET}},
	} {
		fake, client := ddbtest.New(t, ddbtest.Always(reply))
		_, err := dynamo.NewJournal(client, "books").Append(t.Context(), commit(t, 2, 1))
		if n := len(fake.Requests()); n != 1 || err == nil {
			t.Errorf("%v: sent %d times", err, n)
		}
	}
}

// Each cancellation is read in the order of the request: header, two postings, two debits.
func TestCancellations(t *testing.T) {
	c := commit(t, 2, 2)
	fake, client := ddbtest.New(t, ddbtest.Always(ddbtest.OK("{}")))
	if _, err := dynamo.NewJournal(client, "books").Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	header := ddbtest.JSON(actions(t, fake)[0]["Put"].(map[string]any)["Item"])
	guard := func(spent string) string {
		return `{"PK":{"S":"ACCOUNT#a"},"SK":{"S":"SPEND#USD"},"Type":{"S":"Spend"},"Spent":{"N":"` + spent + `"},"Change":{"N":"3"}}`
	}
	exists := []ledger.HeadReason{{Is: ledger.HeadExists, Stored: c.Heads[0]}}
	const none = `{"Code":"None"}`
	conditional := func(item string) string { return reason("ConditionalCheckFailed", item) }
	conflict, throttled, capacity := reason("TransactionConflict", ""), reason("ThrottlingError", ""), reason("ProvisionedThroughputExceeded", "")
	refused := func(i int, spent string) ledger.Refusal {
		return ledger.Refusal{Guard: ledger.Guard{Pair: c.Debits[i].Pair, Spent: amount(t, spent), Change: 3}}
	}
	for _, one := range []struct {
		name    string
		reasons []string
		wanted  *ledger.Cancelled // nil: an error of ours, or an unknown outcome
		unknown bool
	}{
		{"refused", []string{none, none, none, conditional(guard("7")), none},
			&ledger.Cancelled{Refused: []ledger.Refusal{refused(0, "7")}}, false},
		{"refused twice, by 38 digits and by nothing", []string{none, none, none, conditional(guard(strings.Repeat("9", 38))), conditional("")},
			&ledger.Cancelled{Refused: []ledger.Refusal{refused(0, strings.Repeat("9", 38)), {Guard: ledger.Guard{Pair: c.Debits[1].Pair}, Absent: true}}}, false},
		{"there already", []string{conditional(header), none, none, none, none},
			&ledger.Cancelled{Heads: exists}, false},
		{"there already, by our own first attempt", []string{conditional(header), conditional(header), conditional(header), conditional(guard("5")), none},
			&ledger.Cancelled{Heads: exists, Refused: []ledger.Refusal{refused(0, "5")}}, false},
		{"header in conflict", []string{conflict, none, none, none, none}, &ledger.Cancelled{Heads: []ledger.HeadReason{{Is: ledger.HeadConflict}}}, false},
		{"header in conflict, its posting committed", []string{conflict, conditional(header), none, none, none},
			&ledger.Cancelled{Heads: []ledger.HeadReason{{Is: ledger.HeadConflict}}}, false},
		{"header throttled", []string{throttled, none, none, none, none}, &ledger.Cancelled{Heads: []ledger.HeadReason{{Is: ledger.HeadThrottled}}}, false},
		{"header above capacity", []string{capacity, none, none, none, none}, &ledger.Cancelled{Heads: []ledger.HeadReason{{Is: ledger.HeadThrottled}}}, false},
		{"guard in conflict", []string{none, none, none, none, conflict}, &ledger.Cancelled{Conflict: true}, false},
		{"posting throttled", []string{none, throttled, none, none, none}, &ledger.Cancelled{Throttled: true}, false},
		{"guard above capacity", []string{none, none, none, capacity, none}, &ledger.Cancelled{Throttled: true}, false},
		{"all at once", []string{none, throttled, none, conditional(guard("7")), conflict},
			&ledger.Cancelled{Refused: []ledger.Refusal{refused(0, "7")}, Conflict: true, Throttled: true}, false},
		{"a posting is there, its header is not", []string{none, conditional(header), none, none, none}, &ledger.Cancelled{}, false},

		{"guard malformed", []string{none, none, none, reason("ValidationError", ""), none}, nil, false},
		{"header malformed", []string{reason("ValidationError", ""), none, none, none, none}, nil, false},
		{"collection full", []string{none, reason("ItemCollectionSizeLimitExceeded", ""), none, none, none}, nil, false},
		{"header unreadable", []string{conditional(guard("1")), none, none, none, none}, nil, false},
		{"header not shown", []string{conditional(""), none, none, none, none}, &ledger.Cancelled{Heads: []ledger.HeadReason{{Is: ledger.HeadExists}}}, false},
		{"guard unreadable", []string{none, none, none, conditional(`{"PK":{"S":"x"}}`), none}, nil, false},

		{"no reasons", nil, nil, true},
		{"none of any action", []string{none, none, none, none, none}, nil, true},
		{"too few reasons", []string{none}, nil, true},
		{"too many reasons", []string{none, none, none, none, none, conflict}, nil, true},
		{"an unknown reason", []string{none, none, none, reason("SomethingNew", ""), none}, nil, true},
		{"an unknown reason for the header", []string{reason("SomethingNew", ""), none, none, conditional(guard("7")), none}, nil, true},
		{"a reason without a code", []string{none, none, `{"Message":"m"}`, conditional(guard("7")), none}, nil, true},
		{"an unknown reason beside a fault of ours", []string{reason("SomethingNew", ""), none, none, reason("ValidationError", ""), none}, nil, false},
	} {
		t.Run(one.name, func(t *testing.T) {
			_, client := ddbtest.New(t, ddbtest.Always(cancellation(one.reasons...)))
			at, err := dynamo.NewJournal(client, "books").Append(t.Context(), c)
			var got *ledger.Cancelled
			switch {
			case at.IsZero():
				t.Error("the store's clock is missing")
			case one.unknown:
				if !errors.Is(err, store.ErrUnknownOutcome) || errors.As(err, &got) {
					t.Errorf("error %v", err)
				}
			case one.wanted == nil:
				if err == nil || errors.As(err, &got) || namesOutcome(err) {
					t.Errorf("error %v", err)
				}
			case !errors.As(err, &got):
				t.Errorf("error %v", err)
			default:
				one.wanted.At = at
				if one.wanted.Heads == nil {
					one.wanted.Heads = make([]ledger.HeadReason, 1)
				}
				if !reflect.DeepEqual(got, one.wanted) {
					t.Errorf("\n got    %+v\n wanted %+v", got, one.wanted)
				}
			}
		})
	}
}

// namesOutcome reports whether err is one of package store's.
func namesOutcome(err error) bool {
	return slices.ContainsFunc([]error{
		store.ErrAbsent, store.ErrExists, store.ErrConflict, store.ErrThrottled, store.ErrUnavailable, store.ErrUnknownOutcome,
	}, func(one error) bool { return errors.Is(err, one) })
}
