// Package access tests authorization over HTTP: every route with every kind of caller and every role, the answers to
// callers without permission, and that a revocation applies to every later request.
// Only it sees each route with each role: a route that is new or changed, and open to the wrong caller.
package access

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/functions/access"
	"ledger.example/functions/api"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

// tokenHeader replaces a bearer token in these tests: "admin", or the id of a user.
const tokenHeader = "X-Token"

// callerOf authenticates requests: with tokenHeader as the bearer of a token, without it as a service.
func callerOf(r *http.Request) access.Caller {
	switch token := r.Header.Get(tokenHeader); token {
	case "":
		return access.Caller{Service: "service", Admin: true}
	case "admin":
		return access.Caller{Service: "https://id.example.com/#admin", Admin: true}
	default:
		return access.Caller{Service: "https://id.example.com/", User: token}
	}
}

// A callerKind is a kind of caller. as returns the headers with which it acts as a user.
type callerKind struct {
	name string
	as   func(user string) []string
}

var callerKinds = []callerKind{
	{"a service for a user", func(user string) []string { return []string{"Ledger-User", user} }},
	{"a token", func(user string) []string { return []string{tokenHeader, user} }},
	{"an administrator's token for a user", func(user string) []string {
		return []string{tokenHeader, "admin", "Ledger-User", user}
	}},
}

// books opens the account jane. The users viewer, operator and owner have these roles directly, and the users
// via-viewer, via-operator and via-owner through the group desk. The user clerk places holds.
func books(t *testing.T) *system.System {
	t.Helper()
	s := system.New(t, system.Calls(callerOf), system.Pumped)
	openRoles(s)
	return s
}

// openRoles opens what books has.
func openRoles(s *system.System) {
	s.OpenBooks()
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-2","from":"market","to":"jane","asset":"AAPL","quantity":"1000"}`)
	s.Must(201, "PUT", "/v1/groups/desk", `{"name":"Desk"}`)
	s.Must(201, "PUT", "/v1/groups/desk/accounts/jane", "")
	for _, role := range []string{"viewer", "operator", "owner"} {
		s.Must(201, "PUT", "/v1/accounts/jane/members/"+role, `{"role":"`+role+`"}`)
		s.Must(201, "PUT", "/v1/groups/desk/members/via-"+role, `{"role":"`+role+`"}`)
	}
	s.Must(201, "PUT", "/v1/accounts/jane/members/clerk", `{"role":"operator"}`)
	s.Must(201, "PUT", "/v1/accounts/jane/members/friend", `{"role":"viewer"}`)
	s.Must(201, "PUT", "/v1/groups/desk/members/friend", `{"role":"viewer"}`)
}

var roles = map[string]access.Role{
	"": access.None, "viewer": access.Viewer, "operator": access.Operator, "owner": access.Owner,
	"administrator": access.Administrator,
}

// roleOf returns the role of a user of books on the resource of a rule.
func roleOf(user string, of client.Subject) access.Role {
	name, through := strings.CutPrefix(user, "via-")
	if of == client.OnGroup && !through {
		return access.None
	}
	return roles[name]
}

// request returns a request to a route that succeeds with permission, and that is repeatable with another n. self is
// the user who calls.
func request(t *testing.T, s *system.System, r client.Operation, self string, n int) (method, path, body string) {
	t.Helper()
	id := fmt.Sprintf("n-%d", n)
	hold := func() {
		s.Must(201, "POST", "/v1/transfers", `{"id":"h-`+id+`","from":"jane","to":"shop","asset":"USD","quantity":"1",`+
			`"hold":{}}`, "Ledger-User", "clerk")
	}
	path = strings.NewReplacer("{account}", "jane", "{asset}", "USD", "{group}", "desk", "{id}", "t-1",
		"{user}", self).Replace(r.Path)
	transfer := `"from":"jane","to":"shop","asset":"USD","quantity":"1"`
	switch line := r.Method + " " + r.Path; {
	case r.Method == "GET" && strings.HasSuffix(r.Path, "/statement"):
		path += "?asset=GOLD&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z"
	case r.Method == "GET":
	case line == "PUT /v1/assets/{asset}":
		path, body = "/v1/assets/"+id, `{"name":"x","scale":0}`
	case line == "PUT /v1/accounts/{account}":
		path, body = "/v1/accounts/"+id, `{}`
	case line == "PUT /v1/groups/{group}":
		path, body = "/v1/groups/"+id, `{}`
	case line == "PUT /v1/periods/{number}":
		path, body = "/v1/periods/1", `{"closed_before":"2014-06-01T00:00:00Z","reason":"x"}`
	case line == "PATCH /v1/accounts/{account}":
		body = `{"name":"` + id + `"}`
	case strings.HasSuffix(r.Path, "/members/{user}"):
		path = strings.Replace(r.Path, "{user}", "friend", 1)
		path = strings.NewReplacer("{account}", "jane", "{group}", "desk").Replace(path)
		if r.Method == "PUT" {
			body = `{"role":"viewer"}`
		}
	case strings.HasSuffix(r.Path, "/groups/{group}/accounts/{account}"):
		path = "/v1/groups/desk/accounts/shop"
	case line == "POST /v1/transactions":
		body = `{"id":"` + id + `","postings":[{"account":"jane","asset":"USD","quantity":"-1"},` +
			`{"account":"shop","asset":"USD","quantity":"1"}]}`
	case line == "POST /v1/transfers":
		body = `{"id":"` + id + `",` + transfer + `}`
	case line == "POST /v1/trades":
		body = `{"id":"` + id + `","asset":"AAPL","buyer":"market","seller":"jane","quantity":"1","cost":"0"}`
	case line == "POST /v1/splits":
		body = `{"id":"` + id + `","asset":"USD","quantity":"2","from":"jane","to":[{"account":"shop","share":"50%"},{"account":"bank","rest":1}]}`
	case line == "POST /v1/batches":
		body = `{"atomic":true,"requests":[{"transfer":{"id":"` + id + `",` + transfer + `}}]}`
	case strings.HasSuffix(r.Path, "/capture"), strings.HasSuffix(r.Path, "/release"):
		hold()
		path, body = strings.Replace(r.Path, "{id}", "h-"+id, 1), `{}`
	case strings.HasSuffix(r.Path, "/reversals"):
		s.Must(201, "POST", "/v1/transfers", `{"id":"d-`+id+`","from":"bank","to":"jane","asset":"USD","quantity":"1"}`)
		path, body = strings.Replace(r.Path, "{id}", "d-"+id, 1), `{"id":"`+id+`"}`
	default:
		t.Fatalf("no request for %s: add one that succeeds", line)
	}
	return r.Method, path, body
}

