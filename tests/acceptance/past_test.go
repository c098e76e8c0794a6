package acceptance

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
)

// Past balances are right at the time of each posting and just before it. Statements have consistent opening and
// closing balances and lines, with every page size, as JSON and as CSV.
func past(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for i := range 5 {
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(
			`{"id":"~p-%d","from":"~jane","to":"~shop","asset":"~USD","quantity":"%d","description":"=No. %[1]d, \"paid\""}`,
			i, 100*(i+1)))
	}
	s.Must(201, "POST", "/v1/transfers",
		`{"id":"~h-1","from":"~jane","to":"~shop","asset":"~USD","quantity":"7","hold":{}}`)
	const balance = "/v1/accounts/~jane/balances/~USD"
	all := s.All("/v1/accounts/~jane/postings?asset=~USD&consistency=strong", 100)
	if len(all) != 8 {
		t.Fatalf("jane has %d postings", len(all))
	}
	slices.Reverse(all)
	quantities := []string{"0", "500000", "350000", "349900", "349700", "349400", "349000", "348500", "348500"}
	times := caller.Column(all, "posted_at")
	for i, at := range times {
		posted, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			t.Fatal(err)
		}
		// An acknowledged posting is included immediately. Later postings are not.
		s.Must(200, "GET", balance+"?consistency=strong&at="+at, "").Shows(t, map[string]any{
			"quantity": quantities[i+1], "postings": float64(i + 1), "revision": float64(i + 1), "at": at,
			"as_of_time": at, "as_of": all[i]["id"], "consistency": "strong", "available": nil, "account": "~jane",
		})
		before := url.QueryEscape(posted.Add(-time.Nanosecond).Format(time.RFC3339Nano))
		s.Must(200, "GET", balance+"?at="+before, "").Shows(t, map[string]any{"quantity": quantities[i]})
	}
	newest := s.Must(200, "GET", balance+"?at="+times[7], "")
	newest.Shows(t, map[string]any{"pending_debits": "7", "credits": "500000", "debits": "151500"})
	if got, want := len(s.All("/v1/accounts/~jane/balances?consistency=strong&at="+times[0], 1)), 1; got != want {
		t.Errorf("%d assets after the first deposit", got)
	}
	caller.Eventually(t, timeToProject, "all postings are projected", func() bool {
		return len(s.All("/v1/accounts/~jane/balances?at="+times[7], 1)) == 2
	})
	s.Must(200, "GET", "/v1/accounts/~shop/balances?at=2020-01-01T00:00:00Z", "").Shows(t, map[string]any{"data 0": nil})
	s.Must(200, "GET", "/v1/accounts/~jane/balances/~GOLD?at=2020-01-01T00:00:00Z", "").Shows(t,
		map[string]any{"quantity": "0", "as_of": nil, "as_of_time": nil, "settled": true})

	// From the third posting (inclusive) to the last (exclusive).
	statement := "/v1/accounts/~jane/statement?asset=~USD&from=" + times[2] + "&to=" + times[7]
	for _, limit := range []int{1, 2, 5, 100} {
		lines := s.All(statement, limit)
		if got := caller.Column(lines, "balance_after"); !slices.Equal(got, quantities[3:8]) {
			t.Errorf("limit %d: %q", limit, got)
		}
		if got := caller.Column(lines, "id"); !slices.Equal(got, caller.Column(all[2:7], "id")) {
			t.Errorf("limit %d: %q", limit, got)
		}
		s.Must(200, "GET", statement+fmt.Sprint("&limit=", limit), "").Shows(t, map[string]any{
			"opening quantity": "350000", "opening postings": 2.0, "closing quantity": "348500", "closing postings": 7.0,
			"account": "~jane", "asset": "~USD", "from": times[2], "to": times[7],
		})
		rows := []string{"line posted_at transaction quantity description balance_after",
			"opening " + times[2] + "    3500.00"}
		for i, line := range lines {
			rows = append(rows, fmt.Sprintf(`posting %s ~p-%d -%d.00 '=No. %d, "paid" %s`, line["posted_at"], i, i+1, i,
				decimal(line["balance_after"].(string))))
		}
		rows = append(rows, "closing "+times[7]+"    3485.00")
		if got := asCSV(t, s, statement+fmt.Sprint("&limit=", limit)); !slices.Equal(got, rows) {
			t.Errorf("CSV with limit %d: %q, want %q", limit, got, rows)
		}
	}
	s.Must(200, "GET", "/v1/accounts/~jane/statement?asset=~USD&from="+times[4]+"&to="+times[4], "").Shows(t,
		map[string]any{"data 0": nil, "opening quantity": "349700", "closing quantity": "349700", "next_cursor": nil})
	s.Must(200, "GET", "/v1/accounts/~jane/statement?asset=~GOLD&from="+times[4]+"&to="+times[5], "").Shows(t,
		map[string]any{"data 0": nil, "opening quantity": "0", "closing quantity": "0", "next_cursor": nil})

	// A time in the future means now. Pages of such a statement end at the same time.
	for _, consistency := range []string{"eventual", "strong"} {
		now := s.Must(200, "GET", balance+"?at=9999-12-31T23:59:59Z&consistency="+consistency, "")
		now.Shows(t, map[string]any{"quantity": quantities[8], "settled": false})
		parseTime(t, now.Value("at"))
		if all := s.All("/v1/accounts/~jane/balances?at=2126-01-01T00:00:00Z&consistency="+consistency, 1); len(all) != 2 {
			t.Errorf("%d assets until now", len(all))
		}
	}
	const untilNow = "/v1/accounts/~jane/statement?asset=~USD&from=2020-01-01T00:00:00Z&to=2126-01-01T00:00:00Z&limit=3"
	page := s.Must(200, "GET", untilNow, "")
	page.Shows(t, map[string]any{"settled": false, "closing quantity": quantities[8]})
	parseTime(t, page.Value("to"))
	s.Must(201, "POST", "/v1/transfers", `{"id":"~later","from":"~jane","to":"~shop","asset":"~USD","quantity":"1"}`)
	for page.Value("next_cursor") != nil {
		to := page.Value("to")
		page = s.Must(200, "GET", untilNow+"&cursor="+page.Text("next_cursor"), "")
		page.Shows(t, map[string]any{"settled": false, "closing quantity": quantities[8], "to": to})
	}
	s.Must(201, "POST", "/v1/transactions/~later/reversals", `{}`)

	// A backdated transaction changes past balances when it is projected, and increments their revision.
	s.Must(201, "POST", "/v1/transfers", `{"id":"~b-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"11",`+
		`"effective_at":"2021-03-31T23:59:59.999999Z"}`)
	s.Must(200, "GET", balance+"?at=2021-03-31T23:59:59.999998Z", "").Shows(t, map[string]any{"revision": 0.0})
	caller.Eventually(t, timeToProject, "the backdated posting is projected", func() bool {
		return s.Must(200, "GET", balance+"?at=2021-03-31T23:59:59.999999Z", "").Value("revision") == 1.0
	})
	s.Must(200, "GET", balance+"?at="+times[7], "").Shows(t, map[string]any{"quantity": "348511", "revision": 9.0})
	s.Must(200, "GET", statement, "").Shows(t, map[string]any{"opening quantity": "350011", "opening postings": 3.0,
		"closing quantity": "348511", "data 0 balance_after": "349911"})
}

