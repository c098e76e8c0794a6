package tests

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"ledger.example/ledger/table"
	"ledger.example/tests/caller"
)

// register is a trading register with some history, projected. The tests of patterns that only read share it, and none
// changes it; each looks at it through a process of its own, which remembers nothing.
type register struct {
	made  sync.Once
	table string
}

var theRegister register

func sharedRegister(t testing.TB) *system {
	t.Helper()
	theRegister.made.Do(func() {
		s := newSystem(t, withoutPump)
		s.OpenRegister()
		s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
		s.Must(201, "POST", "/v1/trades", `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}`)
		s.Must(201, "POST", "/v1/trades", `{"id":"t-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"5","cost":"80000"}`)
		s.Must(201, "POST", "/v1/transfers", `{"id":"w-1","from":"jane","to":"bank","asset":"USD","quantity":"1000","description":"Withdrawal"}`)
		s.deliverAll()
		theRegister.table = s.table
	})
	if theRegister.table == "" {
		t.Fatal("the shared register could not be made")
	}
	return serve(t, theRegister.table, withoutPump)
}

// reads makes one request, and fails t unless it was answered by these requests to the table.
func (s *system) reads(path string, wanted ...string) caller.Reply {
	s.t.Helper()
	s.requests.take()
	r := s.Must(200, "GET", path, "")
	sent(s.t, s.requests.take(), wanted...)
	return r
}

func TestAssetByID(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/assets/AAPL", "BatchGetItem strong ASSET#AAPL ASSET#AAPL")
	shows(t, r, map[string]any{"id": "AAPL", "name": "Apple Inc.", "description": "Common stock", "scale": 0.0, "currency": "USD"})
	s.reads("/v1/assets/AAPL") // it never changes: a warm process knows it
}

func TestAccountByID(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/accounts/market", "BatchGetItem strong ACCOUNT#market ACCOUNT#market")
	shows(t, r, map[string]any{"id": "market", "name": "Market", "overdraft": "unlimited"})
	s.reads("/v1/accounts/market")
}

func TestBothLookedUpBeforeATrade(t *testing.T) {
	t.Parallel()
	first := newSystem(t, withoutPump)
	first.OpenRegister()
	requests := promptly(t, func(int) []request {
		s := first.beside()
		s.Must(201, "POST", "/v1/trades", `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000"}`)
		return s.requests.take()
	})
	// One look at all that it names, then the trade; what the seller may have is asked along with it.
	if len(requests) != 2 {
		t.Fatalf("asked for %q", lines(requests))
	}
	sent(t, requests[:1], "BatchGetItem strong ACCOUNT#jane ACCOUNT#jane, ACCOUNT#market ACCOUNT#market, ACCOUNT#market BALANCE#AAPL, ASSET#AAPL ASSET#AAPL")
	if requests[1].operation != "TransactWriteItems" {
		t.Errorf("then came %s", requests[1].line())
	}
	s := first.beside()
	r := s.Must(422, "POST", "/v1/trades", `{"asset":"AAPL","buyer":"nobody","seller":"noone","quantity":"10","cost":"150000"}`)
	if got := r.Fields(); r.Code() != "account_not_found" || !slices.Equal(got, []string{"buyer", "seller"}) {
		t.Errorf("%s of %q", r.Code(), got)
	}
	sent(t, s.requests.take(), "BatchGetItem strong ACCOUNT#nobody ACCOUNT#nobody, ACCOUNT#noone ACCOUNT#noone, ACCOUNT#noone BALANCE#AAPL, ASSET#AAPL ASSET#AAPL")
}

func TestAccountSummaryWithAllBalancesAndRecentHistory(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/accounts/jane/summary?newest=3",
		"Query eventual 103 of PK = ACCOUNT#jane AND SK BETWEEN ACCOUNT AND BALANCE~",
		"Query GSI1 eventual newest first, 4 of PK = ACCOUNT#jane AND SK2 BETWEEN POSTING# AND PROFILE")
	shows(t, r, map[string]any{
		"account name": "Jane Doe", "summary holdings": 2.0, "summary assets": 2.0,
		"balances data 0 asset": "AAPL", "balances data 0 quantity": "15", "balances data 0 net_expenditure": "230000",
		"balances data 1 asset": "USD", "balances data 1 quantity": "349000", "balances next_cursor": nil,
		"postings data 0 transaction": "w-1",
	})
	if got := r.Each("transaction", "postings", "data"); !slices.Equal(got, []any{"w-1", "t-2", "t-1"}) {
		t.Errorf("newest postings of %v", got)
	}
}

func TestAllBalances(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/accounts/jane/balances", "Query eventual 21 of PK = ACCOUNT#jane AND SK BETWEEN BALANCE# AND BALANCE#~")
	shows(t, r, map[string]any{
		"data 0 asset": "AAPL", "data 0 quantity": "15", "data 1 asset": "USD", "data 1 quantity": "349000", "data 2": nil, "next_cursor": nil,
	})
}

func TestOneBalance(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/accounts/jane/balances/USD", "GetItem eventual ACCOUNT#jane BALANCE#USD")
	shows(t, r, map[string]any{
		"account": "jane", "asset": "USD", "quantity": "349000", "credits": "500000", "debits": "151000", "postings": 3.0, "consistency": "eventual",
	})
}

