package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/caller"
)

// A history comes newest first, in pages of any size, within bounds of time of which the first is included and the last
// is not; over all assets through the index, and of one asset also strongly.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	s.Must(201, "POST", "/v1/transactions", `{"id":"swap","postings":[{"account":"jane","asset":"AAPL","quantity":"-1","cost":"-5"},{"account":"jane","asset":"USD","quantity":"-3"},{"account":"jane","asset":"AAPL","quantity":"1","cost":"5"},{"account":"bank","asset":"USD","quantity":"3"}]}`)
	for i := range 6 {
		id := fmt.Sprint("h-", i)
		asset := []string{"USD", "AAPL", "USD"}[i%3]
		from := map[string]string{"USD": "bank", "AAPL": "market"}[asset]
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":"jane","asset":%q,"quantity":"%d","description":"number %[4]d"}`, id, from, asset, i+1))
	}

	everything := s.All("/v1/accounts/jane/postings", 100)
	// Of one transaction, too, the posting minted last comes first.
	want := []string{"h-5", "h-4", "h-3", "h-2", "h-1", "h-0", "swap", "swap", "swap", "t-1", "t-1", "d-1"}
	if got := caller.Column(everything, "transaction"); !slices.Equal(got, want) {
		t.Fatalf("history is %q", got)
	}
	keys := caller.Column(everything, "id")
	if !slices.IsSortedFunc(keys, func(a, b string) int { return strings.Compare(b, a) }) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("postings are %q", keys)
	}
	first := everything[0]
	at, _ := first["posted_at"].(string)
	delete(first, "id")
	if got := fmt.Sprint(first); got != fmt.Sprintf("map[account:jane asset:USD cost:0 description:number 6 kind:transfer posted_at:%s quantity:6 transaction:h-5]", at) {
		t.Errorf("the newest posting is %s", got)
	}
	everything = s.All("/v1/accounts/jane/postings", 100)

	lists := map[string]string{
		"": "", "?asset=USD": "USD", "?asset=USD&consistency=strong": "USD", "?asset=AAPL&consistency=eventual": "AAPL", "?asset=GOLD": "GOLD", "?asset=GOLD&consistency=strong": "GOLD",
	}
	of := func(asset string, keep func(at string) bool) []string {
		ids := []string{}
		for _, posting := range everything {
			if (asset == "" || posting["asset"] == asset) && keep(posting["posted_at"].(string)) {
				ids = append(ids, posting["id"].(string))
			}
		}
		return ids
	}
	always := func(string) bool { return true }
	for query, asset := range lists {
		for _, limit := range []int{1, 2, 3, 5, 100} {
			if got, want := caller.Column(s.All("/v1/accounts/jane/postings"+query, limit), "id"), of(asset, always); !slices.Equal(got, want) {
				t.Errorf("%s by %d: %q instead of %q", query, limit, got, want)
			}
		}
	}

	// The times of postings sort as text.
	within := func(bounds string, keep func(at string) bool) {
		t.Helper()
		for query, asset := range lists {
			path := "/v1/accounts/jane/postings" + query
			if got, want := caller.Column(s.All(path+caller.Separator(path)+bounds, 7), "id"), of(asset, keep); !slices.Equal(got, want) {
				t.Errorf("%s %s: %q instead of %q", query, bounds, got, want)
			}
		}
	}
	for _, i := range []int{0, 6, len(everything) - 1} {
		low := everything[i]["posted_at"].(string)
		within("from="+low, func(at string) bool { return at >= low })
		within("to="+low, func(at string) bool { return at < low })
		within("from="+offset(t, low, "+02:00"), func(at string) bool { return at >= low })
		within("to="+offset(t, low, "-05:30"), func(at string) bool { return at < low })
		within("from="+later(t, low), func(at string) bool { return at > low })
		within("to="+later(t, low), func(at string) bool { return at <= low })
		high := everything[2]["posted_at"].(string)
		within("from="+low+"&to="+high, func(at string) bool { return at >= low && at < high })
	}
	for _, bounds := range []string{"from=2100-01-01T00:00:00Z", "to=2000-01-01T00:00:00Z", "to=1950-01-01T00:00:00Z", "to=0001-01-01T00:00:00Z", "from=9999-12-31T23:59:59Z", "from=2030-01-01T00:00:00Z&to=2029-01-01T00:00:00Z"} {
		for _, query := range []string{"?", "?asset=USD&", "?asset=USD&consistency=strong&"} {
			if got := s.All("/v1/accounts/jane/postings"+query+bounds, 5); len(got) != 0 {
				t.Errorf("%s%s: %v", query, bounds, got)
			}
		}
	}
	for _, bounds := range []string{"from=0001-01-01T00:00:00Z", "from=1950-01-01T00:00:00Z", "to=9999-12-31T23:59:59Z", "from=2000-01-01T00:00:00Z&to=2200-01-01T00:00:00Z"} {
		if got := s.All("/v1/accounts/jane/postings?"+bounds, 5); len(got) != len(everything) {
			t.Errorf("%s: %d of %d", bounds, len(got), len(everything))
		}
	}

	// What is posted while somebody turns the pages is above them: nothing comes twice, nothing is left out.
	page := s.Must(200, "GET", "/v1/accounts/jane/postings?limit=4", "")
	s.Must(201, "POST", "/v1/transfers", `{"id":"meanwhile","from":"bank","to":"jane","asset":"USD","quantity":"1"}`)
	rest := s.AllFrom("/v1/accounts/jane/postings", 100, page.Value("next_cursor").(string))
	if got := caller.Column(rest, "id"); !slices.Equal(got, of("", always)[4:]) {
		t.Errorf("the second page is %q", got)
	}
}