// absent returns a path or a body of request with the ids of resources that do not exist.
func absent(text string) string {
	return someID.ReplaceAllString(text, "gone")
}

var someID = regexp.MustCompile(`\b(jane|desk|t-1|[hd]-n-[0-9]+)\b`)

// Every route with every role, by each kind of caller in turn. Without a role, a user gets the answer for a missing resource.
// With too weak a role, the answer names the required role. All other requests succeed.
func TestMatrix(t *testing.T) {
	t.Parallel()
	s := books(t)
	s.Must(201, "PUT", "/v1/accounts/secret", `{"overdraft":"unlimited"}`)
	s.Must(201, "PUT", "/v1/groups/vault", `{"name":"Vault"}`)
	s.Must(201, "PUT", "/v1/groups/vault/accounts/jane", "")
	s.Must(201, "PUT", "/v1/groups/vault/accounts/secret", "")
	s.Must(201, "POST", "/v1/transfers", `{"id":"s-1","from":"secret","to":"jane","asset":"USD","quantity":"7"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"s-2","from":"secret","to":"jane","asset":"USD","quantity":"7","hold":{}}`)
	s.Project()
	known, n := newKnown(s), 0
	users := []string{"stranger", "viewer", "operator", "owner", "via-viewer", "via-operator", "via-owner"}
	for at, r := range api.Operations() {
		if r.ID == "" { // public
			continue
		}
		name := r.Method + " " + r.Path
		var method, path, body string
		send := func(self string, headers ...string) caller.Reply {
			n++
			method, path, body = request(t, s, r, self, n)
			return s.Send(method, path, body, headers...)
		}
		for _, headers := range [][]string{nil, {tokenHeader, "admin"}} {
			if got := send("viewer", headers...); got.Status >= 300 {
				t.Errorf("%s by an administrator (%v): %d %s", name, headers, got.Status, got.Body)
			}
		}
		for i, user := range users {
			by := callerKinds[(i+at)%len(callerKinds)] // another for the same user of the next route
			got := send(user, by.as(user)...)
			has, needs := roleOf(user, r.May.On), roles[r.May.Role]
			var ok bool
			switch {
			case r.May.On == client.OnLedger:
				ok = isForbidden(got, "administrator")
			case has >= needs:
				ok = got.Status < 300
			case has > access.None:
				ok = isForbidden(got, r.May.Role)
			default:
				ok = isNotFound(got, r) && alike(got) == alike(s.Send(method, absent(path), absent(body), by.as(user)...))
			}
			if !ok {
				t.Errorf("%s by %s, %s: %d %s", name, user, by.name, got.Status, got.Body)
			}
			if at := known.unknownIn(got, path+body, user); at != "" {
				t.Errorf("%s tells %s, %s, of %s: %s", name, user, by.name, at, got.Body)
			}
		}
		if r.May.On == client.OnThemselves {
			if got := send("viewer", "Ledger-User", "owner"); !isForbidden(got, "administrator") {
				t.Errorf("%s of another user: %d %s", name, got.Status, got.Body)
			}
		}
	}
	t.Logf("%d requests", n)
}

func isForbidden(r caller.Reply, role string) bool {
	return r.Status == 403 && r.Code() == "forbidden" && r.Text("role") == role
}

// isNotFound reports whether an answer says that the resource of a rule does not exist.
func isNotFound(r caller.Reply, of client.Operation) bool {
	switch of.May.On {
	case client.OnAccount:
		return r.Status == 404 && r.Code() == "account_not_found"
	case client.OnGroup:
		return r.Status == 404 && r.Code() == "group_not_found"
	case client.OnDebited:
		return r.Status == 422 && r.Code() == "account_not_found"
	}
	return r.Status == 404 && r.Code() == "transaction_not_found"
}
