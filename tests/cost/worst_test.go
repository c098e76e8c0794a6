package cost

import (
	"fmt"
	"net/url"
	"regexp"

	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// worst collects the most expensive request of each route.
type worst struct {
	*largest
	what, requests, reads, writes []line
	trade                         time.Duration // processor time of a plain trade
}

// row measures a request of some routes, each as "METHOD /path", by a process with empty caches. If the routes end with
// "by a user", it is sent by the user.
func (w *worst) row(routes, what string, status int, request, body string) {
	w.t.Helper()
	var headers []string
	switch {
	case strings.HasSuffix(routes, "by a user"):
		headers = []string{"Ledger-User", user}
	case strings.HasSuffix(routes, "by a user who just lost them"):
		headers = []string{"Ledger-User", loser}
	}
	w.tick()
	method, path, _ := strings.Cut(request, " ")
	cold := w.cold()
	var used time.Duration
	defer func() {
		if w.t.Failed() {
			w.t.Log(cold.Log.String())
		}
	}()
	cost := w.measure(func() { used = processor(func() { cold.Must(status, method, path, body, headers...) }) })
	step := regexp.MustCompile(`[A-Z]+ /[^ ,]*`).ReplaceAllString(routes, "`$0`")
	for list, text := range map[*[]line]string{
		&w.what: what, &w.requests: thousands(int(cost.Total())), &w.writes: thousands(int(cost.WriteUnits)),
		&w.reads: thousands(int(cost.ReadHalves+1) / 2),
	} {
		*list = append(*list, line{step, text})
	}
	w.t.Logf("processor time of %.0f trades: %s", float64(used)/float64(w.trade), step)
}

// processor returns the processor time of the whole process: caller, HTTP, ledger and store.
func processor(do func()) time.Duration {
	now := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := now()
	do()
	return now() - began
}

// TestWorstRequests measures the most expensive request of each route. The table in the document must have a row for
// each route that is not public. With -v, it logs the processor time of each.
func TestWorstRequests(t *testing.T) {
	w := &worst{largest: newLargest(t)}
	w.Must(201, "PUT", "/v1/accounts/other", `{"overdraft":"unlimited"}`)
	const trades = 200
	w.trade = processor(func() {
		for range trades {
			w.Must(201, "POST", "/v1/trades", fmt.Sprintf(`{"asset":%q,"buyer":"outside","seller":"other",`+
				`"quantity":"1","cost":"0"}`, share))
		}
	}) / trades
	w.readResources()
	w.writeResources()
	w.readPast()
	w.post()
	w.readTransactions()
	w.split()

	text := ""
	for _, l := range w.requests {
		text += l.step
	}
	for _, r := range api.Operations() {
		if r.ID != "" && !strings.Contains(text, "`"+r.Method+" "+r.Path+"`") {
			t.Errorf("no row has %s %s", r.Method, r.Path)
		}
	}
	f := figures{heading: "The most expensive request of each route", of: "route", document: "../../docs/capacity.md"}
	f.add("request", w.what)
	f.add("requests", w.requests)
	f.add("read units", w.reads)
	f.add("write units", w.writes)
	f.check(t)
}

func (w *worst) readResources() {
	account := "/v1/accounts/" + w.account(1)
	w.row("GET /v1/me", "", 200, "GET /v1/me", "")
	w.row("GET /v1/assets/{asset}", "", 200, "GET /v1/assets/"+w.asset(0), "")
	w.row("GET /v1/assets", "100 assets", 200, "GET /v1/assets?limit=100", "")
	w.row("GET /v1/accounts", "100 accounts", 200, "GET /v1/accounts?limit=100", "")
	w.row("GET /v1/accounts by metadata", "100 accounts", 200,
		"GET /v1/accounts?limit=100&metadata."+indexedKey+"="+w.metadata[indexedKey], "")
	w.row("GET /v1/groups", "100 groups", 200, "GET /v1/groups?limit=100", "")
	w.row("GET /v1/assets/{asset}/holders", "100 holders", 200, "GET /v1/assets/"+w.asset(0)+"/holders?limit=100", "")
	w.row("GET /v1/accounts/{account} by a user", "", 200, "GET "+account, "")
	w.row("GET /v1/accounts/{account}/members by a user", "100 members", 200, "GET /v1/accounts/"+w.account(0)+
		"/members?limit=100", "")
	w.row("GET /v1/accounts/{account}/rates by a user", "100 limits of 100 assets", 200, "GET "+account+
		"/rates?limit=100", "")
	w.row("GET /v1/accounts/{account}/groups by a user", "10 groups", 200, "GET "+account+"/groups?limit=100", "")
	w.row("GET /v1/users/{user}/accounts by a user", "10 groups of 100 accounts: a page has 20", 200,
		"GET /v1/users/"+user+"/accounts?limit=100", "")
	w.row("GET /v1/users/{user}/accounts by a user who just lost them", "100 are read", 503,
		"GET /v1/users/"+loser+"/accounts?limit=100", "")
	w.row("GET /v1/users/{user}/groups by a user", "100 groups", 200, "GET /v1/users/"+user+"/groups?limit=100", "")
	w.row("GET /v1/groups/{group} by a user", "", 200, "GET /v1/groups/desk", "")
	w.row("GET /v1/groups/{group}/accounts, GET /v1/groups/{group}/members by a user", "a page has 20 accounts", 200,
		"GET /v1/groups/desk/accounts?limit=100", "")
	w.row("GET /v1/groups/{group}/balances", "100 accounts, 30 with more than their share", 200,
		"GET /v1/groups/totals/balances?limit=100", "")
}

func (w *worst) writeResources() {
	account, group := "/v1/accounts/"+w.account(2), "/v1/groups/desk"
	w.row("PUT /v1/assets/{asset}", "the longest texts", 201, "PUT /v1/assets/"+w.next("asset"), w.named())
	w.row("PUT /v1/groups/{group}", "the longest texts", 201, "PUT /v1/groups/"+w.next("group"),
		strings.Replace(w.named(), `,"scale":18,"currency":"USD"`, "", 1))
	w.row("PUT /v1/accounts/{account}", "the longest texts, 100 limits", 201, "PUT /v1/accounts/"+w.next("account"),
		w.opening("Jane"))
	for n := range more {
		w.Must(200, "PATCH", account, w.opening(strconv.Itoa(n)))
	}
	w.row("PATCH /v1/accounts/{account}", "the longest texts, 100 limits, no guard", 200, "PATCH "+account,
		w.opening("Joe"))
	w.row("GET /v1/accounts/{account}/changes by a user", "100 changes", 200, "GET "+account+"/changes?limit=100", "")
	w.row("PUT /v1/accounts/{account}/members/{user} by a user", "", 201, "PUT "+account+"/members/ann",
		`{"role":"viewer"}`)
	w.row("DELETE /v1/accounts/{account}/members/{user} by a user", "", 200, "DELETE "+account+"/members/ann", "")
	w.row("PUT /v1/groups/{group}/members/{user} by a user", "", 201, "PUT "+group+"/members/ann", `{"role":"viewer"}`)
	w.row("DELETE /v1/groups/{group}/members/{user} by a user", "", 200, "DELETE "+group+"/members/ann", "")
	w.row("DELETE /v1/groups/{group}/accounts/{account}", "", 200, "DELETE "+group+"/accounts/"+w.account(3), "")
	w.row("PUT /v1/groups/{group}/accounts/{account}", "", 201, "PUT "+group+"/accounts/"+w.account(3), "")
}

func (w *worst) readPast() {
	const assets = 21 // a page has 20 at most
	w.history(assets)
	account := "/v1/accounts/" + holder
	w.Must(201, "PUT", "/v1/groups/desk/accounts/"+holder, "")
	for n := range events.AccountGroupsMax - 1 {
		w.Must(201, "PUT", "/v1/groups/"+w.group(n)+"/accounts/"+holder, "")
	}
	at, page := url.QueryEscape(events.FormatTime(w.now())), "?limit=100"
	of := page + "&asset=" + w.asset(0)
	w.row("GET /v1/accounts/{account}/summary by a user", "100 balances, 100 postings", 200, "GET "+account+
		"/summary?newest=100", "")
	w.row("GET /v1/accounts/{account}/balances by a user", "a past time, strong, 94 units for each balance", 200,
		"GET "+account+"/balances"+page+"&consistency=strong&at="+at, "")
	w.row("GET /v1/accounts/{account}/balances/{asset} by a user", "a past time, strong", 200,
		"GET "+account+"/balances/"+w.asset(0)+"?consistency=strong&at="+at, "")
	w.row("GET /v1/accounts/{account}/statement by a user", "100 postings of 255", 200, "GET "+account+"/statement"+of+
		"&from="+url.QueryEscape(events.FormatTime(w.now().Add(-age)))+"&to="+at, "")
	w.row("GET /v1/accounts/{account}/postings by a user", "100 postings, strong", 200, "GET "+account+"/postings"+of+
		"&consistency=strong", "")
}

func (w *worst) accounts(from, n int) (all []string) {
	for i := range n {
		all = append(all, w.account(from+i))
	}
	return all
}

func (w *worst) post() {
	const legs = events.PostingsMax
	id := w.next("t")
	w.row("POST /v1/transactions by a user", "48 legs, the first debits of 47 accounts", 201, "POST /v1/transactions",
		w.annotated(id, true, w.debits(w.accounts(0, legs))))
	w.row("GET /v1/transactions/{id} by a user", "48 legs", 200, "GET /v1/transactions/"+id, "")
	w.row("POST /v1/transfers, POST /v1/trades by a user", "settled, the first debits of two accounts", 201,
		"POST /v1/trades", w.annotated(w.next("t"), true, fmt.Sprintf(
			`"asset":%q,"buyer":%q,"seller":%q,"quantity":"1","cost":"1","settle":true`, w.asset(1), w.account(50),
			w.account(51))))
	const together = ledger.BatchPostingsMax / legs
	var batch []string
	for n := range together {
		accounts := make([]string, legs)
		for i := range accounts {
			accounts[i] = w.id(fmt.Sprintf("b%05d", n*legs+i))
			w.Must(201, "PUT", "/v1/accounts/"+accounts[i],
				fmt.Sprintf(`{"overdraft":{%q:%q}}`, w.asset(1), w.posted.Abs()))
		}
		batch = append(batch, `{"transaction":`+w.annotated(w.next("t"), false, w.debits(accounts))+`}`)
	}
	body := `{"requests":[` + strings.Join(batch, ",") + `]}`
	w.row("POST /v1/batches", fmt.Sprintf("%d transactions, each the first debits of 47 accounts", together), 200,
		"POST /v1/batches", body)
	var trades []string
	for n := range ledger.BatchMax {
		var parties [2]string
		for i := range parties {
			parties[i] = w.id(fmt.Sprintf("t%05d", 2*n+i))
			w.Must(201, "PUT", "/v1/accounts/"+parties[i],
				fmt.Sprintf(`{"overdraft":{%q:%q,"USD":%[2]q}}`, w.asset(1), w.posted.Abs()))
		}
		trades = append(trades, `{"trade":`+w.annotated(w.next("t"), true, fmt.Sprintf(
			`"asset":%q,"buyer":%q,"seller":%q,"quantity":"1%s","cost":"1%[4]s","settle":true`, w.asset(1), parties[0],
			parties[1], zeros))+`}`)
	}
	w.row("POST /v1/batches of trades", "100 settled, the first debits of 200 accounts", 200, "POST /v1/batches",
		`{"requests":[`+strings.Join(trades, ",")+`]}`)
	var refused []string
	for n := 0; n < many; n += 40 {
		refused = append(refused, `{"transaction":`+w.annotated(w.next("t"), true,
			w.debits(w.accounts(n, 40)))+`}`)
	}
	w.row("POST /v1/batches by a user", "5 transactions, of 200 accounts", 200, "POST /v1/batches",
		`{"requests":[`+strings.Join(refused, ",")+`]}`)
	id = w.next("t")
	w.Must(201, "POST", "/v1/transactions", w.annotated(id, true, `"hold":{},`+w.debits(w.accounts(100, legs))),
		"Ledger-User", user)
	w.row("POST /v1/transactions/{id}/capture, POST /v1/transactions/{id}/release by a user", "48 legs", 200,
		"POST /v1/transactions/"+id+"/capture", `{}`)
	whole := w.annotated(w.next("t"), true, "")
	w.row("POST /v1/transactions/{id}/reversals by a user", "48 legs", 201, "POST /v1/transactions/"+id+"/reversals",
		strings.TrimSuffix(whole, ",}")+"}")
}

func (w *worst) readTransactions() {
	ids := w.holds()
	w.row("GET /v1/holds", "100 holds of 48 legs", 200, "GET /v1/holds?limit=100", "")
	var ends, reversals []table.Key
	var captures []string
	for _, id := range ids {
		captures = append(captures, `{"capture":{"transaction":"`+id+`"}}`)
		ends = append(ends, table.Outcome.Key(id))
	}
	w.row("POST /v1/batches of ends", "100 captures of 48 legs", 200, "POST /v1/batches",
		`{"requests":[`+strings.Join(captures[:ledger.BatchMax], ",")+`]}`)
	for _, id := range ids[ledger.BatchMax:] {
		w.Must(200, "POST", "/v1/transactions/"+id+"/capture", `{}`)
	}
	w.deliver(ends)
	w.row("GET /v1/transactions", "100 captured holds of 48 legs", 200, "GET /v1/transactions?limit=100", "")
	w.row("GET /v1/accounts/{account}/holds by a user", "100 captured holds of 48 legs", 200, "GET /v1/accounts/"+
		w.account(0)+"/holds?limit=100", "")
	part := `"postings":[` + strings.Repeat(`,{"quantity":"-1"},{"quantity":"1"}`, events.PostingsMax/2)[1:] + `]`
	for range more {
		id := w.next("r")
		w.Must(201, "POST", "/v1/transactions/"+ids[0]+"/reversals", w.annotated(id, true, part))
		reversals = append(reversals, table.Transaction.Key(id))
	}
	w.row("GET /v1/transactions/{id}/reversals by a user", "100 reversals of 48 legs", 200, "GET /v1/transactions/"+
		ids[0]+"/reversals?limit=100", "")
	writePage(w.System, w.now().Add(-age), reversals...)
	w.row("GET /v1/journal", "100 reversals of 48 legs", 200, "GET /v1/journal?limit=100", "")
	reason := `{"closed_before":"2014-06-01T00:00:00Z","reason":"` + strings.Repeat("\U0001F512", events.DescriptionChars) + `"}`
	w.row("PUT /v1/periods/{number}", "the longest reason", 201, "PUT /v1/periods/1", reason)
	for n := 2; n <= more; n++ {
		w.Must(201, "PUT", fmt.Sprint("/v1/periods/", n), reason)
	}
	w.row("GET /v1/periods", "100 closings", 200, "GET /v1/periods?limit=100", "")
}

// split is the last, so that it warms no account of others.
func (w *worst) split() {
	const legs = events.PostingsMax
	to := []string{fmt.Sprintf(`{"account":%q,"quantity":"0"}`, w.account(legs-1))}
	for _, account := range w.accounts(0, legs-1) {
		to = append(to, fmt.Sprintf(`{"account":%q,"rest":1}`, account))
	}
	w.row("POST /v1/splits by a user", "48 portions, of which one gets nothing", 201, "POST /v1/splits",
		w.annotated(w.next("t"), true, fmt.Sprintf(`"asset":%q,"from":%q,"quantity":"4700000","to":[%s]`, w.asset(1),
			w.account(legs+1), strings.Join(to, ","))))
}
