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

// commit returns a commit with that many postings, each in its own account, and debits of the first accounts.
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

// Two appends of one commit must have different client request tokens. Otherwise the store would not apply the second,
// and repeat the answer to the first.
func TestEachAppendHasItsOwnToken(t *testing.T) {
	fake, client := ddbtest.New(t, ddbtest.Always(ddbtest.OK("{}")))
	journal, c := dynamo.NewJournal(client, "books"), commit(t, 2, 1)
	for range 2 {
		if _, err := journal.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	r := fake.Requests()
	first, second := r[0].Body["ClientRequestToken"], r[1].Body["ClientRequestToken"]
	if first == nil || first == second {
		t.Errorf("tokens %v and %v", first, second)
	}
}

// The largest commit is accepted. A larger one is refused without a request.
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

// Append sends one request, whatever the answer. It must not retry, because another attempt needs new KSUIDs.
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

// Cancellation reasons are in the order of the actions: header, two postings, two debits. The test writes each reason
// as a word.
func TestCancellations(t *testing.T) {
	c := commit(t, 2, 2)
	fake, client := ddbtest.New(t, ddbtest.Always(ddbtest.OK("{}")))
	if _, err := dynamo.NewJournal(client, "books").Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	header := ddbtest.JSON(actions(t, fake)[0]["Put"].(map[string]any)["Item"])
	reason := func(word string) string {
		word, spent, _ := strings.Cut(word, "=")
		switch word {
		case "nameless":
			return `{"Message":"m"}`
		case "exists": // an item that should be absent
			return `{"Code":"ConditionalCheckFailed","Item":` + header + `}`
		case "unreadable":
			return `{"Code":"ConditionalCheckFailed","Item":{"PK":{"S":"x"}}}`
		case "spent": // a guard
			return `{"Code":"ConditionalCheckFailed","Item":{"PK":{"S":"ACCOUNT#a"},"SK":{"S":"SPEND#USD"},` +
				`"Type":{"S":"Spend"},"V":{"N":"1"},"Spent":{"N":"` + spent + `"},"Change":{"N":"3"}}}`
		}
		return fmt.Sprintf(`{"Code":%q}`, word)
	}
	// appended returns the result of an Append that is cancelled for these reasons.
	appended := func(reasons string) (at time.Time, got *ledger.Cancelled, err error) {
		var list []string
		for word := range strings.FieldsSeq(reasons) {
			list = append(list, reason(word))
		}
		_, client := ddbtest.New(t, ddbtest.Always(ddbtest.Reply{Status: 400,
			Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled",` +
				`"CancellationReasons":[` + strings.Join(list, ",") + `]}`}))
		at, err = dynamo.NewJournal(client, "books").Append(t.Context(), c)
		if at.IsZero() {
			t.Errorf("%q: the store's clock is missing", reasons)
		}
		errors.As(err, &got)
		return at, got, err
	}

	refused := func(i int, spent string) ledger.Refusal {
		return ledger.Refusal{Guard: ledger.Guard{Pair: c.Debits[i].Pair, Spent: amount(t, spent), Version: 3}}
	}
	head := func(is ledger.HeadReason) []ledger.HeadReason { return []ledger.HeadReason{is} }
	exists := head(ledger.HeadReason{Is: ledger.HeadExists, Stored: c.Heads[0]})
	conflict := head(ledger.HeadReason{Is: ledger.HeadConflict})
	throttled := head(ledger.HeadReason{Is: ledger.HeadThrottled})
	most := strings.Repeat("9", events.FoldedDigits)
	for reasons, wanted := range map[string]ledger.Cancelled{
		"None None None spent=7 None": {Refused: []ledger.Refusal{refused(0, "7")}},
		"None None None spent=" + most + " ConditionalCheckFailed": {Refused: []ledger.Refusal{refused(0, most),
			{Guard: ledger.Guard{Pair: c.Debits[1].Pair}, Absent: true}}},
		"exists None None None None": {Heads: exists},
		// An earlier attempt of this commit was applied.
		"exists exists exists spent=5 None": {Heads: exists,
			Refused: []ledger.Refusal{refused(0, "5")}},
		"ConditionalCheckFailed None None None None":        {Heads: head(ledger.HeadReason{Is: ledger.HeadExists})},
		"TransactionConflict None None None None":           {Heads: conflict},
		"TransactionConflict exists None None None":         {Heads: conflict},
		"ThrottlingError None None None None":               {Heads: throttled},
		"ProvisionedThroughputExceeded None None None None": {Heads: throttled},
		"None None None None TransactionConflict":           {Conflict: true},
		"None ThrottlingError None None None":               {Throttled: true},
		"None None None ProvisionedThroughputExceeded None": {Throttled: true},
		"None ThrottlingError None spent=7 TransactionConflict": {Refused: []ledger.Refusal{refused(0, "7")},
			Conflict: true, Throttled: true},
		"None exists None None None": {}, // a posting exists, but not its header
	} {
		at, got, err := appended(reasons)
		wanted.At = at
		if wanted.Heads == nil {
			wanted.Heads = make([]ledger.HeadReason, 1)
		}
		if got == nil || !reflect.DeepEqual(*got, wanted) {
			t.Errorf("%q: %v\n got    %+v\n wanted %+v", reasons, err, got, wanted)
		}
	}
	for _, faulty := range []string{ // reasons that only a bug explains, also with an unknown one
		"None None None ValidationError None", "ValidationError None None None None", "unreadable None None None None",
		"None ItemCollectionSizeLimitExceeded None None None", "spent=1 None None None None",
		"None None None unreadable None", "SomethingNew None None ValidationError None",
	} {
		if _, got, err := appended(faulty); err == nil || got != nil || isStoreError(err) {
			t.Errorf("%q: error %v", faulty, err)
		}
	}
	for _, unknown := range []string{
		"", "None None None None None", "None", "None None None None None TransactionConflict",
		"None None None SomethingNew None", "SomethingNew None None spent=7 None", "None None nameless spent=7 None",
	} {
		if _, got, err := appended(unknown); got != nil || !errors.Is(err, store.ErrUnknownOutcome) {
			t.Errorf("%q: error %v", unknown, err)
		}
	}
}

// isStoreError reports whether err is an error of package store.
func isStoreError(err error) bool {
	return slices.ContainsFunc([]error{
		store.ErrAbsent, store.ErrExists, store.ErrConflict, store.ErrThrottled, store.ErrUnavailable,
		store.ErrUnknownOutcome,
	}, func(one error) bool { return errors.Is(err, one) })
}