// offset writes a time with an offset, as a query wants it.
func offset(t *testing.T, at, by string) string {
	t.Helper()
	zone, err := time.Parse("-07:00", by)
	if err != nil {
		t.Fatal(err)
	}
	return url.QueryEscape(parseTime(t, at).In(zone.Location()).Format(time.RFC3339Nano))
}

// later writes the time a tenth of a microsecond later.
func later(t *testing.T, at string) string {
	t.Helper()
	return parseTime(t, at).Add(100 * time.Nanosecond).Format(time.RFC3339Nano)
}

// parseTime reads a time of an answer: RFC 3339 in UTC with six decimals, about now.
func parseTime(t *testing.T, text any) time.Time {
	t.Helper()
	s, _ := text.(string)
	at, err := time.Parse("2006-01-02T15:04:05.000000Z", s)
	if err != nil || time.Since(at).Abs() > 10*time.Minute {
		t.Fatalf("time %q: %v", s, err)
	}
	return at
}

// Assets and accounts are listed in byte order of their ids, by prefix, in pages.
func TestListsByPrefix(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	ids := []string{"a", "a-1", "a.1", "a1", "a:1", "a:10", "a:2", "a@1", "a_1", "aa", "ab", "B", "b", "users", "users:alice", "users:alice:cash", "users:bob", "usersx", "0"}
	for _, id := range ids {
		s.Must(201, "PUT", "/v1/accounts/"+id, `{"name":"N","profile":{"k":"v"},"overdraft":"unlimited"}`)
		s.Must(201, "PUT", "/v1/assets/"+id, `{"name":"N","scale":1}`)
	}
	slices.Sort(ids)
	for _, prefix := range []string{"", "a", "a:", "a:1", "users", "users:", "users:alice", "users:alice:cash", "b", "B", "c", "z", "0", strings.Repeat("a", 64)} {
		want := []string{}
		for _, id := range ids {
			if strings.HasPrefix(id, prefix) {
				want = append(want, id)
			}
		}
		for _, list := range []string{"/v1/accounts", "/v1/assets"} {
			path := list + "?prefix=" + prefix
			for _, limit := range []int{1, 2, 7, 100} {
				if got := caller.Column(s.All(path, limit), "id"); !slices.Equal(got, want) {
					t.Errorf("%s by %d: %q instead of %q", path, limit, got, want)
				}
			}
		}
	}
	if got := s.All("/v1/assets", 100); len(got) != len(ids) {
		t.Errorf("%d of %d assets without a prefix", len(got), len(ids))
	}
	if got := len(s.Must(200, "GET", "/v1/accounts", "").Value("data").([]any)); got != min(len(ids), 20) {
		t.Errorf("a page has %d unless told", got)
	}
	listed := s.All("/v1/accounts?prefix=users:bob", 1)[0]
	if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got, []string{"created_at", "id", "name", "overdraft"}) || listed["overdraft"] != "unlimited" {
		t.Errorf("an account is listed as %v", listed)
	}
	asset := s.All("/v1/assets?prefix=users:bob", 1)[0]
	one := s.Must(200, "GET", "/v1/assets/users:bob", "")
	if got, _ := json.Marshal(asset); !sameJSON(t, got, one.Body) {
		t.Errorf("an asset is listed as %s, and read as %s", got, one.Body)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var left, right any
	if err := json.Unmarshal(a, &left); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &right); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(left) == fmt.Sprint(right)
}