// decimal returns an amount of ~USD as CSV has it.
func decimal(minor string) string { return minor[:len(minor)-2] + "." + minor[len(minor)-2:] }

// asCSV returns some columns of all rows of a statement. It follows the links between pages.
func asCSV(t *testing.T, s *caller.Caller, path string) (rows []string) {
	t.Helper()
	text, at := "", path
	for at != "" {
		r := s.Must(200, "GET", at, "", "Accept", "text/csv")
		if got := r.Header.Get("Content-Type"); got != "text/csv; charset=utf-8" {
			t.Fatalf("%s has the Content-Type %s", at, got)
		}
		text += string(r.Body)
		link, isNext := strings.CutSuffix(r.Header.Get("Link"), `>; rel="next"`)
		if at = ""; isNext {
			at, _, _ = strings.Cut(path, "?")
			at += strings.TrimPrefix(link, "<")
		}
	}
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, row := range all {
		rows = append(rows, strings.Join([]string{row[0], row[1], row[2], row[7], row[10], row[13]}, " "))
	}
	return rows
}

// A transaction with an effective date is in histories at that date, and in balances as soon as it is projected. Its
// recorded_at is the current time. Its funds check uses the current balance.
func effectiveDates(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	const shown = "2020-02-29T10:00:00.123456Z"
	transfer := func(id, more string) string {
		return `{"id":"` + id + `","from":"~bank","to":"~jane","asset":"~USD","quantity":"100"` + more + `}`
	}
	const date = `,"effective_at":"2020-02-29T12:00:00.1234567+02:00"`
	first := s.Must(201, "POST", "/v1/transfers", transfer("~e-1", date))
	first.Shows(t, map[string]any{"posted_at": shown, "postings 1 quantity": "100"})
	if recorded := first.Text("recorded_at"); recorded <= shown {
		t.Errorf("recorded at %s", recorded)
	}
	again := s.Must(200, "POST", "/v1/transfers", transfer("~e-1", `,"effective_at":"`+shown+`"`))
	if !bytes.Equal(again.Body, first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the replay is %s", again.Body)
	}
	if read := unreversed(t, s.Must(200, "GET", "/v1/transactions/~e-1", "")); !bytes.Equal(read, first.Body) {
		t.Errorf("read as %s", read)
	}
	s.Must(409, "POST", "/v1/transfers", transfer("~e-1", ""))
	young := time.Now().Add(-10 * time.Second).UTC().Format(time.RFC3339Nano)
	s.Must(400, "POST", "/v1/transfers", transfer("~e-0", `,"effective_at":"`+young+`"`)).Shows(t,
		map[string]any{"errors 0 rule": "must be at least 15 seconds in the past"})
	now := s.Must(201, "POST", "/v1/transfers", transfer("~e-2", ""))
	if posted, recorded := now.Text("posted_at"), now.Text("recorded_at"); recorded != posted || posted <= shown {
		t.Errorf("posted at %s, recorded at %s", posted, recorded)
	}
	s.Must(201, "POST", "/v1/trades", `{"id":"~e-3","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1",`+
		`"cost":"50","settle":true,"effective_at":"2014-05-13T16:53:20Z"}`).Shows(t,
		map[string]any{"posted_at": "2014-05-13T16:53:20.000000Z"})
	s.Must(201, "POST", "/v1/transactions/~e-1/reversals", `{"id":"~e-4","quantity":"30"`+date+`}`).Shows(t,
		map[string]any{"posted_at": shown, "reverses": "~e-1"})
	dry := s.Must(200, "POST", "/v1/transfers?dry_run=true", transfer("~e-5", date))
	dry.Shows(t, map[string]any{"posted_at": nil, "recorded_at": nil})
	s.Must(200, "POST", "/v1/batches", `{"requests":[{"transfer":`+transfer("~e-6", date)+`},{"transfer":`+
		transfer("~e-7", `,"effective_at":"2999-01-01T00:00:00Z"`)+`}]}`).Shows(t, map[string]any{
		"results 0 body posted_at": shown, "results 1 status": 400.0, "results 1 body errors 0 field": "effective_at",
	})
	caller.Eventually(t, timeToProject, "all postings are projected", func() bool {
		got := s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD", "")
		return bytes.Contains(got.Body, []byte(`"quantity":"350220"`))
	})
	var order []string
	for _, p := range s.All("/v1/accounts/~jane/postings?asset=~USD&to=2021-01-01T00:00:00Z", 2) {
		order = append(order, fmt.Sprint(p["transaction"]))
	}
	if len(order) != 4 || order[3] != "~e-3" {
		t.Errorf("history: %v", order)
	}
	s.Must(200, "GET", "/v1/accounts/~jane/summary", "").Shows(t,
		map[string]any{"summary first_posting_at": "2014-05-13T16:53:20.000000Z"})
	s.Must(422, "POST", "/v1/transfers", `{"id":"~e-8","from":"~jane","to":"~bank","asset":"~USD","quantity":"350221"`+
		date+`}`).Shows(t, map[string]any{"code": "insufficient_funds", "available": "350220"})
	refuseAll(t, s, "effective.txt")
	beforeTheBeginning(t, s)
	closedPeriods(t, s, transfer)
}

