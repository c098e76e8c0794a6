package api

import (
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// One answer of each kind, to the letter.
func TestAnswers(t *testing.T) {
	f := newFixture(t)
	f.lists.members = []projections.Membership{{Account: "jane", User: "u-17", Role: events.RoleViewer, Number: 3}}
	k := func(i int) string { return string(f.lists.postings[i].ID) }
	const at = "2026-11-21T09:06:39.123456Z"
	aapl := `{"account":"jane","asset":"AAPL","quantity":"10","net_expenditure":"150000","credits":"10","debits":"0","postings":1,"as_of":"` + k(1) + `","as_of_time":"` + at + `","consistency":"eventual"}`
	usd := `{"account":"jane","asset":"USD","quantity":"350000","net_expenditure":"0","credits":"500000","debits":"150000","postings":2,"as_of":"` + k(2) + `","as_of_time":"` + at + `","consistency":"eventual"}`
	zero := `{"account":"shop","asset":"USD","quantity":"0","net_expenditure":"0","credits":"0","debits":"0","postings":0,"as_of":null,"as_of_time":null,"consistency":"eventual"}`
	posting := func(i int, asset, quantity, cost string) string {
		return `{"id":"` + k(i) + `","account":"jane","asset":"` + asset + `","quantity":"` + quantity + `","cost":"` + cost + `","transaction":"t-1","kind":"trade","description":"","posted_at":"` + at + `"}`
	}
	newest, bought, first := posting(2, "USD", "-150000", "0"), posting(1, "AAPL", "10", "150000"), posting(0, "USD", "500000", "0")
	jane := `{"id":"jane","name":"Jane Doe","profile":{"email":"j@example.com"},"overdraft":null,"created_at":"` + at + `"}`
	history := listOf("/v1/accounts/jane/postings")
	page := func(summary, balances, postings, next string) string {
		return `{"account":` + jane + `,"summary":` + summary + `,"balances":{"data":[` + balances + `],"next_cursor":null},"postings":{"data":[` + postings + `],"next_cursor":` + next + `}}`
	}
	holds := `{"holdings":2,"assets":2,"first_posting_at":"` + at + `","last_posting_at":"` + at + `"}`
	for _, c := range []struct{ target, body, calls string }{
		{"/v1/assets/AAPL", `{"id":"AAPL","name":"Apple <Inc.>","description":"Common stock","scale":0,"currency":"USD","created_at":"` + at + `"}`, "Asset"},
		{"/v1/assets/USD", `{"id":"USD","name":"US dollar","description":"","scale":2,"currency":null,"created_at":"` + at + `"}`, "Asset"},
		{"/v1/accounts/jane", jane, "Account"},
		{"/v1/accounts/market", `{"id":"market","name":"Market","profile":{},"overdraft":"unlimited","created_at":"` + at + `"}`, "Account"},
		{"/v1/accounts/margin", `{"id":"margin","name":"","profile":{},"overdraft":{"USD":"500000"},"created_at":"` + at + `"}`, "Account"},
		{"/v1/accounts?prefix=j", `{"data":[{"id":"jane","name":"Jane Doe","overdraft":null,"created_at":"` + at + `"}],"next_cursor":null}`, "Accounts"},
		{"/v1/assets?prefix=x", `{"data":[],"next_cursor":null}`, "Assets"},
		{"/v1/assets/AAPL/holders", `{"data":[` + aapl + `],"next_cursor":null}`, "Holders"},
		{"/v1/accounts/jane/balances/AAPL", aapl, "Balance"},
		{"/v1/accounts/shop/balances/USD", zero, "Account Asset Balance"},
		{"/v1/accounts/shop/balances/USD?consistency=strong", strings.Replace(zero, "eventual", "strong", 1), "Account Account Asset strong.Balance"},
		{"/v1/accounts/jane/balances/AAPL?consistency=strong", strings.Replace(aapl, "eventual", "strong", 1), "Account strong.Balance"},
		{"/v1/accounts/jane/balances/AAPL?consistency=eventual", aapl, "Balance"},
		{"/v1/accounts/jane/balances", `{"data":[` + aapl + `,` + usd + `],"next_cursor":null}`, "Balances"},
		{"/v1/accounts/jane/balances?consistency=strong", strings.ReplaceAll(`{"data":[`+aapl+`,`+usd+`],"next_cursor":null}`, "eventual", "strong"), "Account strong.Balances"},
		{"/v1/accounts/shop/balances", `{"data":[],"next_cursor":null}`, "Account Balances"},
		{"/v1/accounts/jane/postings", `{"data":[` + newest + `,` + bought + `,` + first + `],"next_cursor":null}`, "History"},
		{"/v1/accounts/jane/postings?asset=AAPL", `{"data":[` + bought + `],"next_cursor":null}`, "HistoryOf"},
		{"/v1/accounts/shop/postings?asset=AAPL", `{"data":[],"next_cursor":null}`, "Account Asset HistoryOf"},
		{"/v1/accounts/jane/members", `{"data":[{"account":"jane","user":"u-17","role":"viewer"}],"next_cursor":null}`, "Members"},
		{"/v1/accounts/shop/members", `{"data":[],"next_cursor":null}`, "Account Members"},
		{"/v1/users/u-17/accounts", `{"data":[{"account":"jane","user":"u-17","role":"viewer"}],"next_cursor":null}`, "AccountsOf"},
		{"/v1/users/nobody/accounts", `{"data":[],"next_cursor":null}`, "AccountsOf"},
		{"/v1/transactions/t-1", `{"id":"t-1","kind":"trade","posted_at":"` + at + `","description":"","metadata":{},"postings":[` +
			`{"id":"` + k(1) + `","account":"jane","asset":"AAPL","quantity":"10","cost":"150000"},{"id":"` + k(2) + `","account":"jane","asset":"USD","quantity":"-150000","cost":"0"}]}`, "Transaction"},
		{"/v1/accounts/jane/summary", page(holds, aapl+","+usd, newest+","+bought+","+first, "null"), "AccountPage Newest"},
		{"/v1/accounts/jane/summary?newest=2", page(holds, aapl+","+usd, newest+","+bought, `"`+history.cursor(k(1))+`"`), "AccountPage Newest"},
		{"/v1/accounts/jane/summary?newest=0", page(holds, aapl+","+usd, "", `"`+history.cursor("")+`"`), "AccountPage Newest"},
		{"/v1/accounts/shop/summary", strings.NewReplacer(jane, `{"id":"shop","name":"","profile":{},"overdraft":null,"created_at":"`+at+`"}`).Replace(
			page(`{"holdings":0,"assets":0,"first_posting_at":null,"last_posting_at":null}`, "", "", "null")), "AccountPage Newest"},
		{"/healthz", `{"status":"ok","version":"v1.2.3"}`, ""},
	} {
		w := f.do(t, "GET", c.target, "")
		if got := strings.TrimSuffix(w.Body.String(), "\n"); w.Code != 200 || got != c.body {
			t.Errorf("%s answered %d\n%s, want\n%s", c.target, w.Code, got, c.body)
		}
		if got := f.calls.taken(); got != c.calls {
			t.Errorf("%s called %q, want %q", c.target, got, c.calls)
		}
	}
	// The cursors of the page go on in the lists that it names.
	if w := f.do(t, "GET", "/v1/accounts/jane/postings?limit=1&cursor="+history.cursor(""), ""); !strings.Contains(w.Body.String(), newest) {
		t.Errorf("from the top answered %s", w.Body)
	}
	if w := f.do(t, "GET", "/v1/accounts/jane/postings?cursor="+history.cursor(k(1)), ""); !strings.Contains(w.Body.String(), `"data":[`+first+`]`) {
		t.Errorf("further down answered %s", w.Body)
	}
}

// What isn't projected or indexed yet is not called absent.
func TestNothingProjectedYet(t *testing.T) {
	f := newFixture(t)
	f.lists.unready = true
	f.lists.postings = nil
	for target, want := range map[string]string{
		"/v1/accounts/jane/summary":      `"summary":{"holdings":0,"assets":0,"first_posting_at":null,"last_posting_at":null},"balances":{"data":[],"next_cursor":null},"postings":{"data":[],"next_cursor":null}}`,
		"/v1/accounts/jane/balances":     `{"data":[],"next_cursor":null}`,
		"/v1/accounts/jane/balances/USD": `"quantity":"0"`,
		"/v1/accounts/jane/postings":     `{"data":[],"next_cursor":null}`,
	} {
		if w := f.do(t, "GET", target, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s answered %s", target, w.Body)
		}
	}
	// A posting that is indexed, of an account whose summary isn't projected.
	f = newFixture(t)
	f.lists.unready = true
	w := f.do(t, "GET", "/v1/accounts/jane/summary?newest=1", "")
	if got := answer[accountPage](t, w); got.Summary.FirstPostingAt != nil || got.Summary.LastPostingAt != nil || len(got.Postings.Data) != 1 {
		t.Errorf("answered %s", w.Body)
	}
}

func TestWhatIsMissing(t *testing.T) {
	f := newFixture(t)
	for target, code := range map[string]ledger.Code{
		"/v1/assets/none":                                          ledger.CodeAssetNotFound,
		"/v1/assets/usd":                                           ledger.CodeAssetNotFound,
		"/v1/assets/none/holders":                                  ledger.CodeAssetNotFound,
		"/v1/accounts/none":                                        ledger.CodeAccountNotFound,
		"/v1/accounts/none/summary":                                ledger.CodeAccountNotFound,
		"/v1/accounts/none/balances":                               ledger.CodeAccountNotFound,
		"/v1/accounts/none/balances?consistency=strong":            ledger.CodeAccountNotFound,
		"/v1/accounts/none/balances/USD":                           ledger.CodeAccountNotFound,
		"/v1/accounts/none/balances/none":                          ledger.CodeAccountNotFound,
		"/v1/accounts/none/balances/USD?consistency=strong":        ledger.CodeAccountNotFound,
		"/v1/accounts/jane/balances/none":                          ledger.CodeAssetNotFound,
		"/v1/accounts/jane/balances/none?consistency=strong":       ledger.CodeAssetNotFound,
		"/v1/accounts/none/postings":                               ledger.CodeAccountNotFound,
		"/v1/accounts/none/postings?asset=none":                    ledger.CodeAccountNotFound,
		"/v1/accounts/jane/postings?asset=none":                    ledger.CodeAssetNotFound,
		"/v1/accounts/jane/postings?asset=none&consistency=strong": ledger.CodeAssetNotFound,
		"/v1/accounts/none/members":                                ledger.CodeAccountNotFound,
		"/v1/transactions/none":                                    ledger.CodeTransactionNotFound,
	} {
		fields := refused(t, f.do(t, "GET", target, ""), 404, code)
		if want := strings.Contains(target, "?asset=none") && strings.Contains(target, "jane"); (fields == "asset") != want {
			t.Errorf("%s names %q", target, fields)
		}
	}
}

// The floors of strong reads are those of the account's policy.
func TestFloors(t *testing.T) {
	f := newFixture(t)
	for account, want := range map[string]string{"jane": "0", "margin": "-500000", "market": ""} {
		for _, target := range []string{"/balances/USD?consistency=strong", "/balances?consistency=strong"} {
			f.strong.floor = nil
			f.do(t, "GET", "/v1/accounts/"+account+target, "")
			if got := f.strong.floor; got == nil && want != "" || got != nil && got.String() != want {
				t.Errorf("%s of %s is read with the floor %v", target, account, got)
			}
		}
	}
	f.do(t, "GET", "/v1/accounts/margin/balances/AAPL?consistency=strong", "")
	if f.strong.floor == nil || !f.strong.floor.IsZero() {
		t.Errorf("an asset without an overdraft has the floor %v", f.strong.floor)
	}
	for target, want := range map[string]bool{"?asset=USD&consistency=strong": true, "?asset=USD": false, "?asset=USD&consistency=eventual": false} {
		f.do(t, "GET", "/v1/accounts/jane/postings"+target, "")
		if f.lists.strong != want {
			t.Errorf("%s is read strongly: %t", target, f.lists.strong)
		}
	}
}
