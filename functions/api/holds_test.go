package api

import (
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// placed is the body of a hold that jane places for the shop.
const placed = `{"id":"h-1","from":"jane","to":"shop","asset":"USD","quantity":"5000","hold":{}}`

// must sends a request, fails unless it is answered with the status, and returns the answer, which must fit the
// document.
func (f *fixture) must(t *testing.T, status int, method, target, body string, headers ...string,
) *httptest.ResponseRecorder {
	t.Helper()
	w := f.do(t, method, target, body, headers...)
	if w.Code != status {
		t.Fatalf("%s %s %s answered %d %s, want %d", method, target, body, w.Code, w.Body, status)
	}
	path, _, _ := strings.Cut(target, "?")
	found, _, _ := match(routes(), method, httptest.NewRequest(method, path, nil).URL)
	d := readDocument(t)
	r, ok := d.Paths[found.pattern][strings.ToLower(method)].Responses[fmt.Sprint(status)]
	if !ok {
		t.Fatalf("%s %s has no response %d", method, found.pattern, status)
	}
	newSchemas(t).check(t, d.response(t, r).Content[w.Header().Get("Content-Type")].Schema.Ref, w.Body.Bytes())
	return w
}

// A hold reserves what it debits, is captured in part, and reversed. Each answer fits the document.
func TestLifeOfAHold(t *testing.T) {
	f := newFixture(t)
	first := f.must(t, 201, "POST", "/v1/transfers", placed)
	held := answer[transaction](t, first)
	if held.Status != ledger.StatusHeld || held.ExpiresAt != events.FormatTime(instant.AddDate(0, 0, 7)) ||
		held.Postings[0].Quantity != "-5000" || held.Captured != nil {
		t.Errorf("held: %s", first.Body)
	}
	shown := f.must(t, 200, "GET", "/v1/transactions/h-1", "")
	if shown.Body.String() != first.Body.String() {
		t.Errorf("shown as %s", shown.Body)
	}
	usd := answer[balance](t, f.must(t, 200, "GET", "/v1/accounts/jane/balances/USD?consistency=strong", ""))
	if usd.Quantity.String() != "350000" || usd.PendingDebits.String() != "5000" || usd.Available.String() != "345000" {
		t.Errorf("balance %+v", usd)
	}
	f.project(t)
	usd = answer[balance](t, f.must(t, 200, "GET", "/v1/accounts/shop/balances/USD", ""))
	if usd.PendingCredits.String() != "5000" || !usd.Available.IsZero() {
		t.Errorf("balance of the shop %+v", usd)
	}
	for _, list := range []string{"/v1/accounts/jane/holds", "/v1/accounts/shop/holds?status=held", "/v1/holds"} {
		if got := answer[page[transaction]](t, f.must(t, 200, "GET", list, "")); len(got.Data) != 1 ||
			got.Data[0].ID != "h-1" || got.Data[0].Status != ledger.StatusHeld {
			t.Errorf("%s: %+v", list, got)
		}
	}

	f.now = instant.Add(time.Hour)
	captured := f.must(t, 200, "POST", "/v1/transactions/h-1/capture", `{"quantity":"4200"}`)
	got := answer[transaction](t, captured)
	if got.Status != ledger.StatusCaptured || got.EndedAt != events.FormatTime(f.now) || got.EndedBy != "local" ||
		len(got.Captured) != 2 || got.Captured[1].Quantity != "4200" || got.Postings[1].Quantity != "5000" ||
		captured.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("captured: %s", captured.Body)
	}
	again := f.must(t, 200, "POST", "/v1/transactions/h-1/capture", `{"quantity":"4200"}`)
	if again.Body.String() != captured.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("captured again: %v %s", again.Header(), again.Body)
	}
	if w := f.must(t, 200, "POST", "/v1/transfers", placed); w.Body.String() != first.Body.String() {
		t.Errorf("placed again: %s", w.Body)
	}
	now := f.must(t, 200, "GET", "/v1/transactions/h-1", "")
	if now.Header().Get("ETag") == shown.Header().Get("ETag") || now.Body.String() != captured.Body.String() {
		t.Errorf("after the capture: %s %s", now.Header().Get("ETag"), now.Body)
	}
	f.project(t)
	if got := answer[page[transaction]](t, f.must(t, 200, "GET", "/v1/holds", "")); len(got.Data) != 0 {
		t.Errorf("open holds: %+v", got)
	}
	history := answer[page[posting]](t, f.must(t, 200, "GET", "/v1/accounts/jane/postings?limit=2", ""))
	for i, want := range []string{"-4200 5000 captured", "0 -5000 held"} {
		p := history.Data[i]
		if got := fmt.Sprint(p.Quantity, " ", p.Pending, " ", p.Status); got != want || p.Transaction != "h-1" {
			t.Errorf("entry %d: %s, want %s", i, got, want)
		}
	}

	reversed := answer[transaction](t, f.must(t, 201, "POST", "/v1/transactions/h-1/reversals",
		`{"id":"r-1","quantity":"1000"}`))
	if reversed.Kind != events.KindReversal || reversed.Reverses != "h-1" || reversed.Postings[0].Quantity != "1000" {
		t.Errorf("reversed: %+v", reversed)
	}
	f.must(t, 200, "POST", "/v1/transactions/h-1/reversals", `{"quantity":"1000"}`, "Idempotency-Key", "r-1")
	f.must(t, 201, "POST", "/v1/transactions/h-1/reversals", `{"id":"r-2"}`)
	got = answer[transaction](t, f.must(t, 200, "GET", "/v1/transactions/h-1", ""))
	if len(got.Reversed) != 2 || got.Reversed[0].Quantity.String() != "-4200" || got.Reversed[1].Account != "shop" {
		t.Errorf("taken back: %+v", got.Reversed)
	}
	reversals := answer[page[transaction]](t, f.must(t, 200, "GET", "/v1/transactions/h-1/reversals?limit=1", ""))
	if len(reversals.Data) != 1 || reversals.Data[0].ID != "r-1" || reversals.Next == nil {
		t.Fatalf("reversals: %+v", reversals)
	}
	reversals = answer[page[transaction]](t,
		f.must(t, 200, "GET", "/v1/transactions/h-1/reversals?cursor="+*reversals.Next, ""))
	if len(reversals.Data) != 1 || reversals.Data[0].ID != "r-2" || reversals.Next != nil {
		t.Errorf("the rest: %+v", reversals)
	}
	f.must(t, 404, "GET", "/v1/transactions/none/reversals", "")
}

