package access

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// withoutID formats an answer without its request id.
func withoutID(w *httptest.ResponseRecorder) string {
	return fmt.Sprint(w.Code, requestID.ReplaceAllString(w.Body.String(), ""))
}

// alike formats an answer without its request id, so that answers can be compared.
func alike(r caller.Reply) string {
	body := requestID.ReplaceAllString(string(r.Body), "")
	headers := []string{}
	for _, name := range []string{"Content-Type", "Cache-Control", "ETag", "Retry-After", "Allow", "Location"} {
		headers = append(headers, r.Header.Get(name))
	}
	return fmt.Sprint(r.Status, headers, body)
}

// A resource on which a user has no role gives exactly the same answer as a missing one, and a service gets it for a
// missing one, too: in a batch, in a dry run, and with parameters. TestMatrix has all routes without them.
func TestHiddenLooksMissing(t *testing.T) {
	t.Parallel()
	s := books(t)
	s.Must(201, "POST", "/v1/transfers", `{"id":"h-1","from":"jane","to":"shop","asset":"USD","quantity":"1","hold":{}}`,
		"Ledger-User", "clerk")
	const transfer = `{"id":"x","from":"#","to":"shop","asset":"USD","quantity":"1"}`
	all := [][4]string{
		{"jane", "HEAD", "/v1/accounts/#", ""},
		{"jane", "GET", "/v1/accounts/#/balances?consistency=strong", ""},
		{"jane", "GET", "/v1/accounts/#/balances/USD?at=2026-01-01T00:00:00Z", ""},
		{"jane", "POST", "/v1/transfers?dry_run=true", transfer},
	}
	for _, one := range [][2]string{
		{"jane", `"transfer":` + transfer}, {"h-1", `"capture":{"transaction":"#"}`}, {"h-1", `"release":{"transaction":"#"}`},
		{"d-1", `"reversal":{"transaction":"#","id":"r"}`},
	} {
		for _, atomic := range []string{"true", "false"} {
			body := `{"atomic":` + atomic + `,"requests":[{` + one[1] + `}]}`
			all = append(all, [4]string{one[0], "POST", "/v1/batches", body},
				[4]string{one[0], "POST", "/v1/batches?dry_run=true", body})
		}
	}
	for _, c := range all {
		answer := func(id string, headers ...string) string {
			fill := func(text string) string { return strings.ReplaceAll(text, "#", id) }
			return alike(s.Send(c[1], fill(c[2]), fill(c[3]), headers...))
		}
		hidden, missing := answer(c[0], "Ledger-User", "stranger"), answer("gone", "Ledger-User", "stranger")
		if service := answer("gone"); hidden != missing || hidden != service {
			t.Errorf("%v: answers differ:\nhidden: %s\nmissing: %s\nmissing, to a service: %s", c, hidden, missing, service)
		}
	}
}

// Invalid requests are refused before roles are read, with the same answer to every caller.
func TestValidationComesFirst(t *testing.T) {
	t.Parallel()
	s := books(t).NewProcess(system.Calls(callerOf)) // its projector does not run, so it sends no requests
	s.Requests.Take()
	as := []string{"Ledger-User", "stranger"}
	s.Must(400, "PUT", "/v1/accounts/jane", `{"name":5}`, as...)
	s.Must(400, "GET", "/v1/accounts/jane/balances?limit=0", "", as...)
	s.Must(400, "GET", "/v1/holds?limit=0", "", as...)
	s.Must(400, "PUT", "/v1/accounts/jane/members/ann", `{"role":"king"}`, as...)
	s.Must(400, "POST", "/v1/transfers", `{"from":"jane","to":"shop","asset":"USD","quantity":"0"}`, as...)
	s.Must(422, "POST", "/v1/transfers", `{"from":"jane","to":"jane","asset":"USD","quantity":"1"}`, as...).Shows(t,
		map[string]any{"code": "invalid_transaction"})
	s.Must(422, "POST", "/v1/transactions", `{"postings":[{"account":"jane","asset":"USD","quantity":"-1"},`+
		`{"account":"shop","asset":"USD","quantity":"2"}]}`, as...).Shows(t, map[string]any{"code": "unbalanced"})
	s.Must(400, "POST", "/v1/transactions/t-1/release", `{"description":5}`, as...)
	if lines := system.Lines(s.Requests.Take()); len(lines) > 0 {
		t.Errorf("requests to the table: %q", lines)
	}
}