// Every answer has the members that are documented, and no others.
func TestShapesOfAnswers(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	openBooks(s)
	s.Must(201, "PUT", "/v1/accounts/jane/members/u-1", `{"role":"viewer"}`)
	s.Must(201, "POST", "/v1/transactions", `{"id":"n-1","description":"d","metadata":{"order":"1001"},"postings":[{"account":"bank","asset":"USD","quantity":"-7"},{"account":"jane","asset":"USD","quantity":"7"}]}`)
	s.project()
	const id, moment = `[0-9A-Za-z]{27}`, `"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`
	exact := func(pattern string) string {
		return "^" + strings.NewReplacer("{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "KSUID", `"`+id+`"`, "TIME", moment, ".", `\.`).Replace(pattern) + "\n$"
	}
	const (
		usd  = `{"id":"USD","name":"US dollar","description":"","scale":2,"currency":null,"created_at":TIME}`
		aapl = `{"id":"AAPL","name":"Apple Inc.","description":"Common stock","scale":0,"currency":"USD","created_at":TIME}`
		jane = `{"id":"jane","name":"Jane Doe","profile":{"email":"jane@example.com","addresses":[{"street":"1 Main St"},{"street":"2 Lake Rd"}]},"overdraft":null,"created_at":TIME}`
		bank = `{"id":"bank","name":"Bank","profile":{},"overdraft":"unlimited","created_at":TIME}`

		janeUSD  = `{"account":"jane","asset":"USD","quantity":"350007","net_expenditure":"0","credits":"500007","debits":"150000","postings":3,"as_of":KSUID,"as_of_time":TIME,"consistency":"eventual"}`
		janeAAPL = `{"account":"jane","asset":"AAPL","quantity":"10","net_expenditure":"150000","credits":"10","debits":"0","postings":1,"as_of":KSUID,"as_of_time":TIME,"consistency":"eventual"}`
		noGOLD   = `{"account":"jane","asset":"GOLD","quantity":"0","net_expenditure":"0","credits":"0","debits":"0","postings":0,"as_of":null,"as_of_time":null,"consistency":"eventual"}`

		n1 = `{"id":"n-1","kind":"transaction","posted_at":TIME,"description":"d","metadata":{"order":"1001"},"postings":[` +
			`{"id":KSUID,"account":"bank","asset":"USD","quantity":"-7","cost":"0"},{"id":KSUID,"account":"jane","asset":"USD","quantity":"7","cost":"0"}]}`
		t1 = `{"id":"t-1","kind":"trade","posted_at":TIME,"description":"","metadata":{},"postings":[` +
			`{"id":KSUID,"account":"jane","asset":"AAPL","quantity":"10","cost":"150000"},{"id":KSUID,"account":"market","asset":"AAPL","quantity":"-10","cost":"-150000"},` +
			`{"id":KSUID,"account":"jane","asset":"USD","quantity":"-150000","cost":"0"},{"id":KSUID,"account":"market","asset":"USD","quantity":"150000","cost":"0"}]}`
		newest = `{"id":KSUID,"account":"jane","asset":"USD","quantity":"7","cost":"0","transaction":"n-1","kind":"transaction","description":"d","posted_at":TIME}`
		member = `{"account":"jane","user":"u-1","role":"viewer"}`
	)
	for _, c := range [][2]string{
		{"/v1/assets/USD", usd},
		{"/v1/assets/AAPL", aapl},
		{"/v1/assets?prefix=AAPL", `{"data":[` + aapl + `],"next_cursor":null}`},
		{"/v1/accounts/jane", jane},
		{"/v1/accounts/bank", bank},
		{"/v1/accounts/jane/balances/USD", janeUSD},
		{"/v1/accounts/jane/balances/USD?consistency=eventual", janeUSD},
		{"/v1/accounts/jane/balances/USD?consistency=strong", strings.Replace(janeUSD, "eventual", "strong", 1)},
		{"/v1/accounts/jane/balances/GOLD", noGOLD},
		{"/v1/accounts/jane/balances/GOLD?consistency=strong", strings.Replace(noGOLD, "eventual", "strong", 1)},
		{"/v1/accounts/jane/balances", `{"data":[` + janeAAPL + `,` + janeUSD + `],"next_cursor":null}`},
		{"/v1/accounts/jane/balances?consistency=strong", strings.ReplaceAll(`{"data":[`+janeAAPL+`,`+janeUSD+`],"next_cursor":null}`, "eventual", "strong")},
		{"/v1/accounts/shop/balances", `{"data":[],"next_cursor":null}`},
		{"/v1/transactions/n-1", n1},
		{"/v1/transactions/t-1", t1},
		{"/v1/accounts/jane/members", `{"data":[` + member + `],"next_cursor":null}`},
		{"/v1/users/u-1/accounts", `{"data":[` + member + `],"next_cursor":null}`},
		{"/v1/users/nobody/accounts", `{"data":[],"next_cursor":null}`},
		{"/v1/accounts/jane/postings?to=2020-01-01T00:00:00Z", `{"data":[],"next_cursor":null}`},
		{"/v1/accounts/shop/summary", `{"account":{"id":"shop","name":"Shop","profile":{},"overdraft":null,"created_at":TIME},"summary":{"holdings":0,"assets":0,"first_posting_at":null,"last_posting_at":null},` +
			`"balances":{"data":[],"next_cursor":null},"postings":{"data":[],"next_cursor":null}}`},
		{"/healthz", `{"status":"ok","version":"test"}`},
	} {
		got := s.Must(200, "GET", c[0], "")
		if !regexp.MustCompile(exact(c[1])).Match(got.Body) {
			t.Errorf("%s: %s instead of %s", c[0], got.Body, c[1])
		}
		if mediaType := got.Header.Get("Content-Type"); mediaType != "application/json" {
			t.Errorf("%s is %q", c[0], mediaType)
		}
	}
	page := s.Must(200, "GET", "/v1/accounts/jane/summary?newest=1", "")
	pattern := strings.TrimSuffix(exact(`{"account":`+jane+`,"summary":{"holdings":2,"assets":2,"first_posting_at":TIME,"last_posting_at":TIME},"balances":{"data":[`+janeAAPL+`,`+janeUSD+
		`],"next_cursor":null},"postings":{"data":[`+newest+`],"next_cursor":"CURSOR"}}`), "") // four more go before it
	if !regexp.MustCompile(strings.Replace(pattern, "CURSOR", `[A-Za-z0-9_-]+`, 1)).Match(page.Body) {
		t.Errorf("page: %s", page.Body)
	}

	// One time for all of a transaction, which its KSUIDs hold, and up to which balances are.
	at := s.Must(200, "GET", "/v1/transactions/n-1", "").Value("posted_at")
	parseTime(t, at)
	usdNow := s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "")
	if usdNow.Value("as_of_time") != at || usdNow.Value("as_of") != s.Must(200, "GET", "/v1/transactions/n-1", "").Value("postings", 1, "id") {
		t.Errorf("as of %s, posted at %v", usdNow.Body, at)
	}
	if page.Value("summary", "last_posting_at") != at || page.Value("postings", "data", 0, "posted_at") != at {
		t.Errorf("last posted at %v: %s", at, page.Body)
	}
	if first := s.Must(200, "GET", "/v1/transactions/d-1", "").Value("posted_at"); page.Value("summary", "first_posting_at") != first {
		t.Errorf("first posted at %v: %s", first, page.Body)
	}
}