func TestHistoryOfOneAssetNewestFirst(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/accounts/jane/postings?asset=USD",
		"Query eventual newest first, 21 of PK = ACCOUNT#jane AND SK BETWEEN POSTING#USD# AND POSTING#USD#~")
	if got := r.Each("transaction", "data"); !slices.Equal(got, []any{"w-1", "t-1", "d-1"}) {
		t.Errorf("history of %v", got)
	}
	if got := r.Each("quantity", "data"); !slices.Equal(got, []any{"-1000", "-150000", "500000"}) {
		t.Errorf("quantities %v", got)
	}
	shows(t, r, map[string]any{"data 0 description": "Withdrawal", "data 0 kind": "transfer", "data 2 kind": "transfer", "next_cursor": nil})
}

func TestHistoryOverAllAssetsThroughGSI1(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	const firstPage = "Query GSI1 eventual newest first, 3 of PK = ACCOUNT#jane AND SK2 BETWEEN POSTING# AND "
	r := s.reads("/v1/accounts/jane/postings?limit=2", firstPage+"POSTING#~")
	if got := r.Each("transaction", "data"); !slices.Equal(got, []any{"w-1", "t-2"}) {
		t.Errorf("history of %v", got)
	}
	if got := r.Each("asset", "data"); !slices.Equal(got, []any{"USD", "AAPL"}) {
		t.Errorf("assets %v", got)
	}
	cursor, _ := r.Value("next_cursor").(string)
	s.requests.take()
	rest := s.Must(200, "GET", "/v1/accounts/jane/postings?cursor="+cursor, "")
	if got := rest.Each("transaction", "data"); !slices.Equal(got, []any{"t-1", "t-1", "d-1"}) {
		t.Errorf("the rest of the history is of %v", got)
	}
	if next := s.requests.take(); len(next) != 1 || !strings.HasPrefix(next[0].line(), "Query GSI1 eventual newest first, 21 of PK = ACCOUNT#jane AND SK2 BETWEEN POSTING# AND POSTING#") {
		t.Errorf("asked for %q", lines(next))
	}
}

func TestProfileWithEmbeddedCollection(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/accounts/jane", "BatchGetItem strong ACCOUNT#jane ACCOUNT#jane")
	shows(t, r, map[string]any{
		"profile email": "jane@example.com", "profile addresses 0 street": "1 Main St", "profile addresses 1 street": "2 Lake Rd",
	})
}

func TestOrdersOfAUser(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/accounts/jane/postings",
		"Query GSI1 eventual newest first, 21 of PK = ACCOUNT#jane AND SK2 BETWEEN POSTING# AND POSTING#~")
	orders := slices.Compact(r.Each("transaction", "data"))
	if !slices.Equal(orders, []any{"w-1", "t-2", "t-1", "d-1"}) {
		t.Errorf("transactions of jane: %v", orders)
	}
}

func TestOrderWithItsItems(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	r := s.reads("/v1/transactions/t-1", "GetItem strong TXN#t-1 TXN#t-1")
	shows(t, r, map[string]any{"id": "t-1", "kind": "trade"})
	for member, wanted := range map[string][]any{
		"account":  {"jane", "market", "jane", "market"},
		"asset":    {"AAPL", "AAPL", "USD", "USD"},
		"quantity": {"10", "-10", "-150000", "150000"},
		"cost":     {"150000", "-150000", "0", "0"},
	} {
		if got := r.Each(member, "postings"); !slices.Equal(got, wanted) {
			t.Errorf("%s of its postings: %v", member, got)
		}
	}
}

func TestItemCollectionARecordAndNewestPostingsInOneReverseRead(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	s.Must(200, "GET", "/v1/accounts/jane/summary?newest=3", "")
	for _, r := range s.requests.take() {
		if !strings.HasPrefix(r.line(), "Query GSI1 eventual newest first, 4 of ") {
			continue
		}
		var got []string
		for _, item := range r.found() {
			got = append(got, aKSUID.ReplaceAllString(key(item), "#ksuid"))
		}
		if !slices.Equal(got, []string{ // the account, and the withdrawal, t-2, and of t-1 what was minted last: its cash
			" ACCOUNT#jane ACCOUNT#jane",
			" ACCOUNT#jane POSTING#USD#ksuid", " ACCOUNT#jane POSTING#AAPL#ksuid", " ACCOUNT#jane POSTING#USD#ksuid",
		}) {
			t.Errorf("one reverse read found %q", got)
		}
		return
	}
	t.Error("no reverse read of the account and its newest postings")
}

func TestTypeOnEveryItem(t *testing.T) {
	t.Parallel()
	s := sharedRegister(t)
	types := map[string]int{}
	for k, item := range s.contents() {
		name := plainText(item[table.AttrType])
		if name == "" {
			t.Errorf("%s %s has no Type", k.PK, k.SK)
		}
		types[name]++
	}
	for name, wanted := range map[string]int{
		"AssetRegistered": 2, "AccountOpened": 3, "TransactionPosted": 4, "PostingRecorded": 10,
		table.KindSpend: 1, table.KindBalance: 5, table.KindSummary: 3,
	} {
		if types[name] != wanted {
			t.Errorf("%d items of Type %s, not %d", types[name], name, wanted)
		}
	}
}
