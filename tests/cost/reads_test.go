package cost

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

// newRegister starts a ledger with some assets, accounts, members and transactions, all projected.
func newRegister(t testing.TB) *system.System {
	t.Helper()
	s := system.New(t, system.Indexed("order"))
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/vault", `{"metadata":{"order":"7"}}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
	s.Must(201, "POST", "/v1/trades",
		`{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}`)
	s.Must(201, "POST", "/v1/trades",
		`{"id":"t-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"5","cost":"80000"}`)
	s.Must(201, "POST", "/v1/transfers",
		`{"id":"w-1","from":"jane","to":"bank","asset":"USD","quantity":"1000","description":"Withdrawal"}`)
	s.Must(201, "PUT", "/v1/accounts/jane/members/ann", `{"role":"owner"}`)
	s.Must(201, "PUT", "/v1/accounts/jane/members/bob", `{"role":"viewer"}`)
	s.Must(201, "PUT", "/v1/accounts/market/members/ann", `{"role":"operator"}`)
	s.DeliverAll()
	return s
}

// checkGet sends a GET, and fails t unless it takes these requests to the table.
func checkGet(s *system.System, path string, wanted ...string) caller.Reply {
	s.T.Helper()
	return checkRequest(s, "", 200, "GET", path, "", wanted...)
}

// checkRequest sends a request by a user, or by a service if user is empty. It fails t unless the answer has the status
// and takes these requests to the table.
func checkRequest(s *system.System, user string, status int, method, path, body string, wanted ...string) caller.Reply {
	s.T.Helper()
	var headers []string
	if user != "" {
		headers = []string{"Ledger-User", user}
	}
	s.Requests.Take()
	r := s.Must(status, method, path, body, headers...)
	system.WantRequests(s.T, s.Requests.Take(), wanted...)
	return r
}

// checkPatterns checks the access patterns in a file of testdata, each with cold caches. The file has a block of lines
// for each: its name after #, the request, the requests to the table that it takes, and members that the answer must
// have. "once a minute: " begins a request that the process makes only then. "again: nothing" means that a second read by the same process takes no request, and "next page: the same" that
// there is another page, which takes the same requests.
func checkPatterns(t *testing.T, register *system.System, file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		block, cached := strings.CutSuffix(block, "\nagain: nothing")
		block, paged := strings.CutSuffix(block, "\nnext page: the same")
		lines := strings.Split(block, "\n")
		path, members := strings.TrimPrefix(lines[1], "GET "), lines[len(lines)-1]
		t.Run(strings.TrimPrefix(lines[0], "# "), func(t *testing.T) {
			var shows map[string]any
			if err := json.Unmarshal([]byte(members), &shows); err != nil {
				t.Fatal(err)
			}
			cold := register.NewProcess(system.Indexed("order"))
			var all, usual []string
			for _, line := range lines[2 : len(lines)-1] {
				request, isRare := strings.CutPrefix(line, "once a minute: ")
				if all = append(all, request); !isRare {
					usual = append(usual, request)
				}
			}
			first := checkGet(cold, path, all...)
			first.Shows(t, shows)
			if cached {
				checkGet(cold, path)
			}
			if paged {
				checkGet(cold, path+"&cursor="+url.QueryEscape(first.Text("next_cursor")), usual...)
			}
		})
	}
}

func TestAccessPatterns(t *testing.T) {
	t.Parallel()
	checkPatterns(t, newRegister(t), "patterns.txt")
}

// A read of limits over time takes one more request, for the guards of all their assets.
func TestReadOfRates(t *testing.T) {
	t.Parallel()
	s := newRegister(t)
	s.Must(200, "PATCH", "/v1/accounts/jane", `{"rates":[{"asset":"USD","per":"day","quantity":"5"},`+
		`{"asset":"AAPL","per":"week","quantity":"5"},{"asset":"USD","per":"month","quantity":"5"}]}`)
	checkGet(s, "/v1/accounts/jane/rates", "BatchGetItem strong ACCOUNT#jane ACCOUNT#jane, ACCOUNT#jane ACCOUNT_CURRENT",
		"BatchGetItem strong ACCOUNT#jane SPEND#AAPL, ACCOUNT#jane SPEND#USD").Shows(t, map[string]any{"data 2 per": "month"})
}

const ifAbsent = " if attribute_not_exists(PK)"

// trade returns the body of a trade with market.
func trade(id, buyer string, quantity, cost int, settle bool) string {
	return fmt.Sprintf(`{"id":"%s","asset":"AAPL","buyer":"%s","seller":"market","quantity":"%d","cost":"%d",`+
		`"settle":%t}`, id, buyer, quantity, cost, settle)
}