// Replies that never change have an ETag, by which they needn't be sent again.
func TestETags(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	seen := make(map[string]string)
	for _, path := range []string{"/v1/assets/USD", "/v1/assets/AAPL", "/v1/accounts/jane", "/v1/accounts/bank", "/v1/transactions/t-1", "/v1/transactions/d-1"} {
		first := s.Must(200, "GET", path, "")
		tag := first.Header.Get("ETag")
		if !regexp.MustCompile(`^"[!#-~]+"$`).MatchString(tag) || seen[tag] != "" {
			t.Errorf("%s is tagged %s, as is %s", path, tag, seen[tag])
		}
		seen[tag] = path
		if again := s.beside().Must(200, "GET", path, "").Header.Get("ETag"); again != tag {
			t.Errorf("%s is tagged %s, and %s elsewhere", path, tag, again)
		}
		for _, match := range []string{tag, "W/" + tag, "*", `"x", ` + tag, `"x",W/` + tag + `,"y"`} {
			for _, method := range []string{"GET", "HEAD"} {
				got := s.Send(method, path, "", "If-None-Match", match)
				if got.Status != 304 || len(got.Body) > 0 || got.Header.Get("ETag") != tag {
					t.Errorf("%s %s unless %s: %d %s %q", method, path, match, got.Status, got.Header.Get("ETag"), got.Body)
				}
			}
		}
		for _, match := range []string{`"x"`, strings.Trim(tag, `"`), `""`, tag[:len(tag)-2] + `"`} {
			if got := s.Must(200, "GET", path, "", "If-None-Match", match); !bytes.Equal(got.Body, first.Body) {
				t.Errorf("%s unless %s: %s", path, match, got.Body)
			}
		}
	}
	for _, path := range []string{"/v1/assets", "/v1/accounts", "/v1/accounts/jane/summary", "/v1/accounts/jane/balances", "/v1/accounts/jane/balances/USD", "/v1/accounts/jane/postings", "/v1/accounts/jane/members"} {
		got := s.Must(200, "GET", path, "", "If-None-Match", "*")
		if got.Header.Get("ETag") != "" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s, which changes, may be kept: %v", path, got.Header)
		}
	}
	s.Must(404, "GET", "/v1/assets/NOTHING", "", "If-None-Match", "*")
}