// A time before the first that a posting may have is the beginning. ~e-3 is posted at that time.
func beforeTheBeginning(t *testing.T, s *caller.Caller) {
	const beginning = "2014-05-13T16:53:20.000000Z"
	const jane, ofUSD = "/v1/accounts/~jane/", "/v1/accounts/~jane/balances/~USD?at="
	s.Must(200, "GET", ofUSD+beginning, "").Shows(t, map[string]any{"quantity": "-50", "at": beginning})
	for _, early := range []string{"2014-05-13T16:53:19.999999Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z",
		"0000-01-01T00:00:00%2B05:00"} {
		for _, consistency := range []string{"", "&consistency=strong"} {
			s.Must(200, "GET", ofUSD+early+consistency, "").Shows(t,
				map[string]any{"quantity": "0", "postings": 0.0}) // settled, unless a closing awaits its final_at
			s.Must(200, "GET", jane+"balances?at="+early+consistency, "").Shows(t, map[string]any{"data 0": nil})
		}
		all := s.Must(200, "GET", jane+"statement?asset=~USD&to=2020-01-01T00:00:00Z&from="+early, "")
		all.Shows(t, map[string]any{"from": beginning, "opening quantity": "0", "data 0 transaction": "~e-3"})
		s.Must(200, "GET", jane+"statement?asset=~USD&from="+early+"&to="+early, "").Shows(t,
			map[string]any{"from": beginning, "to": beginning, "data 0": nil, "closing quantity": "0"})
		for _, list := range []string{jane + "postings?", jane + "postings?asset=~USD&", "/v1/transactions?"} {
			s.Must(200, "GET", list+"to="+early, "").Shows(t, map[string]any{"data 0": nil, "next_cursor": nil})
			if got := s.Must(200, "GET", list+"from="+early, ""); len(got.Value("data").([]any)) == 0 {
				t.Errorf("GET %sfrom=%s is empty: %s", list, early, got.Body)
			}
		}
		s.Must(200, "GET", "/v1/journal?limit=1&from="+early, "")
	}
	s.Must(400, "GET", "/v1/transactions?from=2020-01-01T00:00:00Z&to=1999-01-01T00:00:00Z", "").Shows(t,
		map[string]any{"errors 0 field": "from"})
}

