package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// listSuite is a table with items, and the lists under test.
type listSuite struct {
	viewstest.Seed
	*projections.Lists
	table store.Table
	views *projections.Views
	t     *testing.T
	from  time.Time // time of the first posting; each next one is a microsecond later
	count int
}

// onBothStores runs a test of lists on DynamoDB Local, and in memory with cut pages (see cutPagesTable).
func onBothStores(t *testing.T, test func(*testing.T, *listSuite)) {
	run := func(name string, open func(testing.TB) (client, plain *dynamodb.Client, table string)) {
		t.Run(name, func(t *testing.T) {
			client, plain, table := open(t)
			test(t, &listSuite{
				Seed:  viewstest.Seed{Client: plain, Name: table},
				Lists: projections.NewLists(store.NewTable(client, table)),
				table: store.NewTable(plain, table),
				views: projections.NewViews(store.NewTable(plain, table)),
				t:     t,
				from:  time.Date(2026, 11, 21, 9, 6, 39, 999_990_000, time.UTC), // postings reach into the next second
			})
		})
	}
	run("DynamoDB Local", func(t testing.TB) (client, plain *dynamodb.Client, table string) {
		client, table = newTable(t)
		return client, client, table
	})
	run("memory, with cut pages", cutPagesTable)
}

func (s *listSuite) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *listSuite) open(account string) events.AccountOpened {
	s.t.Helper()
	e := events.AccountOpened{
		ID: account, Name: "Account " + account, Profile: `{"email":"x@example.com"}`, Actor: "test", At: s.from,
		Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": events.NewAmount(5)}},
	}
	s.must(s.Put(s.t.Context(), e))
	return e
}

// post puts a posting, a microsecond after the one before.
func (s *listSuite) post(account, asset string) events.PostingRecorded {
	s.t.Helper()
	e := events.PostingRecorded{
		Leg: events.Leg{
			ID:      events.FirstKSUID(s.from.Add(time.Duration(s.count) * time.Microsecond)),
			Account: account, Asset: asset, Quantity: events.NewAmount(int64(s.count)),
		},
		Transaction: fmt.Sprintf("t-%d", s.count), Kind: events.KindTransfer, Description: "some",
	}
	s.count++
	s.must(s.Put(s.t.Context(), e))
	return e
}

func (s *listSuite) writeBalance(account, asset string) projections.Balance {
	s.t.Helper()
	b := projections.Balance{
		Pair:  events.Pair{Account: account, Asset: asset},
		Head:  projections.Fold{Through: events.FirstKSUID(s.from), Credits: events.NewAmount(7), Count: 1},
		First: events.FirstKSUID(s.from),
	}
	s.must(s.views.Write(s.t.Context(), projections.Change{Balance: b}))
	b.Version = 1
	return b
}

// listing reads a page of a list, of one account, asset, user or prefix.
type listing[T any] func(context.Context, string, projections.Slice) (projections.Page[T], error)

// checkPages reads a list in pages of several sizes. Each time, the pages must have all wanted items, once and in
// order.
func checkPages[T any](t *testing.T, list listing[T], of string, wanted ...T) {
	t.Helper()
	for _, limit := range []int{1, 2, max(1, len(wanted)), 100} {
		var got []T
		for after, turns := "", 0; ; turns++ {
			page, err := list(t.Context(), of, projections.Slice{After: after, Limit: limit})
			if err != nil || len(page.Items) > limit || turns > 30 {
				t.Fatalf("%q by %d: page %d has %d items, %v", of, limit, turns, len(page.Items), err)
			}
			got = append(got, page.Items...)
			if after = page.Next; after == "" {
				break
			}
		}
		if len(got) != len(wanted) || len(wanted) > 0 && !reflect.DeepEqual(got, wanted) {
			t.Errorf("%q by %d:\n got    %+v\n wanted %+v", of, limit, got, wanted)
		}
	}
}