// A strong read includes what was just acknowledged, though nothing is projected.
func TestStrongReadsWithoutProjections(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openRegister(s)
	s.Must(201, "PUT", "/v1/assets/GOLD", `{"name":"Gold","scale":3}`)
	other := s.beside()
	for i, c := range []struct{ path, body, usd, aapl, expenditure string }{
		{"/v1/transfers", `{"id":"s-1","from":"bank","to":"jane","asset":"USD","quantity":"1000"}`, "1000", "0", "0"},
		{"/v1/trades", `{"id":"s-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"3","cost":"900","settle":true}`, "100", "3", "900"},
		{"/v1/trades", `{"id":"s-3","asset":"AAPL","buyer":"market","seller":"jane","quantity":"1","cost":"350","settle":true}`, "450", "2", "550"},
		{"/v1/transfers", `{"id":"s-4","from":"jane","to":"bank","asset":"USD","quantity":"450"}`, "0", "2", "550"},
	} {
		s.Must(201, "POST", c.path, c.body)
		for _, process := range []*system{s, other} {
			for asset, want := range map[string]string{"USD": c.usd, "AAPL": c.aapl, "GOLD": "0"} {
				if got := process.Must(200, "GET", "/v1/accounts/jane/balances/"+asset+"?consistency=strong", ""); got.Value("quantity") != want {
					t.Errorf("%d: %s is %s, not %s", i, asset, got.Body, want)
				}
			}
			if got := process.Must(200, "GET", "/v1/accounts/jane/balances/AAPL?consistency=strong", "").Value("net_expenditure"); got != c.expenditure {
				t.Errorf("%d: net expenditure %v, not %s", i, got, c.expenditure)
			}
			for _, limit := range []int{1, 100} {
				var got []string
				for _, balance := range process.All("/v1/accounts/jane/balances?consistency=strong", limit) {
					got = append(got, fmt.Sprint(balance["asset"], " ", balance["quantity"]))
				}
				want := []string{"AAPL " + c.aapl, "USD " + c.usd}
				if i == 0 {
					want = want[1:]
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d: balances are %q, not %q", i, got, want)
				}
			}
			newest := process.Must(200, "GET", "/v1/accounts/jane/postings?asset=USD&consistency=strong&limit=1", "")
			if id := fmt.Sprint("s-", i+1); newest.Value("data", 0, "transaction") != id {
				t.Errorf("%d: the newest posting is %s", i, newest.Body)
			}
		}
	}
	// The projections know nothing yet, and that is no 404.
	if got := s.Must(200, "GET", "/v1/accounts/jane/balances/USD", ""); got.Value("postings") != 0.0 || got.Value("as_of") != nil || got.Value("consistency") != "eventual" {
		t.Errorf("not projected: %s", got.Body)
	}
	for _, path := range []string{"/v1/accounts/jane/balances", "/v1/assets/USD/holders"} {
		if got := s.All(path, 5); len(got) != 0 {
			t.Errorf("%s, not projected: %v", path, got)
		}
	}
}

