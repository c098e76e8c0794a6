package acceptance

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
)

// Lists of assets and accounts are in byte order of their ids, filtered by prefix, in pages.
func listsByPrefix(t *testing.T, s *caller.Caller) {
	ids := []string{"~a", "~a-1", "~a.1", "~a1", "~a:1", "~a:10", "~a:2", "~a@1", "~a_1", "~aa", "~ab", "~B", "~b",
		"~users", "~users:alice", "~users:alice:cash", "~users:bob", "~usersx", "~0"}
	for _, id := range ids {
		s.Must(201, "PUT", "/v1/accounts/"+id, `{"name":"N","profile":{"k":"v"},"overdraft":"unlimited"}`)
		s.Must(201, "PUT", "/v1/assets/"+id, `{"name":"N","scale":1}`)
	}
	slices.Sort(ids)
	for _, list := range []string{"/v1/accounts", "/v1/assets"} {
		caller.Eventually(t, timeToProject, "the index has all "+list,
			func() bool { return len(s.All(list+"?prefix=~", 100)) == len(ids) })
	}
	for _, prefix := range []string{"~", "~a", "~a:1", "~users:", "~B", "~c"} {
		want := []string{}
		for _, id := range ids {
			if strings.HasPrefix(id, prefix) {
				want = append(want, id)
			}
		}
		for _, list := range []string{"/v1/accounts", "/v1/assets"} {
			path := list + "?prefix=" + prefix
			for _, limit := range []int{4, 100} {
				if got := caller.Column(s.All(path, limit), "id"); !slices.Equal(got, want) {
					t.Errorf("%s with limit %d: %q, want %q", path, limit, got, want)
				}
			}
		}
	}
	// The default limit is twenty items. No id begins with a prefix of maximum length.
	s.Must(201, "PUT", "/v1/accounts/~z", `{}`)
	for _, path := range []string{"/v1/accounts", "/v1/accounts?prefix=~"} {
		caller.Eventually(t, timeToProject, "the index has twenty accounts",
			func() bool { return len(s.Must(200, "GET", path, "").Each("id", "data")) == 20 })
	}
	if got := s.All("/v1/accounts?prefix="+strings.Repeat("a", 64), 1); len(got) != 0 {
		t.Errorf("prefix of maximum length: %v", got)
	}
	listed := s.All("/v1/accounts?prefix=~users:bob", 1)[0]
	if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got,
		[]string{"created_at", "id", "name", "overdraft", "state", "version"}) || listed["overdraft"] != "unlimited" {
		t.Errorf("an account is listed as %v", listed)
	}
	asset := s.All("/v1/assets?prefix=~users:bob", 1)[0]
	one := s.Must(200, "GET", "/v1/assets/~users:bob", "")
	asset["actor"] = one.Value("actor") // lists omit it
	if got, _ := json.Marshal(asset); !sameJSON(got, one.Body) {
		t.Errorf("an asset is listed as %s, and read as %s", got, one.Body)
	}
}

func sameJSON(a, b []byte) bool {
	left, right := caller.Reply{Body: a}.Value(), caller.Reply{Body: b}.Value()
	return left != nil && reflect.DeepEqual(left, right)
}

// Holders of an asset are the accounts that have or had postings in it, in order of their ids.
func holders(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for _, id := range []string{"~Zoe", "~amy", "~bob", "~carl"} {
		s.Must(201, "PUT", "/v1/accounts/"+id, `{}`)
		s.Must(201, "POST", "/v1/trades",
			fmt.Sprintf(`{"id":"%s:buys","asset":"~AAPL","buyer":%[1]q,"seller":"~market","quantity":"5","cost":"50"}`,
				id))
	}
	s.Must(201, "POST", "/v1/trades",
		`{"id":"~sell","asset":"~AAPL","buyer":"~market","seller":"~bob","quantity":"5","cost":"60"}`)
	projected(s, "~Zoe", "~amy", "~bob", "~carl", "~jane", "~market")
	caller.Eventually(t, timeToProject, "the index has all holders",
		func() bool { return len(s.All("/v1/assets/~AAPL/holders", 100)) == 6 })
	for _, limit := range []int{1, 2, 100} {
		holders := s.All("/v1/assets/~AAPL/holders", limit)
		if got := caller.Column(holders, "account"); !slices.Equal(got,
			[]string{"~Zoe", "~amy", "~bob", "~carl", "~jane", "~market"}) {
			t.Fatalf("holders are %q", got)
		}
		if got := caller.Column(holders, "quantity"); !slices.Equal(got, []string{"5", "5", "0", "5", "10", "-25"}) {
			t.Errorf("they hold %q", got)
		}
		if got := caller.Column(holders, "net_expenditure"); !slices.Equal(got,
			[]string{"50", "50", "-10", "50", "150000", "-150140"}) {
			t.Errorf("they spent %q", got)
		}
		one := s.Must(200, "GET", "/v1/accounts/~bob/balances/~AAPL", "")
		if got, _ := json.Marshal(holders[2]); !sameJSON(got, one.Body) {
			t.Errorf("listed as %s, read as %s", got, one.Body)
		}
	}
	if got := s.All("/v1/assets/~GOLD/holders", 5); len(got) != 0 {
		t.Errorf("holders of an asset without postings: %v", got)
	}
}

