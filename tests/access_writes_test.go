package tests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

// plainText returns a string's value, "" for anything else.
func plainText(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

const ifAbsent = " if attribute_not_exists(PK)"

func TestTradeWritesExactlyTwoPostings(t *testing.T) {
	t.Parallel()
	tradeWrites(t, `"settle":false`, []string{
		"ACCOUNT#jane POSTING#AAPL#ksuid", "ACCOUNT#market POSTING#AAPL#ksuid",
	}, "")
}

func TestTradeWritesFourWithSettlement(t *testing.T) {
	t.Parallel()
	tradeWrites(t, `"settle":true`, []string{
		"ACCOUNT#jane POSTING#AAPL#ksuid", "ACCOUNT#market POSTING#AAPL#ksuid",
		"ACCOUNT#jane POSTING#USD#ksuid", "ACCOUNT#market POSTING#USD#ksuid",
	}, ", update ACCOUNT#jane SPEND#USD by ADD Spent 1500 SET Type = Spend if attribute_not_exists(Spent) OR Spent <= 498500")
}

// tradeWrites posts a trade of jane, and fails t unless it put the header and these postings and nothing else, in one
// request; and unless they are the same to the byte after all that can happen to a transaction.
func tradeWrites(t *testing.T, settle string, postings []string, guard string) {
	t.Helper()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
	s.deliverAll()
	s.Must(201, "POST", "/v1/trades", trade("t-0", "jane", 1, 1, settle)) // all that it names is known from here on
	var before map[string]string
	var id, body string
	requests := promptly(t, func(try int) []request {
		id = fmt.Sprintf("t-%d", try+1)
		body = trade(id, "jane", 10, 1500, settle)
		before = s.items()
		s.requests.take()
		s.Must(201, "POST", "/v1/trades", body)
		return s.requests.take()
	})
	line := "TransactWriteItems put TXN#" + id + " TXN#" + id + ifAbsent
	for _, p := range postings {
		line += ", put " + p + ifAbsent
	}
	sent(t, requests, line+guard)

	after := s.items()
	var made []string
	for k := range after {
		if _, there := before[k]; !there && !strings.Contains(k, " SPEND#") {
			made = append(made, aKSUID.ReplaceAllString(k, "#ksuid"))
		}
	}
	wanted := append([]string{"TXN#" + id + " TXN#" + id}, postings...)
	slices.Sort(wanted)
	if slices.Sort(made); !slices.Equal(made, wanted) {
		t.Errorf("a trade made the items %q", made)
	}
	// Replayed, reused, refused, followed by others, projected twice: what was written stays as it is.
	s.Must(200, "POST", "/v1/trades", body)
	s.Must(409, "POST", "/v1/trades", trade(id, "jane", 11, 1500, settle))
	s.Must(422, "POST", "/v1/transfers", `{"from":"jane","to":"bank","asset":"USD","quantity":"900000"}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"jane","to":"bank","asset":"USD","quantity":"1"}`)
	s.deliverAll()
	s.deliverAll()
	last := s.items()
	for k, item := range after {
		if event := strings.HasPrefix(k, "TXN#") || strings.Contains(k, " POSTING#"); event && last[k] != item {
			t.Errorf("%s changed:\n%s\n%s", k, item, last[k])
		}
	}
}

// trade is the body of a trade with market.
func trade(id, buyer string, quantity, cost int, settle string) string {
	if settle != "" {
		settle = "," + settle
	}
	return fmt.Sprintf(`{"id":"%s","asset":"AAPL","buyer":"%s","seller":"market","quantity":"%d","cost":"%d"%s}`, id, buyer, quantity, cost, settle)
}

func TestBalanceMadeOnFirstAcquisition(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/trades", trade("t-1", "jane", 10, 150000, ""))
	if _, there := s.partition("ACCOUNT#jane")[table.BalanceKey("jane", "AAPL")]; there {
		t.Error("a balance before its projection")
	}
	shows(t, s.Must(200, "GET", "/v1/accounts/jane/balances/AAPL", ""), map[string]any{"quantity": "0", "as_of": nil, "postings": 0.0})
	bought := postingsIn(s, "jane", "AAPL")
	s.requests.take()
	deliver(t, s.service, bought...)
	sent(t, s.requests.take(),
		"GetItem strong ACCOUNT#jane BALANCE#AAPL",
		"Query strong 1000 of PK = ACCOUNT#jane AND SK BETWEEN POSTING#AAPL# AND POSTING#AAPL#~",
		"GetItem strong ACCOUNT#jane ACCOUNT_SUMMARY",
		"TransactWriteItems put ACCOUNT#jane BALANCE#AAPL"+ifAbsent+", put ACCOUNT#jane ACCOUNT_SUMMARY"+ifAbsent)
	shows(t, s.Must(200, "GET", "/v1/accounts/jane/balances/AAPL", ""), map[string]any{
		"quantity": "10", "net_expenditure": "150000", "credits": "10", "debits": "0", "postings": 1.0,
	})
	// The next acquisition changes quantity and net expenditure, and nothing but the balance.
	s.Must(201, "POST", "/v1/trades", trade("t-2", "jane", 5, 80000, ""))
	s.requests.take()
	deliver(t, s.service, postingsIn(s, "jane", "AAPL")...)
	if got := lines(s.requests.take()); len(got) != 3 || got[2] != "PutItem ACCOUNT#jane BALANCE#AAPL if Version = 1" {
		t.Errorf("asked for %q", got)
	}
	shows(t, s.Must(200, "GET", "/v1/accounts/jane/balances/AAPL", ""), map[string]any{
		"quantity": "15", "net_expenditure": "230000", "credits": "15", "debits": "0", "postings": 2.0,
	})
}

// postingsIn returns the keys of an account's postings of one asset, oldest first.
func postingsIn(s *system, account, asset string) (all []table.Key) {
	s.t.Helper()
	for k := range s.partition("ACCOUNT#" + account) {
		if strings.HasPrefix(k.SK, "POSTING#"+asset+"#") {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b table.Key) int { return strings.Compare(a.SK, b.SK) })
	return all
}

func TestMembershipBothWays(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/jane/members/ann", `{"role":"owner"}`)
	s.Must(201, "PUT", "/v1/accounts/jane/members/bob", `{"role":"viewer"}`)
	s.Must(201, "PUT", "/v1/accounts/market/members/ann", `{"role":"operator"}`)
	s.deliverAll()
	const (
		users    = "Query eventual 21 of PK = ACCOUNT#jane AND SK BETWEEN MEMBER# AND MEMBER#~"
		accounts = "Query GSI2 eventual 21 of PK2 = USER#ann AND PK BETWEEN ACCOUNT# AND ACCOUNT#~"
	)
	other := s.beside()
	members := other.reads("/v1/accounts/jane/members", users)
	shows(t, members, map[string]any{
		"data 0 user": "ann", "data 0 role": "owner", "data 0 account": "jane", "data 1 user": "bob", "data 1 role": "viewer", "data 2": nil,
	})
	shows(t, other.reads("/v1/users/ann/accounts", accounts), map[string]any{
		"data 0 account": "jane", "data 0 role": "owner", "data 1 account": "market", "data 1 role": "operator", "data 2": nil,
	})
	s.Must(200, "DELETE", "/v1/accounts/jane/members/ann", "")
	s.deliverAll()
	shows(t, other.reads("/v1/accounts/jane/members", users), map[string]any{"data 0 user": "bob", "data 1": nil})
	shows(t, other.reads("/v1/users/ann/accounts", accounts), map[string]any{"data 0 account": "market", "data 1": nil})
}

func TestFieldPattern(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
	s.Must(201, "POST", "/v1/trades", trade("t-1", "jane", 10, 150000, `"settle":true`))
	s.deliverAll()
	other := s.beside()

	// Root and elements lie in one partition, by prefix; one query of it has the whole entity.
	other.Must(200, "GET", "/v1/accounts/jane/summary", "")
	var entity []string
	for _, r := range other.requests.take() {
		if r.line() == "Query eventual 103 of PK = ACCOUNT#jane AND SK BETWEEN ACCOUNT AND BALANCE~" {
			for _, item := range r.found() {
				entity = append(entity, key(item))
			}
		}
	}
	if !slices.Equal(entity, []string{
		" ACCOUNT#jane ACCOUNT#jane", " ACCOUNT#jane ACCOUNT_SUMMARY", " ACCOUNT#jane BALANCE#AAPL", " ACCOUNT#jane BALANCE#USD",
	}) {
		t.Errorf("the entity is %q", entity)
	}
	other.reads("/v1/accounts/jane/balances", "Query eventual 21 of PK = ACCOUNT#jane AND SK BETWEEN BALANCE# AND BALANCE#~")

	// An element by its own id, in whichever entity: through the index, and its figures from the table.
	holders := other.reads("/v1/assets/AAPL/holders",
		"Query GSI2 eventual 21 of PK2 = ASSET#AAPL AND PK BETWEEN ACCOUNT# AND ACCOUNT#~",
		"BatchGetItem eventual ACCOUNT#jane BALANCE#AAPL, ACCOUNT#market BALANCE#AAPL")
	shows(t, holders, map[string]any{
		"data 0 account": "jane", "data 0 quantity": "10", "data 1 account": "market", "data 1 quantity": "-10", "data 2": nil,
	})

	// One element changes alone.
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-2","from":"bank","to":"jane","asset":"USD","quantity":"1"}`)
	before := s.items()
	s.requests.take()
	deliver(t, s.service, postingsIn(s, "jane", "USD")...)
	after := s.items()
	const element = "ACCOUNT#jane BALANCE#USD"
	if before[element] == after[element] {
		t.Error("the element did not change")
	}
	delete(before, element)
	delete(after, element)
	if !maps.Equal(before, after) {
		t.Errorf("with the element changed: %s", difference(before, after))
	}
	writes := slices.DeleteFunc(s.requests.take(), func(r request) bool { return !r.writes() })
	sent(t, writes, "PutItem "+element+" if Version = 1")
}