// Nothing is posted with an effective date in a closed period until an earlier closing opens it again. The periods of
// this test end before the effective dates of all others.
func closedPeriods(t *testing.T, s *caller.Caller, transfer func(id, more string) string) {
	next := 1.0
	if data := s.Must(200, "GET", "/v1/periods?limit=1", "").Value("data").([]any); len(data) > 0 {
		next = 1 + data[0].(map[string]any)["number"].(float64)
	}
	path := func(ahead float64) string { return fmt.Sprint("/v1/periods/", next+ahead) }
	closing := func(before string) string { return `{"closed_before":"` + before + `","reason":"audited"}` }
	const hour, date = "2014-05-13T17:00:00Z", `,"effective_at":"2014-05-13T16:59:59.999999Z"`
	s.Must(422, "PUT", path(1), closing(hour)).Shows(t, map[string]any{"code": "invalid_period", "errors 0 field": "number"})
	s.Must(422, "PUT", path(0), closing(time.Now().UTC().Format(time.RFC3339))).Shows(t,
		map[string]any{"code": "invalid_period", "errors 0 field": "closed_before"})
	closed := s.Must(201, "PUT", path(0), closing(hour))
	closed.Shows(t, map[string]any{"number": next, "closed_before": "2014-05-13T17:00:00.000000Z", "reason": "audited"})
	if at, final := closed.Text("closed_at"), closed.Text("final_at"); final <= at {
		t.Errorf("closed at %s, final at %s", at, final)
	}
	s.Must(200, "PUT", path(0), closing("2014-05-13T19:00:00+02:00"))
	for _, before := range []string{hour, "2014-05-13T18:00:00Z", "2999-01-01T00:00:00Z"} {
		s.Must(412, "PUT", path(0), closing(before), "If-None-Match", "*").Shows(t, map[string]any{"code": "precondition_failed"})
	}
	s.Must(409, "PUT", path(0), closing("2014-05-13T18:00:00Z")).Shows(t, map[string]any{"code": "period_exists"})
	s.Must(422, "POST", "/v1/transfers", transfer("~p-1", date)).Shows(t,
		map[string]any{"code": "period_closed", "errors 0 field": "effective_at"})
	s.Must(422, "POST", "/v1/transfers?dry_run=true", transfer("~p-1", date))
	s.Must(201, "POST", "/v1/transfers", transfer("~p-2", `,"effective_at":"`+hour+`"`))
	s.Must(200, "POST", "/v1/transfers", transfer("~e-1", `,"effective_at":"2020-02-29T10:00:00.123456Z"`))
	for to, settled := range map[string]bool{"from=2014-05-14T00:00:00Z": true, "from=2014-05-13T16:53:20Z": false} {
		s.Must(200, "GET", "/v1/accounts/~jane/statement?asset=~USD&to=2019-01-01T00:00:00Z&"+to, "").Shows(t,
			map[string]any{"settled": settled})
	}
	for at, settled := range map[string]bool{
		"2014-05-13T16:59:59.999999Z": false, hour: true, "2014-05-14T00:00:00Z": true,
	} {
		for _, more := range []string{"", "&consistency=strong"} {
			s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD?at="+at+more, "").Shows(t, map[string]any{"settled": settled})
		}
	}
	s.Must(201, "PUT", path(1), closing("2014-05-13T16:53:20Z"), "If-None-Match", "*")
	s.Must(201, "POST", "/v1/transfers", transfer("~p-1", date))
	s.Must(200, "GET", "/v1/periods?limit=2", "").Shows(t,
		map[string]any{"data 0 number": next + 1, "data 1 closed_before": "2014-05-13T17:00:00.000000Z"})
	newest := s.Must(200, "GET", "/v1/periods?limit=1", "").Text("next_cursor")
	s.Must(200, "GET", "/v1/periods?limit=1&cursor="+newest, "").Shows(t, map[string]any{"data 0 number": next})
}