// A released and an expired hold have captured nothing, and say who ended them.
func TestHoldsThatPostNothing(t *testing.T) {
	f := newFixture(t)
	f.must(t, 201, "POST", "/v1/transfers", placed)
	got := f.must(t, 200, "POST", "/v1/transactions/h-1/release", `{"description":"left early"}`)
	if !strings.Contains(got.Body.String(),
		`"status":"released"`) || !strings.Contains(got.Body.String(), `"end_description":"left early","captured":[]`) {
		t.Errorf("released: %s", got.Body)
	}
	if w := f.must(t, 200, "POST", "/v1/transactions/h-1/release", `{}`); w.Body.String() != got.Body.String() ||
		w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("released again: %s", w.Body)
	}
	expires := instant.Add(time.Minute)
	f.must(t, 201, "POST", "/v1/transfers", `{"id":"h-2","from":"jane","to":"shop","asset":"USD","quantity":"1",`+
		`"hold":{"expires_at":"2026-11-21T10:07:39.123456+01:00"}}`)
	f.now = expires
	if p := answer[problem](t, f.must(t, 504, "POST", "/v1/transactions/h-2/capture", `{}`)); p.Transaction != "h-2" {
		t.Errorf("at the time of expiry: %+v", p)
	}
	f.now = expires.Add(10 * time.Second)
	refused(t, f.must(t, 422, "POST", "/v1/transactions/h-2/capture", `{}`), 422, ledger.CodeHoldExpired)
	if got := answer[transaction](t, f.must(t, 200, "GET", "/v1/transactions/h-2", "")); got.Status !=
		ledger.StatusExpired || got.EndedBy != "expiry" || got.ExpiresAt != events.FormatTime(expires) {
		t.Errorf("expired: %+v", got)
	}
}

// haveGuards makes that accounts have guards: a refused debit may make one.
func (f *fixture) haveGuards(t *testing.T, accounts ...string) {
	t.Helper()
	for _, account := range accounts {
		for _, parties := range []string{`"from":"market","to":"` + account + `"`, `"from":"` + account + `","to":"market"`} {
			f.must(t, 201, "POST", "/v1/transfers", `{`+parties+`,"asset":"USD","quantity":"1"}`)
		}
	}
}

