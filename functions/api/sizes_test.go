package api

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// answerBytes is the most that a function may answer an invocation (AWS, Lambda quotas: 6 MB).
const answerBytes = 6 << 20

// The largest of each kind of answer, as Lambda gets it: JSON within JSON. Of all characters a control character takes most,
// seven bytes: \\u0001.
func TestAnswersFitIntoLambdas(t *testing.T) {
	id := func(i int) string { return strings.Repeat("x", events.IDChars-4) + strconv.Itoa(1000+i) }
	text := func(chars int) string { return strings.Repeat("\x01", chars) }
	amount, err := events.ParseAmount("-"+strings.Repeat("9", events.FoldedDigits), events.FoldedDigits)
	if err != nil {
		t.Fatal(err)
	}
	posted, err := events.ParseAmount("-"+strings.Repeat("9", events.PostedDigits), events.PostedDigits)
	if err != nil {
		t.Fatal(err)
	}
	at := events.FormatTime(instant)
	cursor := strings.Repeat("c", 1000)
	owner := account{ID: id(0), Name: text(events.NameChars), Profile: json.RawMessage(`"` + strings.Repeat(`\"`, (events.ProfileBytes-2)/2) + `"`), CreatedAt: at}
	overdraft := events.Overdraft{Limits: map[string]events.Amount{}}
	for i := range events.OverdraftAssets {
		overdraft.Limits[id(i)] = posted
	}
	owner.Overdraft = showOverdraft(overdraft)

	var (
		assets   page[asset]
		accounts page[listedAccount]
		members  page[membership]
		balances page[balance]
		postings page[posting]
		one      = transaction{id(0), events.KindTransaction, at, text(events.DescriptionChars), map[string]string{}, nil}
		fields   []ledger.FieldError
	)
	for i := range limitMax {
		name := id(i)
		assets.Data = append(assets.Data, asset{name, text(events.NameChars), text(events.DescriptionChars), events.ScaleMax, &name, at})
		accounts.Data = append(accounts.Data, listedAccount{name, text(events.NameChars), owner.Overdraft, at})
		members.Data = append(members.Data, membership{name, name, &name})
		balances.Data = append(balances.Data, balance{name, name, amount, amount, amount, amount, 1 << 62, &name, &at, eventual})
		l := leg{events.KSUID(strings.Repeat("K", 27)), name, name, posted.String(), posted.String()}
		postings.Data = append(postings.Data, posting{l, name, events.KindTransaction, text(events.DescriptionChars), at})
	}
	assets.Next, accounts.Next, members.Next, balances.Next, postings.Next = &cursor, &cursor, &cursor, &cursor, &cursor
	for i := range events.MetadataPairs {
		one.Metadata[text(events.MetadataKeyChars-1)+string(rune('a'+i))] = text(events.MetadataValueChars)
	}
	for i := range events.PostingsMax {
		one.Postings = append(one.Postings, postings.Data[i].leg)
	}
	for range 2 * errorsMax {
		fields = append(fields, ledger.FieldError{Field: text(10 * briefChars), Rule: strings.Repeat("r", 200)})
	}
	most := 0
	for name, body := range map[string]any{
		"assets": assets, "account": owner, "accounts": accounts, "members": members, "balances": balances, "postings": postings,
		"page": accountPage{owner, summary{1 << 62, 1 << 62, &at, &at}, balances, postings}, "transaction": one,
		"problem": newProblem(ledger.CodeInvalidRequest, text(1000), fields...),
		"openapi": raw{jsonType, openAPI}, "home": raw{"text/html", []byte(strings.Repeat(homePage, 3))},
	} {
		w := &gatewayWriter{header: http.Header{}}
		r, err := http.NewRequest(http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (reply{status: http.StatusOK, body: body}).send(w, r); err != nil {
			t.Fatal(err)
		}
		sent, err := json.Marshal(w.response(http.MethodGet))
		if err != nil {
			t.Fatal(err)
		}
		if most = max(most, len(sent)); len(sent) > answerBytes/2 {
			t.Errorf("%s: up to %d bytes", name, len(sent))
		}
	}
	if most < 1<<20 {
		t.Errorf("the largest answer is said to have %d bytes only", most)
	}
	t.Logf("the largest answer has %d bytes", most)
}

// parsedBytes is the most that may be made, all in all, to take a body apart: 64 times its size. Of that, and of what
// becomes of it, template.yaml says how much memory a request takes.
const parsedBytes = 16 << 20

// Bodies of many small values, and of many faults far down, which are the dearest.
func TestLargestBodiesAreCheapToTakeApart(t *testing.T) {
	fill := func(head, part, tail string) string {
		return head + strings.Repeat(part+",", (BodyBytes-len(head)-len(part)-len(tail))/(len(part)+1)) + part + tail
	}
	long := strings.Repeat("k", BodyBytes/2)
	distinct := []byte("{")
	for i := 0; len(distinct) < BodyBytes-20; i++ {
		distinct = append(strconv.AppendInt(append(distinct, '"'), int64(i), 36), `":0,`...)
	}
	for name, body := range map[string]string{
		"numbers":                      fill(`{"profile":{"a":[`, `0`, `]}}`),
		"lists":                        fill(`{"profile":{"a":[`, `[]`, `]}}`),
		"lists of one":                 fill(`{"profile":{"a":[`, `[0]`, `]}}`),
		"objects of one":               fill(`{"profile":{"a":[`, `{"":0}`, `]}}`),
		"one key":                      fill(`{`, `"":0`, `}`),
		"keys":                         string(distinct) + `"":0}`,
		"one key twice":                fill(`{"a":0,"a":0,"profile":{"a":[`, `0`, `]}}`),
		"one key below a long one":     fill(`{"`+long+`":{`, `"":0`, `}}`),
		"numbers below a long key":     fill(`{"a":0,"a":0,"`+long+`":[`, `0`, `]}`),
		"many lists within each other": fill(`{"a":`+strings.Repeat("[", DepthMax-1), `0`, strings.Repeat("]", DepthMax-1)+`}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, _, err := parse([]byte(body)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		made := after.TotalAlloc - before.TotalAlloc
		if t.Logf("%s: %d KB", name, made>>10); made > parsedBytes {
			t.Errorf("%s: %d bytes are made of %d", name, made, len(body))
		}
	}
}
