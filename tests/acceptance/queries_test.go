package acceptance

import (
	"net/url"
	"testing"

	"ledger.example/tests/caller"
)

// Parameters that are wrong, unknown, repeated, or not offered.
func badQueries(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	lists := []string{
		"/v1/assets", "/v1/assets/~USD/holders", "/v1/accounts", "/v1/accounts/~jane/balances", "/v1/accounts/~jane/postings", "/v1/accounts/~jane/members", "/v1/users/~u-1/accounts",
	}
	things := []string{"/v1/assets/~USD", "/v1/accounts/~jane", "/v1/transactions/~t-1"}
	var all []caller.Refusal
	add := func(path string, fields ...string) {
		all = append(all, caller.Refusal{Method: "GET", Path: path, Status: 400, Code: "invalid_request", Fields: fields})
	}
	for _, limit := range []string{"1000", "", "x", "1.5", "1e1", "01", "%2B1", "+1", "0x1", "99999999999999999999", "%00", "١"} {
		add("/v1/assets?limit="+limit, "limit")
	}
	for _, list := range lists {
		add(list+"?limit=0", "limit")
		add(list+"?limit=101&cursor=x&cursor=x&newest=1", "limit", "cursor", "newest")
	}
	for _, list := range lists[:2] {
		add(list+"?limit=-1", "limit")
		add(list+"?limit", "limit")
		add(list+"?limit=1&limit=1", "limit")
		add(list+"?limit=1&limit=0", "limit")
		add(list+"?limit=1&x=1&y=2&limit=2", "x", "y", "limit")
		add(list+"?Limit=1", "Limit")
		add(list+"?limit=1;cursor=x", "limit")
		add(list+"?limit=%zz", "limit")
		add(list+"?%zz=1", "%zz")
		add(list+"?cursor=x&cursor=x", "cursor")
		add(list+"?newest=1", "newest")
	}
	for _, path := range append(things, "/v1/accounts/~jane/summary", "/v1/assets", "/v1/assets/~USD/holders", "/v1/accounts", "/v1/accounts/~jane/members", "/v1/users/~u-1/accounts") {
		for _, value := range []string{"strong", ""} {
			add(path+"?consistency="+value, "consistency")
		}
	}
	for _, value := range []string{"strong", "eventual", "x"} {
		add("/v1/accounts/~jane/postings?consistency="+value, "consistency")
		add("/v1/accounts/~jane/postings?limit=5&consistency="+value, "consistency")
	}
	for _, path := range []string{"/v1/accounts/~jane/balances/~USD", "/v1/accounts/~jane/balances", "/v1/accounts/~jane/postings?asset=~USD"} {
		for _, value := range []string{"", "Strong", "STRONG", "x", "strong,eventual", "strong%00"} {
			add(path+caller.Separator(path)+"consistency="+value, "consistency")
		}
		add(path+caller.Separator(path)+"consistency=strong&consistency=strong", "consistency")
		add(path+caller.Separator(path)+"consistency=strong&consistency=eventual", "consistency")
	}
	for _, thing := range things {
		add(thing+"?limit=1&cursor=1&prefix=1&asset=1&from=1&to=1&newest=1&pretty=1", "limit", "cursor", "prefix", "asset", "from", "to", "newest", "pretty")
		add(thing+"?pretty", "pretty")
	}
	for _, newest := range []string{"-1", "101", "", "x", "1.0"} {
		add("/v1/accounts/~jane/summary?newest="+newest, "newest")
	}
	add("/v1/accounts/~jane/summary?newest=1&newest=1", "newest")
	add("/v1/accounts/~jane/summary?limit=1&cursor=x", "limit", "cursor")
	for _, time := range []string{
		"", "now", "2026-11-21", "2026-11-21T09:00:00", "2026-11-21 09:00:00Z", "2026-11-21T09:00Z", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-21T24:00:01Z",
		"2026-11-21T09:00:00+01:00", "2026-11-21T09:00:00%2B1:00", "2026-11-21T9:00:00Z", "1763716000", "2026-11-21T09:00:00Z%00",
	} {
		add("/v1/accounts/~jane/postings?from="+url.PathEscape(time), "from")
		add("/v1/accounts/~jane/postings?asset=~USD&to="+url.PathEscape(time)+"&from=2026-11-21T09:00:00Z", "to")
	}
	add("/v1/accounts/~jane/postings?asset=", "asset")
	add("/v1/accounts/~jane/postings?asset=&consistency=strong", "asset")
	add("/v1/accounts/~jane/postings?asset=~USD&asset=~AAPL", "asset")
	add("/v1/accounts/~jane/postings?prefix=a", "prefix")
	add("/v1/assets?asset=~USD", "asset")
	for _, write := range []caller.Refusal{
		{Method: "PUT", Path: "/v1/assets/~EUR?dry_run=true", Body: `{"name":"Euro","scale":2}`, Fields: []string{"dry_run"}},
		{Method: "PUT", Path: "/v1/accounts/~joe?limit=1", Body: `{}`, Fields: []string{"limit"}},
		{Method: "PUT", Path: "/v1/accounts/~jane/members/~u-1?role=owner", Body: `{"role":"viewer"}`, Fields: []string{"role"}},
		{Method: "DELETE", Path: "/v1/accounts/~jane/members/~u-1?role=owner", Fields: []string{"role"}},
		{Path: "/v1/transfers?id=~q-1&consistency=strong", Body: `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`, Fields: []string{"id", "consistency"}},
	} {
		write.Status, write.Code = 400, "invalid_request"
		all = append(all, write)
	}
	refuse(t, s, all)
	s.Must(200, "GET", "/healthz?probe=1&probe=2", "") // not under /v1
	s.Must(200, "GET", "/v1/assets?", "")
}