// unchanged fails unless the table has the items that it had before.
func unchanged(t *testing.T, f *fixture, before map[table.Key]ddb.Item) {
	t.Helper()
	after := f.items(t)
	for key, item := range after {
		if !reflect.DeepEqual(before[key], item) {
			t.Errorf("%v is written", key)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d items instead of %d", len(after), len(before))
	}
}

// Every refusal of a hold, of its end and of a reversal leaves the table as it is, item for item.
func TestRefusalsOfHoldsWriteNothing(t *testing.T) {
	f := newFixture(t)
	legs := `{"account":"jane","asset":"USD","quantity":"-9"},{"account":"shop","asset":"USD","quantity":"5"},` +
		`{"account":"fees","asset":"USD","quantity":"4"}`
	for _, body := range []string{
		`{"id":"h-3","postings":[` + legs + `],"hold":{}}`, `{"id":"n-1","postings":[` + legs + `]}`,
	} {
		f.must(t, 201, "POST", "/v1/transactions", body)
	}
	f.must(t, 201, "POST", "/v1/transfers", placed)
	f.must(t, 201, "POST", "/v1/transfers", strings.ReplaceAll(placed, "h-1", "h-2"))
	f.must(t, 200, "POST", "/v1/transactions/h-2/release", `{}`)
	f.must(t, 201, "POST", "/v1/trades", `{"id":"h-4","asset":"AAPL","buyer":"jane","seller":"market","quantity":"2",`+
		`"cost":"30","settle":true,"hold":{}}`)
	f.must(t, 201, "POST", "/v1/transfers", `{"id":"h-5","from":"jane","to":"shop","asset":"USD","quantity":"1",`+
		`"hold":{"expires_at":"2026-11-21T09:06:40Z"}}`)
	f.haveGuards(t, "shop", "fees")
	f.now = instant.Add(time.Minute)
	f.must(t, 422, "POST", "/v1/transactions/h-5/capture", `{}`) // which notes the expiry
	before := f.items(t)
	for _, c := range []struct {
		request, body string
		status        int
		code          ledger.Code
		fields        string
		shows         string
	}{
		{"h-1/capture", `{"quantity":"5001"}`, 422, ledger.CodeExceedsHold, "quantity", "must not be beyond 5000"},
		{"h-4/capture", `{"quantity":"3","cost":"31"}`, 422, ledger.CodeExceedsHold, "quantity cost", ""},
		{"h-1/capture", `{"quantity":"0"}`, 422, ledger.CodeNothingCaptured, "quantity", ""},
		{"h-3/capture", `{"postings":[{"quantity":"0"},{"quantity":"0"},{"quantity":"0"}]}`, 422,
			ledger.CodeNothingCaptured, "postings", ""},
		{"h-2/capture", `{}`, 409, ledger.CodeHoldEnded, "", `"hold_status":"released"`},
		{"h-5/capture", `{}`, 422, ledger.CodeHoldExpired, "", ""},
		{"h-5/release", `{}`, 409, ledger.CodeHoldEnded, "", `"hold_status":"expired"`},
		{"t-1/capture", `{}`, 422, ledger.CodeNotAHold, "", ""},
		{"t-1/release", `{}`, 422, ledger.CodeNotAHold, "", ""},
		{"none/release", `{}`, 404, ledger.CodeTransactionNotFound, "", ""},
		{"h-1/capture", `{"postings":[{"quantity":"-1"},{"quantity":"1"}]}`, 422, ledger.CodeInvalidTransaction,
			"postings", ""},
		{"h-1/capture", `{"quantity":"1","cost":"1"}`, 422, ledger.CodeInvalidTransaction, "cost", ""},
		{"h-3/capture", `{"quantity":"9"}`, 422, ledger.CodeInvalidTransaction, "quantity", ""},
		{"h-3/capture", `{"postings":[{"quantity":"-9"},{"quantity":"9"}]}`, 422, ledger.CodeInvalidTransaction,
			"postings", ""},
		{"h-3/capture", `{"postings":[]}`, 422, ledger.CodeInvalidTransaction, "postings", ""},
		{"h-3/capture", `{"postings":[{"quantity":"-9"},{"quantity":"5"},{"quantity":"3"}]}`, 422,
			ledger.CodeUnbalanced, "postings", ""},
		{"h-3/capture", `{"postings":[{"quantity":"1"},{"quantity":"-1"},{"quantity":"0"}]}`, 422,
			ledger.CodeInvalidTransaction, "postings[0].quantity postings[1].quantity", ""},
		{"h-3/capture", `{"quantity":"1","postings":[{"quantity":"-1"}]}`, 422, ledger.CodeInvalidTransaction,
			"postings", ""},
		{"h-4/capture", `{"cost":"1"}`, 400, ledger.CodeInvalidRequest, "quantity", ""},
		{"h-1/capture", `{"quantity":"-1","cost":1,"postings":[{},{"quantity":null}]}`, 400, ledger.CodeInvalidRequest,
			"quantity cost postings[0].quantity postings[1].quantity", ""},
		{"h-1/capture", `{"postings":[{"quantity":"-1","account":"jane"}]}`, 400, codeMalformedBody,
			"postings[0].account", ""},
		{"h-1/release", `{"quantity":"1"}`, 400, codeMalformedBody, "quantity", ""},
		{"h-1/reversals", `{}`, 422, ledger.CodeNothingToReverse, "", ""},
		{"h-2/reversals", `{}`, 422, ledger.CodeNothingToReverse, "", ""},
		{"n-1/reversals", `{"postings":[{"quantity":"-10"},{"quantity":"6"},{"quantity":"4"}]}`, 422,
			ledger.CodeExceedsReversible, "postings[0].quantity postings[1].quantity",
			`"left":[{"account":"jane","asset":"USD","quantity":"-9","cost":"0"},{"account":"shop",`},
		{"t-1/reversals", `{"quantity":"11","cost":"0"}`, 422, ledger.CodeExceedsReversible, "quantity", ""},
		{"n-1/reversals", `{"hold":{}}`, 400, codeMalformedBody, "hold", ""},
		{"none/reversals", `{}`, 404, ledger.CodeTransactionNotFound, "", ""},
		{"n-1/reversals", `{"id":"t-1"}`, 409, ledger.CodeTransactionIDReused, "", ""},
	} {
		w := f.must(t, c.status, "POST", "/v1/transactions/"+c.request, c.body)
		if fields := refused(t, w, c.status, c.code); fields != c.fields || !strings.Contains(w.Body.String(), c.shows) {
			t.Errorf("%s %s: %s", c.request, c.body, w.Body)
		}
	}
	for hold, status := range map[string]int{
		`{"expires_at":"2026-11-21T09:07:39.123456Z"}`: 400, // now
		`{"expires_at":"2026-12-22T09:07:39.123457Z"}`: 400, // 31 days and a microsecond
		`{"expires_at":"2026-11-22T09:00:00"}`:         400,
		`{"expires_at":"2026-11-22"}`:                  400,
		`{"expires_at":5}`:                             400,
		`{"expires_at":null}`:                          400,
	} {
		w := f.must(t, status, "POST", "/v1/transfers", strings.Replace(goodTransfer, "{", `{"hold":`+hold+`,`, 1))
		if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != "hold.expires_at" {
			t.Errorf("%s: %s", hold, w.Body)
		}
	}
	for body, fields := range map[string]string{
		`{"hold":{"until":1}}`:                         "hold.until",
		`{"hold":{"expires_at":"x","expires_at":"x"}}`: "hold.expires_at",
	} {
		w := f.must(t, 400, "POST", "/v1/trades", body)
		if got := refused(t, w, 400, codeMalformedBody); got != fields {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	refused(t, f.must(t, 400, "POST", "/v1/trades", `{"hold":7}`), 400, ledger.CodeInvalidRequest)
	refused(t, f.must(t, 400, "GET", "/v1/accounts/jane/holds?status=posted", ""), 400, ledger.CodeInvalidRequest)
	tooMuch := strings.NewReplacer("5000", "350000", "h-1", "h-9").Replace(placed)
	refused(t, f.must(t, 422, "POST", "/v1/transfers", tooMuch), 422, ledger.CodeInsufficientFunds)
	unchanged(t, f, before)
}

// A page of the largest transactions fits into the answer of a Lambda function, and the next one goes on behind it.
func TestPagesOfTransactionsAreBounded(t *testing.T) {
	text := func(chars int) string { return strings.Repeat("\x01", chars) }
	id := strings.Repeat("x", events.IDChars)
	most := events.MaxFolded().Neg()
	h := projections.Hold{Header: events.TransactionPosted{
		ID: id, Kind: events.KindTransaction, Description: text(events.DescriptionChars), ExpiresAt: instant,
		Actor: text(events.ActorChars), Metadata: map[string]string{},
	}, Ended: &events.HoldEnded{
		Transaction: id, Outcome: events.OutcomeCaptured, Description: text(events.DescriptionChars),
		Actor: text(events.ActorChars),
	}}
	for i := range events.MetadataPairs {
		h.Header.Metadata[fmt.Sprint("k", i)] = text(200)
	}
	for range events.PostingsMax {
		leg := events.Leg{ID: events.FirstKSUID(instant), Account: id, Asset: id, Quantity: most, Cost: most}
		h.Header.Legs, h.Ended.Legs = append(h.Header.Legs, leg), append(h.Ended.Legs, leg)
	}
	var listed projections.Listed[projections.Hold]
	for range limitMax {
		listed.Items = append(listed.Items, h)
	}
	asked := 0
	cut := within(listed, func(h projections.Hold) (string, int) { asked++; return fmt.Sprint(asked), weight(h) })
	if n := len(cut.Items); n < 20 || n == limitMax || cut.Next != fmt.Sprint(n) {
		t.Fatalf("a page of %d, and the next behind %s", n, cut.Next)
	}
	sent := sentByLambda(t, pageOf(listOf("/v1/holds"), cut, showHold))
	if sent > answerBytes || sent < answerBytes/4 {
		t.Errorf("%d transactions take %d bytes", len(cut.Items), sent)
	}
}