func TestListsOfBalancesAndHolders(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		var ofJane, ofUSD []projections.Balance
		for _, asset := range []string{"A", "A-1", "A.B", "AB", "USD"} { // ids with a common prefix
			s.post("jane", asset)
			ofJane = append(ofJane, s.writeBalance("jane", asset))
		}
		for _, account := range []string{"a", "a:b", "ab"} {
			ofUSD = append(ofUSD, s.writeBalance(account, "USD"))
		}
		s.writeBalance("jane:x", "USDC")
		balances := func(ctx context.Context, account string, page projections.Slice) (
			projections.Page[projections.Balance], error,
		) {
			_, all, err := s.Balances(ctx, account, page)
			return all, err
		}
		holders := func(ctx context.Context, asset string, page projections.Slice) (
			all projections.Page[projections.Balance], err error,
		) {
			held, err := s.Holders(ctx, asset, page)
			for _, holding := range held.Items {
				all.Items = append(all.Items, holding.Balance)
			}
			all.Next = held.Next
			return all, err
		}
		checkPages(t, balances, "jane", ofJane...)
		checkPages(t, holders, "USD", append(ofUSD, ofJane[4])...)
		checkPages(t, holders, "US")
		b, err := s.Balance(t.Context(), ofJane[0].Pair)
		none := projections.Balance{Pair: events.Pair{Account: "jane", Asset: "EUR"}}
		absent, err2 := s.Balance(t.Context(), none.Pair)
		if errors.Join(err, err2) != nil || b.Balance != ofJane[0] || absent.Balance != none {
			t.Errorf("balance %+v; that isn't there: %+v; %v, %v", b, absent, err, err2)
		}
	})
}

func TestAccountPageListsBalances(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		wantPage := func(limit int, account *events.AccountOpened, summary projections.Summary, next string,
			balances ...projections.Balance) {
			t.Helper()
			got, err := s.AccountPage(t.Context(), "jane", limit)
			s.must(err)
			if !reflect.DeepEqual(got.Opened, account) || got.Newest != nil || got.Summary != summary ||
				!slices.Equal(got.Balances.Items, balances) || got.Balances.Next != next {
				t.Errorf("by %d: %+v", limit, got)
			}
		}
		none := projections.Summary{Account: "jane"}
		wantPage(10, nil, none, "")
		// Items whose keys sort before and after the page must not be in it.
		s.post("jane", "USD")
		s.must(s.Grant(t.Context(), projections.Membership{Account: "jane", User: "ann", Role: events.RoleOwner,
			Number: 1}))
		s.open("jane:x")
		first := s.writeBalance("jane", "AAPL")
		wantPage(10, nil, none, "", first)
		account := s.open("jane")
		second := projections.Balance{Pair: events.Pair{Account: "jane", Asset: "USD"}}
		summary := projections.Summary{Account: "jane", Assets: 2, Holdings: 1, First: events.FirstKSUID(s.from)}
		s.must(s.views.Write(t.Context(), projections.Change{Balance: second, Summary: &summary}))
		second.Version, summary.Version = 1, 1
		wantPage(1, &account, summary, "AAPL", first)
		wantPage(2, &account, summary, "", first, second)
		wantPage(9, &account, summary, "", first, second)
	})
}

