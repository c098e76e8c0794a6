package access

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ledger.example/tests/caller"
	"ledger.example/tests/system"
)

var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// alike formats an answer without its request id and the requested id, so that answers can be compared.
func alike(r caller.Reply, id string) string {
	body := requestID.ReplaceAllString(string(r.Body), "")
	headers := []string{}
	for _, name := range []string{"Content-Type", "Cache-Control", "ETag", "Retry-After", "Allow", "Location"} {
		headers = append(headers, r.Header.Get(name))
	}
	return strings.ReplaceAll(fmt.Sprint(r.Status, headers, body), id, "")
}

// A resource on which a user has no role gives exactly the same answer as a missing one, whether the request names it
// in the path or in the body. A service gets the same answer for a missing one.
func TestHiddenLooksMissing(t *testing.T) {
	t.Parallel()
	s := books(t)
	s.Must(201, "POST", "/v1/transfers", `{"id":"h-1","from":"jane","to":"shop","asset":"USD","quantity":"1","hold":{}}`,
		"Ledger-User", "clerk")
	transfer := func(from string) string {
		return `{"id":"x","from":"` + from + `","to":"shop","asset":"USD","quantity":"1"}`
	}
	for _, c := range []struct{ method, path, body, hidden, missing string }{
		{"GET", "/v1/accounts/#", "", "jane", "gone"},
		{"HEAD", "/v1/accounts/#", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/changes", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/summary", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/balances", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/balances?consistency=strong", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/balances/USD", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/balances/USD?at=2026-01-01T00:00:00Z", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/statement?asset=USD&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/postings", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/holds", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/members", "", "jane", "gone"},
		{"GET", "/v1/accounts/#/groups", "", "jane", "gone"},
		{"PUT", "/v1/accounts/#/members/friend", `{"role":"viewer"}`, "jane", "gone"},
		{"DELETE", "/v1/accounts/#/members/friend", "", "jane", "gone"},
		{"GET", "/v1/groups/#", "", "desk", "gone"},
		{"GET", "/v1/groups/#/members", "", "desk", "gone"},
		{"GET", "/v1/groups/#/balances", "", "desk", "gone"},
		{"DELETE", "/v1/groups/#/members/friend", "", "desk", "gone"},
		{"GET", "/v1/transactions/#", "", "t-1", "gone"},
		{"GET", "/v1/transactions/#/reversals", "", "t-1", "gone"},
		{"POST", "/v1/transactions/#/capture", `{}`, "h-1", "gone"},
		{"POST", "/v1/transactions/#/release", `{}`, "h-1", "gone"},
		{"POST", "/v1/transactions/#/reversals", `{"id":"r"}`, "d-1", "gone"},
		{"POST", "/v1/transfers", transfer("#"), "jane", "gone"},
		{"POST", "/v1/transfers?dry_run=true", transfer("#"), "jane", "gone"},
		{"POST", "/v1/trades", `{"id":"x","asset":"AAPL","buyer":"shop","seller":"#","quantity":"1","cost":"0"}`, "jane", "gone"},
		{"POST", "/v1/transactions", `{"id":"x","postings":[{"account":"#","asset":"USD","quantity":"-1"},` +
			`{"account":"#","asset":"USD","quantity":"1"}]}`, "jane", "gone"},
		{"POST", "/v1/batches", `{"requests":[{"transfer":` + transfer("#") + `}]}`, "jane", "gone"},
		{"POST", "/v1/batches", `{"atomic":true,"requests":[{"transfer":` + transfer("#") + `}]}`, "jane", "gone"},
		{"POST", "/v1/batches", `{"requests":[{"capture":{"transaction":"#"}}]}`, "h-1", "gone"},
		{"POST", "/v1/batches?dry_run=true", `{"requests":[{"release":{"transaction":"#"}}]}`, "h-1", "gone"},
		{"POST", "/v1/batches", `{"requests":[{"reversal":{"transaction":"#","id":"r"}}]}`, "d-1", "gone"},
		{"POST", "/v1/batches", `{"atomic":true,"requests":[{"capture":{"transaction":"#"}}]}`, "h-1", "gone"},
		{"POST", "/v1/batches", `{"atomic":true,"requests":[{"release":{"transaction":"#"}}]}`, "h-1", "gone"},
		{"POST", "/v1/batches", `{"atomic":true,"requests":[{"reversal":{"transaction":"#","id":"r"}}]}`, "d-1", "gone"},
	} {
		answer := func(id string, headers ...string) string {
			fill := func(text string) string { return strings.ReplaceAll(text, "#", id) }
			return alike(s.Send(c.method, fill(c.path), fill(c.body), headers...), id)
		}
		hidden, missing := answer(c.hidden, "Ledger-User", "stranger"), answer(c.missing, "Ledger-User", "stranger")
		if service := answer(c.missing); hidden != missing || hidden != service {
			t.Errorf("%s %s: answers differ:\nhidden: %s\nmissing: %s\nmissing, to a service: %s", c.method, c.path, hidden, missing,
				service)
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
	s.Must(200, "GET", "/v1/transactions/t-1", "").Shows(t, map[string]any{"hidden_postings": nil})
}

// Users may end only holds that a user placed, reverse only transactions whose reversal debits their accounts, and not
// post backdated transactions or change their own role.
func TestUserRestrictions(t *testing.T) {
	t.Parallel()
	s := books(t)
	forbid := func(role, method, path, body, user string) {
		t.Helper()
		if r := s.Send(method, path, body, "Ledger-User", user); !isForbidden(r, role) {
			t.Errorf("%s %s %s by %s: %d %s", method, path, body, user, r.Status, r.Body)
		}
	}
	s.Must(201, "POST", "/v1/transfers", `{"id":"h-1","from":"jane","to":"shop","asset":"USD","quantity":"5","hold":{}}`)
	forbid("administrator", "POST", "/v1/transactions/h-1/release", `{}`, "owner")
	forbid("administrator", "POST", "/v1/transactions/h-1/capture", `{}`, "owner")
	alone := func(kind, fields string) string {
		return `{"atomic":true,"requests":[{"` + kind + `":{` + fields + `}}]}`
	}
	forbid("administrator", "POST", "/v1/batches", alone("release", `"transaction":"h-1"`), "owner")
	forbid("administrator", "POST", "/v1/batches", alone("capture", `"transaction":"h-1"`), "owner")
	s.Must(201, "POST", "/v1/transfers", `{"id":"h-2","from":"jane","to":"shop","asset":"USD","quantity":"5","hold":{}}`,
		"Ledger-User", "clerk")
	s.Must(201, "PUT", "/v1/accounts/shop/members/payee", `{"role":"owner"}`)
	forbid("operator", "POST", "/v1/transactions/h-2/capture", `{}`, "payee")
	forbid("operator", "POST", "/v1/batches", alone("capture", `"transaction":"h-2"`), "payee")
	s.Must(200, "POST", "/v1/transactions/h-2/capture", `{}`, "Ledger-User", "operator")
	// The payer cannot reverse a payment. The payee can.
	forbid("operator", "POST", "/v1/transactions/h-2/reversals", `{"id":"r-1"}`, "clerk")
	forbid("operator", "POST", "/v1/batches", alone("reversal", `"transaction":"h-2","id":"r-1"`), "clerk")
	s.Must(201, "POST", "/v1/transactions/h-2/reversals", `{"id":"r-1"}`, "Ledger-User", "payee")
	// An open hold may be captured before the reversal is processed, so the same role is required.
	s.Must(201, "POST", "/v1/transfers", `{"id":"h-3","from":"jane","to":"shop","asset":"USD","quantity":"5","hold":{}}`)
	forbid("operator", "POST", "/v1/transactions/h-3/reversals", `{"id":"r-2"}`, "clerk")

	const past = `"from":"jane","to":"shop","asset":"USD","quantity":"1","effective_at":"2026-01-01T00:00:00Z"}`
	forbid("administrator", "POST", "/v1/transfers", `{"id":"e-1",`+past, "owner")
	forbid("administrator", "POST", "/v1/batches", `{"atomic":true,"requests":[{"transfer":{"id":"e-1",`+past+`}]}`, "owner")
	forbid("administrator", "POST", "/v1/batches",
		alone("reversal", `"transaction":"d-1","id":"e","effective_at":"2026-01-01T00:00:00Z"`), "owner")
	forbid("administrator", "POST", "/v1/transactions/d-1/reversals", `{"id":"e","effective_at":"2026-01-01T00:00:00Z"}`,
		"owner")

	for _, of := range []struct{ path, user string }{{"/v1/accounts/jane", "owner"}, {"/v1/groups/desk", "via-owner"}} {
		forbid("administrator", "PUT", of.path+"/members/"+of.user, `{"role":"viewer"}`, of.user)
		forbid("administrator", "DELETE", of.path+"/members/"+of.user, "", of.user)
		s.Must(200, "DELETE", of.path+"/members/"+of.user, "") // by an administrator
	}
}
