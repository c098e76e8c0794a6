package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// A worstBody is a body that is expensive to read, with the expected answer.
type worstBody struct {
	method, path string
	body         func(size int) string // returns a body of almost size bytes
	status       int
	code         ledger.Code
	fields       int // number of faults
}

// filled returns a function that makes bodies of head, as many parts as fit, and tail. part gets the number of the
// part.
func filled(head string, part func(i int) string, tail string) func(size int) string {
	return func(size int) string {
		b := append(make([]byte, 0, size), head...)
		for i := 0; ; i++ {
			next := part(i)
			if len(b)+1+len(next)+len(tail) > size {
				return string(append(b, tail...))
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, next...)
		}
	}
}

// always returns a function that always returns part.
func always(part string) func(int) string { return func(int) string { return part } }

// numbered returns a function that replaces each # in part by its number.
func numbered(part string) func(int) string {
	return func(i int) string { return strings.ReplaceAll(part, "#", strconv.FormatInt(int64(i), 36)) }
}

// repeated returns a function that makes bodies of head, as many copies of part as fit, and tail.
func repeated(head, part, tail string) func(size int) string {
	return func(size int) string {
		return head + strings.Repeat(part, (size-len(head)-len(tail))/len(part)) + tail
	}
}

// deepLists is nested deeper than a body may be, and deepObject as deep as a value in a list may be.
var (
	deepLists  = strings.Repeat("[", DepthMax) + strings.Repeat("]", DepthMax)
	deepObject = strings.Repeat(`{"":`, DepthMax-4) + "0" + strings.Repeat("}", DepthMax-4)
)

// worstBodies returns the bodies by name.
func worstBodies() map[string]worstBody {
	const invalid, malformedBody = ledger.CodeInvalidRequest, codeMalformedBody
	const leg = `{"account":"a","asset":"x","quantity":"1"}`
	post := func(body func(int) string, status int, code ledger.Code, fields int) worstBody {
		return worstBody{http.MethodPost, "/v1/transactions", body, status, code, fields}
	}
	put := func(body func(int) string, status int, code ledger.Code, fields int) worstBody {
		return worstBody{http.MethodPut, "/v1/accounts/x", body, status, code, fields}
	}
	postings := func(part string, status int, code ledger.Code, fields int) worstBody {
		return post(filled(`{"postings":[`, numbered(part), `]}`), status, code, fields)
	}
	return map[string]worstBody{
		"postings: numbers":           postings(`0`, 400, invalid, errorsMax),
		"postings: unknown fields":    postings(`{"#":0}`, 400, malformedBody, errorsMax),
		"postings: fields twice":      postings(`{"account":"a","account":"a"}`, 400, malformedBody, errorsMax),
		"postings: well shaped":       postings(leg, 422, ledger.CodeInvalidTransaction, 1),
		"postings: one wrong at last": post(filled(`{"postings":[`, always(leg), `,0]}`), 400, invalid, 1),
		"metadata: texts":             post(filled(`{"metadata":{`, numbered(`"#":""`), `},"postings":[]}`), 400, invalid, 1),
		"overdraft: wrong amounts":    put(filled(`{"overdraft":{`, numbered(`"#":0`), `}}`), 400, invalid, 1),
		"overdraft: one key":          put(filled(`{"overdraft":{`, always(`"":0`), `}}`), 400, malformedBody, errorsMax),
		"profile: keys":               put(filled(`{"profile":{`, numbered(`"#":0`), `}}`), 400, invalid, 1),
		"profile: addresses":          put(filled(`{"profile":{"addresses":[`, always(`{}`), `]}}`), 400, invalid, 2),
		"profile: deep objects":       put(filled(`{"profile":{"a":[`, always(deepObject), `]}}`), 400, invalid, 1),
		"too deep behind keys":        put(filled(`{`, numbered(`"#":0`), `,"z":`+deepLists+`}`), 400, malformedBody, 0),
		"unknown fields with long keys": put(filled(`{`, numbered(`"#`+strings.Repeat("k", 200)+`":0`), `}`), 400,
			malformedBody, errorsMax),
		"keys below a long one": put(func(size int) string {
			return filled(`{"`+strings.Repeat("k", size/2)+`":{`, always(`"":0`), `}}`)(size)
		}, 400, malformedBody, errorsMax),
		"a long name of escapes": put(repeated(`{"name":"`, `\u0041`, `"}`), 400, invalid, 1),
		"a long quantity": {http.MethodPost, "/v1/transfers",
			repeated(`{"from":"a","to":"b","asset":"x","quantity":"`, "9", `"}`), 400, invalid, 1},
	}
}