// Holders of an asset are those who have it, and those who had it, by their ids.
func TestHolders(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	openBooks(s)
	for _, id := range []string{"Zoe", "amy", "bob", "carl"} {
		s.Must(201, "PUT", "/v1/accounts/"+id, `{}`)
		s.Must(201, "POST", "/v1/trades", fmt.Sprintf(`{"id":"buy-%s","asset":"AAPL","buyer":%[1]q,"seller":"market","quantity":"5","cost":"50"}`, id))
	}
	s.Must(201, "POST", "/v1/trades", `{"id":"sell","asset":"AAPL","buyer":"market","seller":"bob","quantity":"5","cost":"60"}`)
	s.project()
	for _, limit := range []int{1, 2, 100} {
		holders := s.All("/v1/assets/AAPL/holders", limit)
		if got := caller.Column(holders, "account"); !slices.Equal(got, []string{"Zoe", "amy", "bob", "carl", "jane", "market"}) {
			t.Fatalf("holders are %q", got)
		}
		if got := caller.Column(holders, "quantity"); !slices.Equal(got, []string{"5", "5", "0", "5", "10", "-25"}) {
			t.Errorf("they hold %q", got)
		}
		if got := caller.Column(holders, "net_expenditure"); !slices.Equal(got, []string{"50", "50", "-10", "50", "150000", "-150140"}) {
			t.Errorf("they spent %q", got)
		}
		one := s.Must(200, "GET", "/v1/accounts/bob/balances/AAPL", "")
		if got, _ := json.Marshal(holders[2]); !sameJSON(t, got, one.Body) {
			t.Errorf("listed as %s, read as %s", got, one.Body)
		}
	}
	if got := s.All("/v1/assets/GOLD/holders", 5); len(got) != 0 {
		t.Errorf("holders of what nobody holds: %v", got)
	}
}