// The header Ledger-User is refused with an invalid user id, and from a caller with a user's token.
func TestLedgerUserHeader(t *testing.T) {
	t.Parallel()
	s := books(t)
	for _, user := range []string{"", "a b", "a,b", strings.Repeat("a", 65)} {
		for _, path := range []string{"/v1/me", "/v1/accounts/jane", "/v1/assets"} {
			r := s.Must(400, "GET", path, "", "Ledger-User", user)
			if fmt.Sprint(r.Fields()) != "[Ledger-User]" {
				t.Errorf("%q: %s", user, r.Body)
			}
		}
		s.Must(400, "POST", "/v1/batches", `{"requests":[]}`, "Ledger-User", user)
	}
	s.Must(403, "GET", "/v1/me", "", tokenHeader, "viewer", "Ledger-User", "owner").Shows(t,
		map[string]any{"code": "forbidden", "role": "administrator"})
	s.Must(403, "GET", "/v1/me", "", tokenHeader, "viewer", "Ledger-User", "viewer")
	s.Must(200, "GET", "/v1/me", "", tokenHeader, "viewer").Shows(t, map[string]any{"as": "user", "user": "viewer",
		"actor": "viewer via https://id.example.com/"})
	s.Must(200, "GET", "/v1/me", "", tokenHeader, "admin", "Ledger-User", "ann").Shows(t, map[string]any{"as": "user",
		"user": "ann", "actor": "ann via https://id.example.com/#admin"})
	s.Must(200, "GET", "/v1/me", "").Shows(t, map[string]any{"as": "administrator", "user": nil, "actor": "service"})
}

// Answers omit the postings of accounts on which a user has no role, and give their number.
func TestHiddenPostings(t *testing.T) {
	t.Parallel()
	s := books(t)
	as := []string{"Ledger-User", "operator"}
	hides := func(r caller.Reply, path ...any) {
		t.Helper()
		shown, _ := r.Value(append(path, "postings")...).([]any)
		for _, leg := range shown {
			if account := leg.(map[string]any)["account"]; account != "jane" {
				t.Errorf("shows a posting of %v: %s", account, r.Body)
			}
		}
		if hidden := r.Value(append(path, "hidden_postings")...); len(shown) == 0 || hidden != 1.0 && hidden != 2.0 {
			t.Errorf("hidden_postings is %v: %s", hidden, r.Body)
		}
		if strings.Contains(string(r.Body), "shop") || strings.Contains(string(r.Body), "bank") {
			t.Errorf("names another account: %s", r.Body)
		}
	}
	hides(s.Must(200, "GET", "/v1/transactions/t-1", "", as...))
	place := func(id string) {
		s.Must(201, "POST", "/v1/transfers",
			`{"id":"`+id+`","from":"jane","to":"shop","asset":"USD","quantity":"5","hold":{}}`, as...)
	}
	place("h-1")
	place("h-2")
	s.Project()
	hides(s.Must(200, "GET", "/v1/accounts/jane/holds", "", as...), "data", 0)
	hides(s.Must(200, "POST", "/v1/transactions/h-1/capture?dry_run=true", `{}`, as...))
	hides(s.Must(200, "POST", "/v1/transactions/h-1/capture", `{}`, as...))
	hides(s.Must(200, "GET", "/v1/transactions/h-1", "", as...))
	hides(s.Must(200, "POST", "/v1/transactions/h-2/release", `{}`, as...))
	hides(s.Must(200, "POST", "/v1/transactions/d-1/reversals?dry_run=true", `{"id":"r-0","quantity":"7"}`, as...))
	hides(s.Must(201, "POST", "/v1/transactions/d-1/reversals", `{"id":"r-1","quantity":"7"}`, as...))
	place("h-3")
	hides(s.Must(200, "POST", "/v1/batches", `{"requests":[{"release":{"transaction":"h-3"}}]}`, as...), "results", 0, "body")
	hides(s.Must(201, "POST", "/v1/batches",
		`{"atomic":true,"requests":[{"reversal":{"transaction":"d-1","id":"r-3","quantity":"7"}}]}`, as...), "results", 0, "body")
	hides(s.Must(200, "GET", "/v1/transactions/d-1/reversals", "", as...), "data", 0)
	hides(s.Must(200, "GET", "/v1/transactions/d-1", "", as...))
	// The error has the reversible amounts of the user's own accounts only.
	left := s.Must(422, "POST", "/v1/transactions/d-1/reversals", `{"id":"r-2","quantity":"500000"}`, as...)
	if left.Code() != "exceeds_reversible" || left.Text("left", 0, "account") != "jane" ||
		strings.Contains(string(left.Body), "bank") {
		t.Errorf("refused with %s", left.Body)
	}
	// A forgotten cost of a posting is named only to those who see that posting.
	s.Must(201, "POST", "/v1/transactions", `{"id":"c-1","postings":[{"account":"jane","asset":"USD","quantity":"30"},`+
		`{"account":"bank","asset":"USD","quantity":"-30"},{"account":"shop","asset":"AAPL","quantity":"2","cost":"30"},`+
		`{"account":"market","asset":"AAPL","quantity":"-2","cost":"-30"}]}`)
	const unpriced = `"postings":[{"quantity":"3"},{"quantity":"-3"},{"quantity":"0"},{"quantity":"0"}]}`
	all := s.Must(422, "POST", "/v1/transactions/c-1/reversals", `{"id":"r-4",`+unpriced)
	if all.Code() != "cost_required" || fmt.Sprint(all.Fields()) != "[postings[2].cost postings[3].cost]" {
		t.Errorf("refused with %s", all.Body)
	}
	for _, forgot := range []caller.Reply{
		s.Must(422, "POST", "/v1/transactions/c-1/reversals", `{"id":"r-4",`+unpriced, as...),
		s.Must(422, "POST", "/v1/transactions/c-1/reversals?dry_run=true", `{"id":"r-4",`+unpriced, as...),
		s.Must(422, "POST", "/v1/batches", `{"atomic":true,"requests":[{"reversal":{"transaction":"c-1","id":"r-4",`+unpriced+`}]}`,
			as...),
	} {
		if forgot.Code() != "cost_required" || strings.Contains(string(forgot.Body), "postings[") {
			t.Errorf("refused with %s", forgot.Body)
		}
	}
	s.Must(200, "GET", "/v1/transactions/t-1", "").Shows(t, map[string]any{"hidden_postings": nil})
}

