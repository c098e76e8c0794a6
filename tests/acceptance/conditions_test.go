package acceptance

import (
	"bytes"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

// A PUT with If-None-Match: * creates, or gets 412 and writes nothing, whatever its body says. Any other conditional
// header of a write is a fault among all others. For periods, see closedPeriods.
func conditions(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	onlyNew := []string{"If-None-Match", "*"}
	s.Must(201, "PUT", "/v1/groups/~new-desk", `{}`, onlyNew...)
	for _, c := range []struct{ path, body, other, shown string }{
		{"/v1/assets/~NEW", `{"name":"New","scale":2}`, `{"name":"Other","scale":0}`, "/v1/assets/~NEW"},
		{"/v1/accounts/~new", `{"name":"New"}`, `{"name":"Other"}`, "/v1/accounts/~new"},
		{"/v1/groups/~new", `{"name":"New"}`, `{"name":"Other"}`, "/v1/groups/~new"},
		{"/v1/accounts/~jane/members/~u-1", `{"role":"viewer"}`, `{"role":"owner"}`, "/v1/accounts/~jane/members"},
		{"/v1/groups/~new-desk/members/~u-1", `{"role":"viewer"}`, `{"role":"owner"}`, "/v1/groups/~new-desk/members"},
		{"/v1/groups/~new-desk/accounts/~jane", "", "", "/v1/groups/~new-desk/accounts"},
	} {
		made := s.Must(201, "PUT", c.path, c.body, onlyNew...)
		for _, body := range []string{c.body, c.other, c.body} {
			refused := s.Must(412, "PUT", c.path, body, onlyNew...)
			refused.Shows(t, map[string]any{"code": "precondition_failed", "errors": nil})
			caller.CheckProblem(t, refused)
		}
		if same := s.Must(200, "PUT", c.path, c.body); !bytes.Equal(same.Body, made.Body) {
			t.Errorf("%s is now %s, was %s", c.path, same.Body, made.Body)
		}
		if strings.Contains(c.path, "/members/") || strings.Contains(c.path, "/accounts/~jane") {
			// What was revoked or taken out is absent.
			s.Must(200, "DELETE", c.path, "")
			s.Must(201, "PUT", c.path, c.body, onlyNew...)
			s.Must(412, "PUT", c.path, c.body, onlyNew...)
		}
	}
	// A changed account exists, too. So does one whose current body is sent.
	changed := s.Must(200, "PATCH", "/v1/accounts/~new", `{"name":"Changed"}`, "If-Match", `"1"`)
	s.Must(412, "PUT", "/v1/accounts/~new", string(changed.Body), onlyNew...)
	refuseAll(t, s, "conditions.txt")
	unsupported(t, s)
}

// unsupported sends the conditional headers that writes do not support.
func unsupported(t *testing.T, s *caller.Caller) {
	for _, write := range []struct{ request, body string }{
		{"PUT /v1/assets/~USD", `{"name":"US dollar","scale":2}`}, {"PUT /v1/accounts/~jane", `{}`},
		{"PATCH /v1/accounts/~jane", `{"state":"frozen"}`}, {"PUT /v1/groups/~new", `{}`}, {"PUT /v1/groups/~new/accounts/~jane", ""},
		{"DELETE /v1/groups/~new/accounts/~jane", ""}, {"PUT /v1/groups/~new/members/~u-9", `{"role":"viewer"}`},
		{"DELETE /v1/groups/~new/members/~u-1", ""}, {"PUT /v1/accounts/~jane/members/~u-9", `{"role":"viewer"}`},
		{"DELETE /v1/accounts/~jane/members/~u-1", ""}, {"PUT /v1/periods/1", `{"closed_before":"2014-06-01T00:00:00Z","reason":"r"}`},
		{"POST /v1/transactions", `{"postings":[{"account":"~bank","asset":"~USD","quantity":"-1"},{"account":"~jane","asset":"~USD","quantity":"1"}]}`},
		{"POST /v1/transfers", `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`},
		{"POST /v1/transfers?dry_run=true", `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`},
		{"POST /v1/trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"0"}`},
		{"POST /v1/transfers", `{"asset":"~USD","up_to":"1","from":"~bank","to":"~jane"}`},
		{"POST /v1/splits", `{"asset":"~USD","quantity":"1","from":"~bank","to":[{"account":"~jane","rest":1}]}`},
		{"POST /v1/batches", `{"requests":[{"release":{"transaction":"~none"}}]}`}, {"POST /v1/transactions/~none/capture", `{}`},
		{"POST /v1/transactions/~none/release", `{}`}, {"POST /v1/transactions/~none/reversals", `{}`},
	} {
		method, path, _ := strings.Cut(write.request, " ")
		for _, header := range []string{"If-Match", "If-None-Match", "If-Unmodified-Since"} {
			for _, value := range []string{"*", `"1"`, `*, "1"`, "", "Sat, 21 Nov 2026 09:00:00 GMT"} {
				isTaken := method == "PUT" && header == "If-None-Match" && value == "*" || method == "PATCH" && header == "If-Match"
				if isTaken {
					continue
				}
				s.Refuse(t, caller.Refusal{Method: method, Path: path, Body: write.body, Headers: []string{header, value},
					Status: 400, Code: "invalid_request", Fields: []string{header}})
			}
		}
	}
}