// send sends a body to a handler.
func (c worstBody) send(h http.Handler, text string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(text))
	r.Header.Set("Content-Type", jsonType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Each worst body is refused with the right code, and with at most errorsMax fields. Apart from parsing, the cost of
// the refusal does not grow with the body: the items of a list that is too long are not converted.
func TestRefusingWorstBodiesCostsNoMoreThanParsing(t *testing.T) {
	h := New(newFixture(t).config)
	for name, c := range worstBodies() {
		t.Run(name, func(t *testing.T) {
			// besides returns the number of allocations for a body of a size, without those of parsing it.
			besides := func(size int) float64 {
				text := c.body(size)
				w := c.send(h, text)
				var p problem
				if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
					t.Fatal(err)
				}
				if p.Status != c.status || p.Code != c.code || len(p.Errors) != c.fields {
					t.Fatalf("%d bytes are answered with %d %s and %d fields", size, p.Status, p.Code, len(p.Errors))
				}
				all := testing.AllocsPerRun(1, func() { c.send(h, text) })
				return all - testing.AllocsPerRun(1, func() { _, _ = readJSON([]byte(text), new(rawText), false) })
			}
			least, most := besides(BodyBytes/4), besides(BodyBytes)
			if grown := most - least; grown > besidesMax {
				t.Errorf("%.0f things are made of %d bytes, and %.0f more of %d", least, BodyBytes/4, grown, BodyBytes)
			}
		})
	}
}

// besidesMax is how many more allocations a large body may cause than a small one. Some buffers grow by doubling.
const besidesMax = 64

// answerBytes is the most bytes of the answer to an invocation (AWS, Lambda quotas: 6 MB).
const answerBytes = 6 << 20

// sentByLambda returns the number of bytes of a function's answer with a body.
func sentByLambda(t *testing.T, body any) int {
	t.Helper()
	w := &gatewayWriter{header: http.Header{}}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if _, err := (reply{status: http.StatusOK, body: body}).send(w, r, false); err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(w.response(http.MethodGet))
	if err != nil {
		t.Fatal(err)
	}
	return len(sent)
}