// A transaction names its newest reversals, as its list of reversals has them: a user sees no reversal of which all
// postings are hidden. Its ETag changes with what is shown. Replays of its posting stay as they were.
func TestReversalsThatAUserSees(t *testing.T) {
	t.Parallel()
	s := books(t)
	const body = `{"id":"two","postings":[{"account":"bank","asset":"USD","quantity":"-30"},` +
		`{"account":"jane","asset":"USD","quantity":"30"},{"account":"bank","asset":"USD","quantity":"-1"},` +
		`{"account":"shop","asset":"USD","quantity":"1"}]}`
	first := s.Must(201, "POST", "/v1/transactions", body)
	names := func(r caller.Reply) (ids []string) {
		t.Helper()
		all, ok := r.Value("reversals").([]any)
		if !ok {
			t.Errorf("no reversals: %s", r.Body)
		}
		for _, id := range all {
			ids = append(ids, id.(string))
		}
		return ids
	}
	get := func(headers ...string) caller.Reply {
		return s.Must(200, "GET", "/v1/transactions/two", "", headers...)
	}
	before := get()
	if ids := names(before); ids != nil {
		t.Errorf("reversed by %v", ids)
	}
	s.Must(201, "PUT", "/v1/accounts/shop/members/packer", `{"role":"viewer"}`)
	packer := get("Ledger-User", "packer")
	s.Must(201, "POST", "/v1/transactions/two/reversals", `{"id":"hidden","postings":[{"quantity":"-1"},{"quantity":"1"},`+
		`{"quantity":"0"},{"quantity":"0"}]}`)
	if after := get("Ledger-User", "packer"); !bytes.Equal(after.Body, packer.Body) ||
		after.Header.Get("ETag") != packer.Header.Get("ETag") {
		t.Errorf("a hidden reversal shows: %s, before %s", after.Body, packer.Body)
	}
	jane := []string{"hidden"} // the reversals that jane's users see
	for i := range 13 {
		id, part := fmt.Sprintf("back-%d", i), `"-1","1","0","0"`
		if i == 11 {
			part = `"0","0","-1","1"`
		} else {
			jane = append(jane, id)
		}
		var taken []string
		for _, quantity := range strings.Split(part, ",") {
			taken = append(taken, `{"quantity":`+quantity+`,"cost":"0"}`)
		}
		s.Must(201, "POST", "/v1/transactions/two/reversals", `{"id":"`+id+`","postings":[`+strings.Join(taken, ",")+`]}`)
	}
	slices.Reverse(jane)
	want := slices.Insert(slices.Clone(jane), 1, "back-11")
	for _, c := range []struct {
		user string // "" for a service
		want []string
	}{{"", want}, {"operator", jane}, {"via-viewer", jane}} {
		var as []string
		if c.user != "" {
			as = []string{"Ledger-User", c.user}
		}
		if ids := names(get(as...)); !slices.Equal(ids, c.want[:10]) {
			t.Errorf("%q sees %v, want %v", c.user, ids, c.want[:10])
		}
		page := s.Must(200, "GET", "/v1/transactions/two/reversals?limit=100", "", as...)
		for i, id := range c.want {
			page.Shows(t, map[string]any{fmt.Sprintf("data %d id", len(c.want)-1-i): id})
		}
		page.Shows(t, map[string]any{fmt.Sprintf("data %d", len(c.want)): nil, "data 0 reversals": nil})
	}
	if again := s.Must(200, "POST", "/v1/transactions", body); !bytes.Equal(again.Body, first.Body) {
		t.Errorf("the replay is %s", again.Body)
	}
	if after := get(); before.Header.Get("ETag") == after.Header.Get("ETag") {
		t.Error("the ETag did not change")
	}
}