// Members are seen from both sides, and are gone from both when they are revoked.
func TestMembersBothWays(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	openRegister(s)
	for _, grant := range []string{"jane u-1 viewer", "jane u-2 operator", "jane U-3 owner", "jane a@example.com viewer", "market u-1 owner", "bank u-1 operator", "bank u-2 viewer"} {
		part := strings.Fields(grant)
		s.Must(201, "PUT", "/v1/accounts/"+part[0]+"/members/"+part[1], fmt.Sprintf(`{"role":%q}`, part[2]))
	}
	check := func(path string, want ...string) {
		t.Helper()
		s.project()
		for _, limit := range []int{1, 2, 100} {
			got := []string{}
			for _, m := range s.All(path, limit) {
				got = append(got, fmt.Sprint(m["account"], " ", m["user"], " ", m["role"]))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s by %d: %q instead of %q", path, limit, got, want)
			}
		}
	}
	check("/v1/accounts/jane/members", "jane U-3 owner", "jane a@example.com viewer", "jane u-1 viewer", "jane u-2 operator")
	check("/v1/users/u-1/accounts", "bank u-1 operator", "jane u-1 viewer", "market u-1 owner")
	s.Must(200, "PUT", "/v1/accounts/jane/members/u-1", `{"role":"owner"}`)
	check("/v1/accounts/jane/members", "jane U-3 owner", "jane a@example.com viewer", "jane u-1 owner", "jane u-2 operator")
	check("/v1/users/u-1/accounts", "bank u-1 operator", "jane u-1 owner", "market u-1 owner")
	s.Must(200, "DELETE", "/v1/accounts/jane/members/u-1", "")
	s.Must(200, "DELETE", "/v1/accounts/jane/members/U-3", "")
	s.Must(200, "DELETE", "/v1/accounts/market/members/nobody", "")
	check("/v1/accounts/jane/members", "jane a@example.com viewer", "jane u-2 operator")
	check("/v1/users/u-1/accounts", "bank u-1 operator", "market u-1 owner")
	check("/v1/users/U-3/accounts")
	check("/v1/users/nobody/accounts")
	check("/v1/accounts/market/members", "market u-1 owner")
	s.Must(201, "PUT", "/v1/accounts/jane/members/u-1", `{"role":"viewer"}`)
	check("/v1/accounts/jane/members", "jane a@example.com viewer", "jane u-1 viewer", "jane u-2 operator")
	check("/v1/users/u-1/accounts", "bank u-1 operator", "jane u-1 viewer", "market u-1 owner")
}