// Accounts can be listed by the metadata that they have now, filtered by prefix, in pages.
func listsByMetadata(t *testing.T, s *caller.Caller) {
	const gold, silver = `{"metadata":{"order":"~gold#1","note":"n"}}`, `{"metadata":{"order":"~silver"}}`
	for id, body := range map[string]string{
		"~a:1": gold, "~a:2": silver, "~a:3": `{}`, "~b:1": gold, "~b:2": gold, "~b:3": `{"metadata":{"note":"~gold#1"}}`,
	} {
		s.Must(201, "PUT", "/v1/accounts/"+id, body)
	}
	const byGold, bySilver = "/v1/accounts?metadata.order=~gold%231", "/v1/accounts?metadata.order=~silver"
	check := func(path string, want ...string) {
		t.Helper()
		for _, limit := range []int{1, 2, 100} {
			caller.Eventually(t, timeToProject, fmt.Sprintf("%s lists %q", path, want), func() bool {
				return slices.Equal(caller.Column(s.All(path, limit), "id"), want)
			})
		}
	}
	check(byGold, "~a:1", "~b:1", "~b:2")
	check(byGold+"&prefix=~b:", "~b:1", "~b:2")
	check("/v1/accounts?prefix=~b:1&metadata.order=~gold%231", "~b:1")
	check(byGold + "&prefix=~c")
	check(bySilver, "~a:2")
	check("/v1/accounts?metadata.order=~gold")
	found := s.Must(200, "GET", byGold+"&limit=1", "")
	if got := fmt.Sprint(found.Value("data", 0, "metadata")); !strings.Contains(got, "note:n") {
		t.Errorf("listed with the metadata %s", got)
	}
	if cursor := found.Text("next_cursor"); cursor != "" {
		for _, path := range []string{bySilver, "/v1/accounts", byGold + "&prefix=~a", "/v1/accounts?prefix=~a"} {
			r := s.Send("GET", path+caller.Separator(path)+"cursor="+cursor, "")
			if r.Status != 400 || r.Code() != "invalid_cursor" {
				t.Errorf("a cursor of another query, at %s: %d %s", path, r.Status, r.Body)
			}
		}
	}

	s.Must(200, "PATCH", "/v1/accounts/~a:1", silver)
	s.Must(200, "PATCH", "/v1/accounts/~b:1", `{"metadata":{}}`)
	s.Must(200, "PATCH", "/v1/accounts/~b:2", `{"name":"B"}`)
	s.Must(200, "PATCH", "/v1/accounts/~a:3", gold)
	check(byGold, "~a:3", "~b:2")
	check(bySilver, "~a:1", "~a:2")
	s.Must(200, "PATCH", "/v1/accounts/~b:1", gold)
	check(byGold, "~a:3", "~b:1", "~b:2")
	if page := s.Must(200, "GET", bySilver, ""); strings.Contains(string(page.Body), "profile") {
		t.Errorf("a list shows profiles: %s", page.Body)
	}
}