// The largest answers fit into the limit of Lambda, as JSON in a JSON string. A control character takes the most bytes,
// seven: \\u0001.
func TestLargestAnswersFitLambdaLimit(t *testing.T) {
	id := func(i int) string { return strings.Repeat("x", events.IDChars-4) + strconv.Itoa(1000+i) }
	text := func(chars int) string { return strings.Repeat("\x01", chars) }
	digits := "-" + strings.Repeat("9", events.FoldedDigits)
	amount, err := events.ParseAmount(digits, events.FoldedDigits)
	if err != nil {
		t.Fatal(err)
	}
	at, cursor, name := events.FormatTime(instant), strings.Repeat("c", cursorChars), id(0)
	overdraft := map[string]events.Amount{}
	for i := range events.OverdraftAssets {
		overdraft[id(i)] = amount
	}
	profile := `"` + strings.Repeat(`\"`, (events.ProfileBytes-2)/2) + `"`
	listed := client.Account{ID: name, Name: text(events.NameChars), Overdraft: client.Overdraft{Limits: overdraft},
		State: client.StateClosed, Version: 1 << 62, CreatedAt: at}
	owner := listed
	owner.Profile, owner.Actor = json.RawMessage(profile), text(events.ActorChars)
	accounts, balances, postings := client.List[client.Account]{NextCursor: &cursor},
		client.List[client.Balance]{NextCursor: &cursor}, client.List[posting]{NextCursor: &cursor}
	legs := leg{ID: strings.Repeat("K", 27), Account: name, Asset: name, Quantity: digits, Cost: digits}
	for range limitMax {
		accounts.Data = append(accounts.Data, listed)
		balances.Data = append(balances.Data, client.Balance{Account: name, Asset: name,
			Sums: client.Sums{Quantity: amount, NetExpenditure: amount, Credits: amount, Debits: amount,
				PendingDebits: amount, PendingCredits: amount, Postings: 1 << 62},
			Available: &amount, AsOf: &name, AsOfTime: &at, Consistency: consistency(false)})
		postings.Data = append(postings.Data, posting{PostedLegOf: legs, Pending: digits,
			Status: client.StatusCaptured, Transaction: name, Kind: string(events.KindTransaction),
			Description: text(events.DescriptionChars), PostedAt: at})
	}
	totals := client.Summary{Holdings: 1 << 62, Assets: 1 << 62, FirstPostingAt: &at, LastPostingAt: &at}
	var fields []fieldError
	for range 2 * errorsMax {
		fields = append(fields, fieldError{Field: text(10 * fieldChars), Rule: strings.Repeat("r", 200)})
	}
	most := 0
	for name, body := range map[string]any{
		"accounts": accounts, "page": accountPage{Account: owner, Summary: totals, Balances: balances, Postings: postings},
		"problem": newProblem(ledger.CodeInvalidRequest, text(1000), fields...), "openapi": raw{mediaType: jsonType, text: openAPI},
	} {
		sent := sentByLambda(t, body)
		if most = max(most, sent); sent > answerBytes/2 {
			t.Errorf("%s: up to %d bytes", name, sent)
		}
	}
	if most < 1<<20 {
		t.Errorf("the largest answer is said to have %d bytes only", most)
	}
}

// largestHold returns a captured hold whose answer is the largest.
func largestHold() events.Transaction {
	text := func(chars int) string { return strings.Repeat("\x01", chars) }
	id := strings.Repeat("x", events.IDChars)
	most := events.MaxFolded().Neg()
	h := events.Transaction{Header: events.TransactionPosted{
		ID: id, Kind: events.KindTransaction, ExpiresAt: instant,
		Annotation: events.Annotation{Description: text(events.DescriptionChars), Metadata: map[string]string{}},
		Actor:      text(events.ActorChars),
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
	return h
}

// A batch that ends the largest holds fits into the answer of a Lambda function: some are not shown in full.
func TestBatchOfEndsFitsLambdaLimit(t *testing.T) {
	h, bytes := largestHold(), 0
	var all results
	short := 0
	for range ledger.BatchMax {
		one := showInBatch(ledger.Posted{Transaction: h}, &bytes)
		all.Results = append(all.Results, result{one.status, true, one.body})
		if one.body.(transaction).Metadata == nil {
			short++
		}
	}
	if sent := sentByLambda(t, all); sent > answerBytes || sent < answerBytes/2 || short > 80 {
		t.Errorf("%d bytes, and %d holds are not shown in full", sent, short)
	}
}

// A page of the largest transactions fits into the answer of a Lambda function. The next page continues after it.
func TestTransactionPagesFitLambdaLimit(t *testing.T) {
	h := largestHold()
	var page projections.Page[events.Transaction]
	for range limitMax {
		page.Items = append(page.Items, h)
	}
	asked := 0
	cut := cutPage(page, func(h events.Transaction) (string, int) { asked++; return fmt.Sprint(asked), maxBytes(h) })
	if n := len(cut.Items); n < 20 || n == limitMax || cut.Next != fmt.Sprint(n) {
		t.Fatalf("a page of %d, and the next behind %s", n, cut.Next)
	}
	sent := sentByLambda(t, pageOf(listed{"/v1/holds", byExpiry}, cut, showTransaction))
	if sent > answerBytes || sent < answerBytes/4 {
		t.Errorf("%d transactions take %d bytes", len(cut.Items), sent)
	}
}