// An account's page shows a hundred balances and the newest postings, and cursors by which the lists go on without a
// gap and without doubles.
func TestAccountPage(t *testing.T) {
	t.Parallel()
	const assets = 103
	s := newSystem(t)
	openRegister(s)
	s.Must(201, "PUT", "/v1/accounts/collector", `{"name":"Collector","overdraft":{"USD":"7"},"profile":{"k":"v"}}`)
	want := make([]string, assets)
	for i := range want {
		want[i] = fmt.Sprintf("X%03d", i)
		s.Must(201, "PUT", "/v1/assets/"+want[i], `{"name":"X","scale":0}`)
	}
	const legs = 48
	for from := 0; from < assets; from += legs / 2 {
		var postings []string
		for _, asset := range want[from:min(from+legs/2, assets)] {
			postings = append(postings, fmt.Sprintf(`{"account":"collector","asset":%q,"quantity":"2"},{"account":"bank","asset":%[1]q,"quantity":"-2"}`, asset))
		}
		s.Must(201, "POST", "/v1/transactions", fmt.Sprintf(`{"id":"x-%d","postings":[%s]}`, from, strings.Join(postings, ",")))
	}
	// One of them is given away again.
	s.Must(201, "POST", "/v1/transfers", `{"id":"gone","from":"collector","to":"bank","asset":"X050","quantity":"2"}`)
	s.project()

	strings2 := func(v any) []string {
		list, _ := v.([]any)
		out := []string{}
		for _, item := range list {
			object, _ := item.(map[string]any)
			if asset, ok := object["asset"].(string); ok {
				out = append(out, asset)
			}
		}
		return out
	}
	page := s.Must(200, "GET", "/v1/accounts/collector/summary", "")
	for path, want := range map[[2]string]any{
		{"account", "name"}: "Collector", {"summary", "holdings"}: float64(assets - 1), {"summary", "assets"}: float64(assets),
	} {
		if got := page.Value(path[0], path[1]); got != want {
			t.Errorf("%v is %v, not %v", path, got, want)
		}
	}
	if got := page.Value("account", "overdraft", "USD"); got != "7" {
		t.Errorf("overdraft: %v", got)
	}
	shown := strings2(page.Value("balances", "data"))
	if !slices.Equal(shown, want[:100]) {
		t.Errorf("%d balances: %q", len(shown), shown)
	}
	cursor, _ := page.Value("balances", "next_cursor").(string)
	for _, query := range []string{"", "?consistency=strong"} {
		if got := caller.Column(s.AllFrom("/v1/accounts/collector/balances"+query, 2, cursor), "asset"); !slices.Equal(got, want[100:]) {
			t.Errorf("balances go on at %q", got)
		}
		if got := caller.Column(s.All("/v1/accounts/collector/balances"+query, 40), "asset"); !slices.Equal(got, want) {
			t.Errorf("all balances, %q: %q", query, got)
		}
	}

	history := caller.Column(s.All("/v1/accounts/collector/postings", 100), "id")
	if len(history) != assets+1 {
		t.Fatalf("%d postings", len(history))
	}
	for _, c := range []struct {
		query  string
		newest int
	}{{"", 10}, {"?newest=1", 1}, {"?newest=25", 25}, {"?newest=100", 100}, {"?newest=0", 0}} {
		page := s.Must(200, "GET", "/v1/accounts/collector/summary"+c.query, "")
		data, _ := page.Value("postings", "data").([]any)
		if data == nil || len(data) != c.newest {
			t.Errorf("%s: %d postings", c.query, len(data))
		}
		got := []string{}
		for i := range data {
			got = append(got, page.Value("postings", "data", i, "id").(string))
		}
		cursor, _ := page.Value("postings", "next_cursor").(string)
		if cursor == "" {
			t.Fatalf("%s: no way on", c.query)
		}
		got = append(got, caller.Column(s.AllFrom("/v1/accounts/collector/postings", 30, cursor), "id")...)
		if !slices.Equal(got, history) {
			t.Errorf("%s: the history goes on with a gap or doubles: %q instead of %q", c.query, got, history)
		}
		if first := page.Value("summary", "last_posting_at"); first != s.Must(200, "GET", "/v1/transactions/gone", "").Value("posted_at") {
			t.Errorf("%s: last posting at %v", c.query, first)
		}
	}
	// Where there is nothing more, there is no cursor; after a page that is just full there may be one, to an empty page.
	s.Must(201, "PUT", "/v1/accounts/few", `{}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"f-1","from":"bank","to":"few","asset":"X000","quantity":"1"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"f-2","from":"bank","to":"few","asset":"X000","quantity":"1"}`)
	s.project()
	for query, more := range map[string]bool{"": false, "?newest=3": false, "?newest=1": true, "?newest=0": true} {
		page := s.Must(200, "GET", "/v1/accounts/few/summary"+query, "")
		if got := page.Value("postings", "next_cursor") != nil; got != more {
			t.Errorf("%s: %s", query, page.Body)
		}
	}
	empty := s.Must(200, "GET", "/v1/accounts/jane/summary?newest=0", "")
	if empty.Value("postings", "next_cursor") != nil {
		t.Errorf("of nothing: %s", empty.Body)
	}
}
