package api

import (
	"encoding/json"
	"net/http"
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