// Users may not post backdated transactions, and not change their own role. Nor may they end holds of a service, which
// names the role that it needs.
func TestUserRestrictions(t *testing.T) {
	t.Parallel()
	s := books(t)
	s.Must(201, "POST", "/v1/transfers", `{"id":"h-1","from":"jane","to":"shop","asset":"USD","quantity":"5","hold":{}}`)
	const transfer = `"from":"jane","to":"shop","asset":"USD","quantity":"1"`
	const past = `"id":"e-1","effective_at":"2026-01-01T00:00:00Z"`
	for _, line := range []string{
		`POST /v1/transactions/h-1/release {}`,
		`POST /v1/batches {"atomic":true,"requests":[{"capture":{"transaction":"h-1"}}]}`,
		`POST /v1/transfers {` + past + `,` + transfer + `}`,
		`POST /v1/batches {"atomic":true,"requests":[{"transfer":{` + past + `,` + transfer + `}}]}`,
		`POST /v1/batches {"atomic":true,"requests":[{"reversal":{"transaction":"d-1",` + past + `}}]}`,
		`POST /v1/transactions/d-1/reversals {` + past + `}`,
		`PUT /v1/accounts/jane/members/owner {"role":"viewer"}`, `DELETE /v1/accounts/jane/members/owner`,
		`PUT /v1/groups/desk/members/via-owner {"role":"viewer"}`, `DELETE /v1/groups/desk/members/via-owner`,
	} {
		method, rest, _ := strings.Cut(line, " ")
		path, body, _ := strings.Cut(rest, " ")
		user := "owner"
		if strings.Contains(path, "via-owner") {
			user = "via-owner"
		}
		if r := s.Send(method, path, body, "Ledger-User", user); !isForbidden(r, "administrator") {
			t.Errorf("%s by %s: %d %s", line, user, r.Status, r.Body)
		}
	}
	s.Must(200, "DELETE", "/v1/accounts/jane/members/owner", "") // by an administrator
}

// A user's batch reads roles on about 200 accounts. What it ends or reverses counts as its postings, and as the largest
// transaction if the user may not see it, whether it exists or not. So the answer tells nothing of it.
func TestUsersBatchOfEndsIsLimited(t *testing.T) {
	t.Parallel()
	s := books(t)
	s.Must(201, "POST", "/v1/transfers", `{"id":"hidden","from":"bank","to":"shop","asset":"USD","quantity":"5"}`)
	for i := range 99 {
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"h-%d","from":"jane","to":"shop","asset":"USD","quantity":"1","hold":{}}`, i),
			"Ledger-User", "clerk")
	}
	send := func(from, to int, others ...string) caller.Reply {
		var requests []string
		for i, id := range others {
			requests = append(requests, fmt.Sprintf(`{"reversal":{"transaction":"%s","id":"r-%d"}}`, id, i))
		}
		for i := from; i < to; i++ {
			requests = append(requests, fmt.Sprintf(`{"release":{"transaction":"h-%d"}}`, i))
		}
		return s.Send("POST", "/v1/batches", `{"requests":[`+strings.Join(requests, ",")+`]}`, "Ledger-User", "operator")
	}
	all := func(r caller.Reply, refused, done int) {
		t.Helper()
		if got := r.Each("status", "results"); r.Status != 200 || len(got) != refused+done ||
			strings.Count(fmt.Sprint(got), "200") != done || strings.Count(fmt.Sprint(got), "422") != refused {
			t.Errorf("%v: %s", got, r.Body)
		}
	}
	tooLarge := func(r caller.Reply) {
		t.Helper()
		if r.Status != 422 || r.Code() != "batch_too_large" || fmt.Sprint(r.Fields()) != "[requests]" {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	for _, other := range []string{"hidden", "none"} {
		tooLarge(send(0, 54, other))
		tooLarge(send(0, 1, other, other, other, other))
		all(send(0, 1, other, other, other), 3, 1)
		all(send(0, 53, other), 1, 53)
	}
	tooLarge(send(0, 78))
	all(send(0, 77), 0, 77)
	s.Must(200, "GET", "/v1/transactions/h-76", "").Shows(t, map[string]any{"status": "released"})
	s.Must(200, "GET", "/v1/transactions/h-77", "").Shows(t, map[string]any{"status": "held"})
}
