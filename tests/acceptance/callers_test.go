package acceptance

import (
	"testing"

	"ledger.example/tests/caller"
)

// A service that acts for a user sees only what the user's roles allow. Everything else does not exist for it.
func callersAndRoles(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(200, "GET", "/v1/me", "").Shows(t, map[string]any{"as": "administrator", "user": nil})
	as := []string{"Ledger-User", s.Prefix + "ann"}
	s.Must(200, "GET", "/v1/me", "", as...).Shows(t, map[string]any{"as": "user", "user": "~ann"})
	transfer := func(id string) string {
		return `{"id":"` + id + `","from":"~jane","to":"~shop","asset":"~USD","quantity":"50"}`
	}
	s.Must(404, "GET", "/v1/accounts/~jane", "", as...)
	s.Must(422, "POST", "/v1/transfers", transfer("~c-1"), as...)
	s.Must(201, "PUT", "/v1/accounts/~jane/members/~ann", `{"role":"viewer"}`)
	s.Must(200, "GET", "/v1/accounts/~jane", "", as...)
	s.Must(403, "POST", "/v1/transfers", transfer("~c-1"), as...).Shows(t,
		map[string]any{"code": "forbidden", "role": "operator"})
	s.Must(200, "PUT", "/v1/accounts/~jane/members/~ann", `{"role":"operator"}`)
	s.Must(201, "POST", "/v1/transfers", transfer("~c-1"), as...)
	s.Must(200, "GET", "/v1/transactions/~c-1", "", as...).Shows(t, map[string]any{"hidden_postings": 1.0})
	s.Must(200, "PUT", "/v1/accounts/~jane/members/~ann", `{"role":"owner"}`)
	s.Must(201, "PUT", "/v1/accounts/~jane/members/~bob", `{"role":"owner"}`, as...)
	s.Must(403, "DELETE", "/v1/accounts/~jane/members/~ann", "", as...)
	s.Must(200, "DELETE", "/v1/accounts/~jane/members/~ann", "", "Ledger-User", s.Prefix+"bob")
	s.Must(404, "DELETE", "/v1/accounts/~jane/members/~bob", "", as...)
	s.Must(422, "POST", "/v1/transfers", transfer("~c-2"), as...)
	s.Must(404, "GET", "/v1/transactions/~c-1", "", as...)
	s.Must(400, "GET", "/v1/me", "", "Ledger-User", "")
}