func TestListsOfHistory(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		var all, ofA []events.PostingRecorded
		for _, asset := range []string{"A", "A.B", "A", "USD", "A-1", "A", "B"} {
			p := s.post("jane", asset)
			all = append([]events.PostingRecorded{p}, all...)
			if asset == "A" {
				ofA = append([]events.PostingRecorded{p}, ofA...)
			}
			s.post("jane:x", asset)
		}
		at := func(n int) time.Time { return s.from.Add(time.Duration(n) * time.Microsecond) }
		for _, span := range []projections.Span{
			{}, {From: at(2)}, {To: at(2)}, {From: at(2), To: at(10)},
			{From: at(2).Add(1), To: at(10).Add(1)}, // between two microseconds
			{From: at(10), To: at(2)}, {From: at(4), To: at(4)},
			{From: time.Unix(1, 0), To: time.Unix(1<<40, 0)}, // before and after all KSUIDs
			{From: time.Unix(1<<40, 0)}, {To: time.Unix(1, 0)},
		} {
			within := func(postings []events.PostingRecorded) []events.PostingRecorded {
				return slices.DeleteFunc(slices.Clone(postings), func(p events.PostingRecorded) bool {
					at := p.ID.Time()
					return !span.From.IsZero() && at.Before(span.From) || !span.To.IsZero() && !at.Before(span.To)
				})
			}
			history := func(ctx context.Context, account string,
				slice projections.Slice) (projections.Page[events.PostingRecorded], error) {
				return s.History(ctx, account, span, slice)
			}
			checkPages(t, history, "jane", within(all)...)
			for _, strong := range []bool{false, true} {
				historyOf := func(ctx context.Context, asset string,
					slice projections.Slice) (projections.Page[events.PostingRecorded], error) {
					return s.HistoryOf(ctx, events.Pair{Account: "jane", Asset: asset}, span, slice, strong)
				}
				checkPages(t, historyOf, "A", within(ofA)...)
			}
		}
		// The newest postings come with the account, if the index has it already. The next page has the rest.
		wantNewest := func(account *events.AccountOpened, n int) {
			t.Helper()
			opened, newest, err := s.Newest(t.Context(), "jane", n)
			s.must(err)
			var rest projections.Page[events.PostingRecorded]
			if newest.Next != "" {
				rest, err = s.History(t.Context(), "jane", projections.Span{},
					projections.Slice{After: newest.Next, Limit: 100})
				s.must(err)
			}
			if !reflect.DeepEqual(opened, account) || !slices.Equal(newest.Items, all[:min(n, len(all))]) ||
				!slices.Equal(rest.Items, all[min(n, len(all)):]) {
				t.Errorf("newest %d: %+v, %+v, then %+v", n, opened, newest.Items, rest.Items)
			}
		}
		wantNewest(nil, 1)
		wantNewest(nil, 7)
		account := s.open("jane")
		for _, n := range []int{0, 1, 6, 7, 50} {
			wantNewest(&account, n)
		}
		if opened, none, err := s.Newest(t.Context(), "joe", 3); opened != nil || len(none.Items) != 0 || err != nil {
			t.Errorf("of nothing: %+v, %+v, %v", opened, none, err)
		}
	})
}

func TestListsOfDefinitions(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		var assets []events.AssetRegistered
		var accounts []projections.Holder
		for i, id := range []string{"A", "Z", "users", "users:a", "users:b", "usersx"} {
			asset := events.AssetRegistered{ID: id, Name: "Asset " + id, Description: "some", Scale: i, Actor: "test",
				At: s.from}
			if i > 0 {
				asset.Currency = "A"
			}
			s.must(s.Put(t.Context(), asset))
			asset.Actor = ""
			assets = append(assets, asset)
			account := s.open(id)
			account.Actor, account.Profile = "", ""
			accounts = append(accounts, projections.Holder{Opened: &account})
			s.writeBalance(id, "A") // in the same index
		}
		for prefix, which := range map[string][2]int{"": {0, 6}, "users": {2, 6}, "users:": {3, 5}, "users:b": {4, 5},
			"users:c": {0, 0}} {
			checkPages(t, s.Assets, prefix, assets[which[0]:which[1]]...)
			checkPages(t, s.Accounts, prefix, accounts[which[0]:which[1]]...)
		}
		// A position after all ids with the prefix.
		page, err := s.Accounts(t.Context(), "users:", projections.Slice{After: "usersx", Limit: 5})
		if err != nil || len(page.Items) != 0 || page.Next != "" {
			t.Errorf("after the last: %+v, %v", page, err)
		}
	})
}

func TestListsOfMembers(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		member := func(account, user string, role events.Role, number int64) projections.Membership {
			m := projections.Membership{Account: account, User: user, Role: role, Number: number}
			s.must(s.views.Show(t.Context(), projections.Members, m))
			return m
		}
		ann, cal := member("jane", "ann", events.RoleOwner, 1), member("jane", "cal", events.RoleOperator, 3)
		other := member("shop", "ann", events.RoleViewer, 1)
		member("zoo", "ann", "", 2)
		// Revocation removes bob and dan from both lists. A page may have fewer items than its limit.
		for _, user := range []string{"bob", "dan"} {
			member("jane", user, events.RoleViewer, 1)
			member("jane", user, "", 2)
		}
		checkPages(t, s.Members, "jane", ann, cal)
		ann.Number, other.Number, cal.Number = 0, 0, 0 // not in the index
		checkPages(t, s.AccountsOf, "ann", projections.AccountRole{Membership: ann},
			projections.AccountRole{Membership: other})
		checkPages(t, s.AccountsOf, "cal", projections.AccountRole{Membership: cal})
		checkPages(t, s.AccountsOf, "bob")
	})
}
