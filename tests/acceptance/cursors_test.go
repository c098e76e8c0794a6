package acceptance

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Cursors that were altered, or that belong to another list.
func badCursors(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for i := range 4 {
		s.Must(201, "PUT", fmt.Sprint("/v1/accounts/~users:", i), `{}`)
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"~c-%d","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`, i))
	}
	next := func(path string) string {
		t.Helper()
		cursor, _ := s.Must(200, "GET", path, "").Value("next_cursor").(string)
		if cursor == "" || len(cursor) >= 1000 || url.QueryEscape(cursor) != cursor {
			t.Fatalf("%s goes on at %q", path, cursor)
		}
		return cursor
	}
	cursor := next("/v1/accounts?prefix=~users:&limit=2")
	var all []caller.Refusal
	add := func(name, path, cursor string) {
		all = append(all, caller.Refusal{
			Name: name, Method: "GET", Path: path + caller.Separator(path) + "cursor=" + url.QueryEscape(cursor), Status: 400, Code: "invalid_cursor", Fields: []string{"cursor"},
		})
	}
	const path = "/v1/accounts?prefix=~users:"
	for i := 0; i < len(cursor); i += 5 {
		other := byte('A')
		if cursor[i] == other {
			other = 'B'
		}
		add(fmt.Sprint("altered at ", i), path, cursor[:i]+string(other)+cursor[i+1:])
	}
	for name, altered := range map[string]string{
		"empty": "", "cut at the end": cursor[:len(cursor)-1], "cut in front": cursor[1:], "half": cursor[:len(cursor)/2], "longer": cursor + "A", "padded": cursor + "=", "twice": cursor + cursor,
		"a space": cursor + " ", "a line end": cursor + "\n", "NUL": cursor + "\x00", "an id": "~users:1", "a number": "2", "null": "null", "very long": strings.Repeat("A", 2000),
		"in standard base64": base64.StdEncoding.EncodeToString([]byte(cursor)), "in another case": strings.ToLower(cursor),
	} {
		add(name, path, altered)
	}
	history := next("/v1/accounts/~jane/postings?asset=~USD&limit=2")
	foreign := map[string]string{
		"/v1/accounts":                                                     cursor, // other filters
		"/v1/accounts?prefix=~users":                                       cursor,
		"/v1/accounts?prefix=~users:1":                                     cursor,
		"/v1/assets?prefix=~users:":                                        cursor, // other lists
		"/v1/accounts/~jane/balances":                                      cursor,
		"/v1/accounts/~jane/members":                                       cursor,
		"/v1/users/~jane/accounts":                                         cursor,
		"/v1/assets/~USD/holders":                                          cursor,
		"/v1/accounts/~jane/postings":                                      history,
		"/v1/accounts/~bank/postings?asset=~USD":                           history,
		"/v1/accounts/~jane/postings?asset=~AAPL":                          history,
		"/v1/accounts/~jane/postings?asset=~USD&from=2026-01-01T00:00:00Z": history,
		"/v1/accounts/~jane/postings?asset=~USD&to=2126-01-01T00:00:00Z":   history,
		"/v1/accounts/~jane/postings?asset=~USD&to=2126-01-01T00:00:00Z&consistency=strong":        history,
		"/v1/accounts/~jane/postings?asset=~USD&from=2026-01-01T00:00:00Z&to=2126-01-01T00:00:00Z": next("/v1/accounts/~jane/postings?asset=~USD&limit=2&from=2026-01-01T00:00:00Z&to=2126-01-01T00:00:01Z"),
		"/v1/accounts/~jane/postings?from=2026-01-01T00:00:00Z":                                    next("/v1/accounts/~jane/postings?limit=2&to=2126-01-01T00:00:00Z"),
	}
	for path, cursor := range foreign {
		add("foreign at "+path, path, cursor)
	}
	refuse(t, s, all)

	// limit and consistency are no filters, nor are the order and the spelling of parameters.
	for _, path := range []string{
		"/v1/accounts?prefix=~users:&limit=1&cursor=" + cursor, "/v1/accounts?cursor=" + cursor + "&prefix=~users%3A", "/v1/accounts?prefix=~users:&limit=100&cursor=" + cursor,
		"/v1/accounts/~jane/postings?asset=~USD&consistency=strong&cursor=" + history, "/v1/accounts/~jane/postings?cursor=" + history + "&limit=7&asset=~USD&consistency=eventual",
	} {
		s.Must(200, "GET", path, "")
	}
	from := next("/v1/accounts/~jane/postings?limit=1&from=2026-01-01T00:00:00Z")
	s.Must(200, "GET", "/v1/accounts/~jane/postings?from=2026-01-01T01:00:00.000%2B01:00&cursor="+from, "")
}