// A trade puts its header, its postings and its guard in one request. Each event is put on condition that it is absent.
// The in-memory store panics if an event is changed later.
func TestWritesOfATrade(t *testing.T) {
	t.Parallel()
	shares := []string{"ACCOUNT#jane POSTING#AAPL#ksuid", "ACCOUNT#market POSTING#AAPL#ksuid"}
	for _, c := range []struct {
		settle   bool
		postings []string
		guard    string
	}{
		{false, shares, ""},
		{
			true, append(slices.Clone(shares), "ACCOUNT#jane POSTING#USD#ksuid", "ACCOUNT#market POSTING#USD#ksuid"),
			", update ACCOUNT#jane SPEND#USD by ADD Spent 1500 if V = 1 AND Change = 1 AND Spent <= 498500",
		},
	} {
		s := system.New(t)
		s.OpenRegister()
		s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
		s.DeliverAll()
		// fills the caches
		s.Must(201, "POST", "/v1/trades", trade("t-0", "jane", 1, 1, c.settle))
		var id string
		requests := system.Promptly(t, func(try int) []system.Request {
			id = fmt.Sprintf("t-%d", try+1)
			s.Requests.Take()
			s.Must(201, "POST", "/v1/trades", trade(id, "jane", 10, 1500, c.settle))
			return s.Requests.Take()
		})
		line := "TransactWriteItems put TXN#" + id + " TXN#" + id + ifAbsent
		for _, p := range c.postings {
			line += ", put " + p + ifAbsent
		}
		system.WantRequests(t, requests, line+c.guard)
	}
}

// All of up_to is moved by known funds, in the one request of any transfer. For less, the guard and the exact funds are
// read first.
func TestRequestsOfAsMuchAsFits(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
	s.DeliverAll()
	s.Must(201, "POST", "/v1/transfers", `{"id":"t-0","from":"jane","to":"bank","asset":"USD","quantity":"1"}`)
	sweep := func(upTo string) []string {
		return system.Lines(system.Promptly(t, func(try int) []system.Request {
			s.Requests.Take()
			s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(
				`{"id":"s-%s-%d","from":"jane","to":"bank","asset":"USD","up_to":%[1]q,"keep":"%d"}`, upTo, try, 10-try))
			return s.Requests.Take()
		}))
	}
	if most := sweep("100"); len(most) != 1 {
		t.Errorf("at most: %q", most)
	}
	all := sweep("all")
	if len(all) != 4 || !strings.HasPrefix(all[0], "BatchGetItem strong") || !strings.HasPrefix(all[3], "TransactWriteItems") {
		t.Errorf("all: %q", all)
	}
}

