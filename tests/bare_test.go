package tests

import (
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// What gateways never pass on as it came is refused as well: bodies that are no UTF-8, paths with encoded slashes, line
// ends and empty segments, and what browsers ask beforehand. All else that is wrong with a request is package acceptance's.
func TestRequestsThatNoGatewayPassesOn(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenBooks()
	const good = `{"id":"b-1","from":"bank","to":"jane","asset":"USD","quantity":"1"}`
	var all []caller.Refusal
	for name, body := range map[string]string{
		"UTF-16":                  "\xff\xfe{\x00}\x00",
		"bytes that are no UTF-8": strings.Replace(good, "b-1", "b-\xff", 1),
		"an overlong encoding":    strings.Replace(good, "b-1", "b-\xc0\xaf", 1),
		"a surrogate in UTF-8":    strings.Replace(good, "b-1", "b-\xed\xa0\x80", 1),
	} {
		all = append(all, caller.Refusal{Name: name, Path: "/v1/transfers", Body: body, Status: 400, Code: "malformed_body"})
	}
	for _, id := range []string{"a%2Fb", "a%0Ab", "%2F"} {
		all = append(all,
			caller.Refusal{Method: "PUT", Path: "/v1/accounts/" + id, Body: `{}`, Status: 400, Code: "invalid_request", Fields: []string{"account"}},
			caller.Refusal{Method: "DELETE", Path: "/v1/accounts/jane/members/" + id, Status: 400, Code: "invalid_request", Fields: []string{"user"}},
			caller.Refusal{Method: "GET", Path: "/v1/transactions/" + id, Status: 400, Code: "invalid_request", Fields: []string{"id"}},
		)
	}
	all = append(all,
		caller.Refusal{Method: "GET", Path: "//v1/assets", Status: 404, Code: "not_found"},
		caller.Refusal{Method: "OPTIONS", Path: "/v1/assets", Status: 405, Code: "method_not_allowed"},
	)
	s.refuses(t, all)
}

// What the caller calls a request is what the log calls it.
func TestRequestIDInTheLog(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.Must(201, "PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`, "X-Request-Id", "put-1")
	caller.Eventually(t, timeToLog, "the log has the request by its id", func() bool { return strings.Contains(s.log.String(), `"request_id":"put-1"`) })
}