// Altered cursors, and cursors of another list, are refused.
func badCursors(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for i := range 4 {
		s.Must(201, "PUT", fmt.Sprint("/v1/accounts/~users:", i), `{}`)
		s.Must(201, "POST", "/v1/transfers",
			fmt.Sprintf(`{"id":"~c-%d","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`, i))
	}
	next := func(path string) string {
		t.Helper()
		cursor, _ := s.Must(200, "GET", path, "").Value("next_cursor").(string)
		if cursor == "" || len(cursor) >= 1000 || url.QueryEscape(cursor) != cursor {
			t.Fatalf("%s has the cursor %q", path, cursor)
		}
		return cursor
	}
	cursor := next("/v1/accounts?prefix=~users:&limit=2")
	var all []caller.Refusal
	add := func(name, path, cursor string) {
		all = append(all, refusal(name, "GET "+path+caller.Separator(path)+"cursor="+url.QueryEscape(cursor), "",
			400, "invalid_cursor", "cursor"))
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
		"empty": "", "truncated": cursor[:len(cursor)-1], "without its first character": cursor[1:],
		"half of it": cursor[:len(cursor)/2], "longer": cursor + "A", "padded": cursor + "=", "twice": cursor + cursor,
		"a space": cursor + " ", "a line end": cursor + "\n", "NUL": cursor + "\x00", "an id": "~users:1",
		"a number": "2", "null": "null", "very long": strings.Repeat("A", 2000),
		"in standard base64": base64.StdEncoding.EncodeToString([]byte(cursor)),
		"in another case":    strings.ToLower(cursor),
	} {
		add(name, path, altered)
	}
	history := next("/v1/accounts/~jane/postings?asset=~USD&limit=2")
	const statement = "/v1/accounts/~jane/statement?asset=~USD&from=2020-01-01T00:00:00Z&to="
	began, later := "2021-01-01T00:00:00Z", url.QueryEscape(time.Now().UTC().Format(time.RFC3339Nano))
	of := next(statement + later + "&limit=2")
	foreign := map[string]string{
		statement + began: of,
		"/v1/accounts/~bank/statement?asset=~USD&from=2020-01-01T00:00:00Z&to=" + later:  of,
		"/v1/accounts/~jane/statement?asset=~AAPL&from=2020-01-01T00:00:00Z&to=" + later: of,
		"/v1/accounts/~jane/statement?asset=~USD&from=2020-01-01T00:00:01Z&to=" + later:  of,
		"/v1/accounts/~jane/postings?from=2020-01-01T00:00:00Z":                          of,
		"/v1/accounts/~jane/balances?at=" + began:                                        of,
		"/v1/accounts":                                                     cursor, // other filters
		"/v1/accounts?prefix=~users":                                       cursor,
		"/v1/accounts?prefix=~users:1":                                     cursor,
		"/v1/assets?prefix=~users:":                                        cursor, // other lists
		"/v1/accounts/~jane/balances":                                      cursor,
		"/v1/accounts/~jane/members":                                       cursor,
		"/v1/accounts/~jane/rates":                                         cursor,
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
	caller.Eventually(t, timeToProject, "a second page of transactions exists", func() bool {
		return s.Must(200, "GET", "/v1/transactions?limit=1", "").Value("next_cursor") != nil
	})
	listed, journal := next("/v1/transactions?limit=1"), next("/v1/journal")
	for _, query := range []string{"order=asc", "metadata.order=1", "to=2020-01-01T00:00:00Z"} {
		foreign["/v1/transactions?"+query] = listed
	}
	foreign["/v1/transactions"] = journal
	for path, cursor := range foreign {
		add("foreign at "+path, path, cursor)
	}
	all = append(all, refusal("a cursor of a list, for the journal", "GET /v1/journal?after="+listed, "", 400,
		"invalid_cursor", "after"))
	refuse(t, s, all)

	// limit, consistency, and the order and spelling of parameters may change between pages.
	for _, path := range []string{
		"/v1/accounts?prefix=~users:&limit=1&cursor=" + cursor, "/v1/accounts?cursor=" + cursor + "&prefix=~users%3A",
		"/v1/accounts?prefix=~users:&limit=100&cursor=" + cursor,
		"/v1/accounts/~jane/postings?asset=~USD&consistency=strong&cursor=" + history,
		"/v1/accounts/~jane/postings?cursor=" + history + "&limit=7&asset=~USD&consistency=eventual",
		"/v1/transactions?order=desc&cursor=" + listed, "/v1/journal?limit=1&after=" + journal,
	} {
		s.Must(200, "GET", path, "")
	}
	from := next("/v1/accounts/~jane/postings?limit=1&from=2026-01-01T00:00:00Z")
	s.Must(200, "GET", "/v1/accounts/~jane/postings?from=2026-01-01T01:00:00.000%2B01:00&cursor="+from, "")
}