// A split of as much as fits takes one request, as any split, if known funds cover all of up_to by several sources. A
// source that gives nothing is not written. One that is used up is known to be so only by its guard: it refuses once,
// its exact funds are read, and the next source gives. A refusal is sent to the guards of all sources.
func TestRequestsOfSplitsThatFit(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	for _, account := range []string{"shop"} {
		s.Must(201, "PUT", "/v1/accounts/"+account, `{}`)
	}
	for _, account := range []string{"jane", "shop"} {
		s.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"`+account+`","asset":"USD","quantity":"500000"}`)
	}
	s.DeliverAll()
	for _, account := range []string{"jane", "shop"} {
		s.Must(201, "POST", "/v1/transfers", `{"from":"`+account+`","to":"bank","asset":"USD","quantity":"1"}`)
	}
	split := func(status int, from, upTo, atLeast string) []string {
		t.Helper()
		return system.Lines(system.Promptly(t, func(try int) []system.Request {
			s.Requests.Take()
			s.Must(status, "POST", "/v1/splits", fmt.Sprintf(`{"asset":"USD","from":[%s],"up_to":"%s","at_least":"%s",
				"to":[{"account":"market","share":"1%%"},{"account":"bank","rest":1}]}`, from, upTo, atLeast))
			return s.Requests.Take()
		}))
	}
	const both = `{"account":"jane"},{"account":"shop"}`
	split(201, both, "100", "1") // the accounts are known then
	for _, c := range []struct {
		what, upTo, atLeast string
		status, requests    int
	}{
		{"by the first", "100", "1", 201, 1},
		{"by both", "520000", "1", 201, 4},              // the first refuses; its balance and postings are read
		{"too little", "99999999", "99999999", 422, 12}, // both are read before the attempt and after it
	} {
		got := split(c.status, both, c.upTo, c.atLeast)
		if len(got) != c.requests || c.requests == 1 && strings.Contains(got[0], "ACCOUNT#shop") {
			t.Errorf("%s: %q", c.what, got)
		}
	}
}

// A backdated trade takes the same requests as any other, and one for the newest closing of the books. Neither it nor a
// replay of it sends requests to make its postings visible to strong reads.
func TestWritesOfABackdatedTrade(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/trades", trade("t-0", "jane", 1, 0, false))
	past := func(id string) string {
		return strings.Replace(trade(id, "jane", 10, 1500, false), "{", `{"effective_at":"2020-01-31T12:00:00Z",`, 1)
	}
	var id string
	post := func(status int) func(int) []system.Request {
		return func(try int) []system.Request {
			if status == 201 {
				id = fmt.Sprintf("t-%d", try+1)
			}
			s.Requests.Take()
			s.Must(status, "POST", "/v1/trades", past(id))
			return s.Requests.Take()
		}
	}
	written := "TransactWriteItems put TXN#%[1]s TXN#%[1]s" + ifAbsent + ", put ACCOUNT#jane POSTING#AAPL#ksuid" +
		ifAbsent + ", put ACCOUNT#market POSTING#AAPL#ksuid" + ifAbsent
	requests := system.Promptly(t, post(201))
	system.WantRequests(t, requests,
		"Query strong newest first, 1 of PK = PERIODS AND SK BETWEEN PERIOD# AND PERIOD#~", fmt.Sprintf(written, id))
	if again := system.Promptly(t, post(200)); len(again) != 3 {
		t.Errorf("a replay took %q", system.Lines(again))
	}
}

// The projection of the first posting creates the balance. The next posting changes the balance only.
func TestFirstPostingCreatesBalance(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/trades", trade("t-1", "jane", 10, 150000, false))
	s.Must(200, "GET", "/v1/accounts/jane/balances/AAPL", "").Shows(t,
		map[string]any{"quantity": "0", "as_of": nil, "postings": 0.0})
	s.Requests.Take()
	deliver(s, postingsIn(s, "jane", "AAPL")...)
	system.WantRequests(t, s.Requests.Take(),
		"GetItem strong ACCOUNT#jane BALANCE#AAPL",
		// no segments: the balance is new, not lost
		"Query strong 0 of PK = ACCOUNT#jane AND SK BETWEEN SEGMENT#AAPL# AND SEGMENT#AAPL#~",
		"Query strong 1000 of PK = ACCOUNT#jane AND SK BETWEEN POSTING#AAPL# AND POSTING#AAPL#~",
		"GetItem strong ACCOUNT#jane ACCOUNT_SUMMARY",
		"GetItem strong ACCOUNT#jane ACCOUNT_CURRENT", // a balance of zero may be that of a closed account
		"TransactWriteItems put ACCOUNT#jane BALANCE#AAPL"+ifAbsent+", put ACCOUNT#jane ACCOUNT_SUMMARY"+ifAbsent)
	s.Must(200, "GET", "/v1/accounts/jane/balances/AAPL", "").Shows(t, map[string]any{
		"quantity": "10", "net_expenditure": "150000", "credits": "10", "debits": "0", "postings": 1.0,
	})

	s.Must(201, "POST", "/v1/trades", trade("t-2", "jane", 5, 80000, false))
	newest := postingsIn(s, "jane", "AAPL")[1]
	s.Requests.Take()
	deliver(s, newest)
	system.WantRequests(t, s.Requests.Take(), "GetItem strong ACCOUNT#jane BALANCE#AAPL",
		"PutItem ACCOUNT#jane BALANCE#AAPL if Version = …")
}

// deliver delivers records of postings, with their images, to the projector.
func deliver(s *system.System, keys ...table.Key) {
	s.T.Helper()
	all := s.Contents()
	images := make([]table.Item, len(keys))
	for i, key := range keys {
		images[i] = all[key]
	}
	streamtest.Deliver(s.T, s.Service.Stream(), streamtest.Images(s.T, images...))
}

// postingsIn returns the keys of an account's postings of one asset, oldest first.
func postingsIn(s *system.System, account, asset string) []table.Key {
	s.T.Helper()
	return slices.DeleteFunc(s.Projected(), func(k table.Key) bool {
		return k.PK != table.Account.PK(account) || !strings.HasPrefix(k.SK, table.Posting.Prefix()+asset+"#")
	})
}

// A replay by a process with cold caches writes nothing but, if it comes late, new versions of balances.
func TestReplaysWriteNothing(t *testing.T) {
	t.Parallel()
	s := system.New(t)
	s.OpenBooks()
	contents := func() map[table.Key]table.Item { // without balances: a late replay raises their versions
		all := s.Contents()
		maps.DeleteFunc(all, func(k table.Key, _ table.Item) bool { return strings.HasPrefix(k.SK, "BALANCE#") })
		return all
	}
	for path, body := range map[string]string{
		"POST /v1/trades":                  trade("r-1", "jane", 1, 5, true),
		"PUT /v1/assets/EUR":               `{"name":"Euro","scale":2}`,
		"PUT /v1/accounts/plain":           `{"overdraft":{"USD":"0"},"profile":{ },"name":""}`,
		"PUT /v1/accounts/jane/members/u2": `{"role":"owner"}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		first := s.Must(201, method, path, body)
		before := contents()
		if again := s.NewProcess(system.Actor("somebody else")).Must(200, method, path, body); string(again.Body) !=
			string(first.Body) {
			t.Errorf("%s: %s, first %s", body, again.Body, first.Body)
		}
		if d := system.Difference(before, contents()); d != "" {
			t.Errorf("a replay of %s wrote: %s", body, d)
		}
	}
}
