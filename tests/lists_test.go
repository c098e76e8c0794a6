package tests

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	projectionsdynamo "ledger.example/projections/dynamo"
)

// shelf is a table with something to list.
type shelf struct {
	eventSeed
	*projectionsdynamo.Lists
	views *projectionsdynamo.Views
	t     *testing.T
	from  time.Time // of the first posting; each is a microsecond after the one before it
	count int
}

func newShelf(t *testing.T) *shelf {
	client, name := newTable(t)
	return &shelf{
		eventSeed: eventSeed{client, name},
		Lists:     projectionsdynamo.NewLists(client, name),
		views:     projectionsdynamo.NewViews(client, name),
		t:         t,
		from:      time.Date(2026, 11, 21, 9, 6, 39, 999_990_000, time.UTC), // into the next second
	}
}

func (s *shelf) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) open(account string) events.AccountOpened {
	s.t.Helper()
	e := events.AccountOpened{
		ID: account, Name: "Account " + account, Profile: `{"email":"x@example.com"}`, Actor: "test", At: s.from,
		Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": events.NewAmount(5)}},
	}
	s.must(s.put(s.t.Context(), e))
	return e
}

// post puts a posting a microsecond after the one before it.
func (s *shelf) post(account, asset string) events.PostingRecorded {
	s.t.Helper()
	e := events.PostingRecorded{
		Leg: events.Leg{
			ID:      events.FirstKSUID(s.from.Add(time.Duration(s.count) * time.Microsecond)),
			Account: account, Asset: asset, Quantity: events.NewAmount(int64(s.count)),
		},
		Transaction: fmt.Sprintf("t-%d", s.count), Kind: events.KindTransfer, Description: "some",
	}
	s.count++
	s.must(s.put(s.t.Context(), e))
	return e
}

// hold makes a balance.
func (s *shelf) hold(account, asset string) projections.Balance {
	s.t.Helper()
	b := projections.Balance{
		Key:   projections.Key{Account: account, Asset: asset},
		Head:  projections.Fold{Through: events.FirstKSUID(s.from), Credits: events.NewAmount(7), Count: 1},
		First: events.FirstKSUID(s.from),
	}
	s.must(s.views.Write(s.t.Context(), projections.Change{Balance: b}))
	b.Version = 1
	return b
}

// pages walks a list in pages of several sizes: each walk gives all of wanted, once and in order, and ends.
func pages[T any](t *testing.T, what string, wanted []T, list func(context.Context, projections.Slice) (projections.Listed[T], error)) {
	t.Helper()
	for _, limit := range []int{1, 2, len(wanted), 100} {
		if limit == 0 {
			continue
		}
		var got []T
		for after, turns := "", 0; ; turns++ {
			page, err := list(t.Context(), projections.Slice{After: after, Limit: limit})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if len(page.Items) > limit || turns > 20 {
				t.Fatalf("%s by %d: page %d has %d things", what, limit, turns, len(page.Items))
			}
			got = append(got, page.Items...)
			if after = page.Next; after == "" {
				break
			}
		}
		if len(got) != len(wanted) || len(wanted) > 0 && !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s by %d:\n got    %+v\n wanted %+v", what, limit, got, wanted)
		}
	}
}

func TestListsOfBalancesAndHolders(t *testing.T) {
	s := newShelf(t)
	var ofJane, ofUSD []projections.Balance
	for _, asset := range []string{"A", "A-1", "A.B", "AB", "USD"} { // ids that begin alike
		s.post("jane", asset)
		ofJane = append(ofJane, s.hold("jane", asset))
	}
	for _, account := range []string{"a", "a:b", "ab"} {
		ofUSD = append(ofUSD, s.hold(account, "USD"))
	}
	ofUSD = append(ofUSD, ofJane[4])
	s.hold("jane:x", "USDC")

	pages(t, "balances", ofJane, func(ctx context.Context, slice projections.Slice) (projections.Listed[projections.Balance], error) {
		return s.Balances(ctx, "jane", slice)
	})
	pages(t, "holders", ofUSD, func(ctx context.Context, slice projections.Slice) (projections.Listed[projections.Balance], error) {
		return s.Holders(ctx, "USD", slice)
	})
	pages(t, "holders of nothing", nil, func(ctx context.Context, slice projections.Slice) (projections.Listed[projections.Balance], error) {
		return s.Holders(ctx, "US", slice)
	})
	b, err := s.Balance(t.Context(), projections.Key{Account: "jane", Asset: "A"})
	s.must(err)
	if b != ofJane[0] {
		t.Errorf("balance %+v", b)
	}
	if _, err := s.Balance(t.Context(), projections.Key{Account: "jane", Asset: "EUR"}); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("a balance that isn't there: %v", err)
	}
}

func TestListOfAnAccountsPage(t *testing.T) {
	s := newShelf(t)
	page := func(limit int) (*events.AccountOpened, projections.Summary, projections.Listed[projections.Balance]) {
		t.Helper()
		opened, summary, balances, err := s.AccountPage(t.Context(), "jane", limit)
		s.must(err)
		return opened, summary, balances
	}
	none := projections.Summary{Account: "jane"}
	if opened, summary, balances := page(10); opened != nil || summary != none || len(balances.Items) != 0 || balances.Next != "" {
		t.Errorf("of nothing: %+v, %+v, %+v", opened, summary, balances)
	}
	// Of what sorts around the page, nothing is in it.
	s.post("jane", "USD")
	s.must(s.Grant(t.Context(), projections.Membership{Account: "jane", User: "ann", Role: events.RoleOwner, Number: 1}))
	s.open("jane:x")
	first := s.hold("jane", "AAPL")
	if opened, summary, balances := page(10); opened != nil || summary != none || !slices.Equal(balances.Items, []projections.Balance{first}) {
		t.Errorf("of a balance alone: %+v, %+v, %+v", opened, summary, balances)
	}
	account := s.open("jane")
	second := projections.Balance{Key: projections.Key{Account: "jane", Asset: "USD"}}
	summary := projections.Summary{Account: "jane", Assets: 2, Holdings: 1, First: events.FirstKSUID(s.from)}
	s.must(s.views.Write(t.Context(), projections.Change{Balance: second, Summary: &summary}))
	second.Version, summary.Version = 1, 1

	for limit, wanted := range map[int]projections.Listed[projections.Balance]{
		1: {Items: []projections.Balance{first}, Next: "AAPL"},
		2: {Items: []projections.Balance{first, second}},
		9: {Items: []projections.Balance{first, second}},
	} {
		opened, gotSummary, balances := page(limit)
		if opened == nil || !reflect.DeepEqual(*opened, account) || gotSummary != summary || !reflect.DeepEqual(balances, wanted) {
			t.Errorf("by %d: %+v, %+v, %+v", limit, opened, gotSummary, balances)
		}
	}
}

func TestListsOfHistory(t *testing.T) {
	s := newShelf(t)
	var all, ofA []events.PostingRecorded
	for _, asset := range []string{"A", "A.B", "A", "USD", "A-1", "A", "B"} {
		p := s.post("jane", asset)
		all = append(all, p)
		if asset == "A" {
			ofA = append(ofA, p)
		}
		s.post("jane:x", asset)
	}
	account := s.open("jane")
	slices.Reverse(all)
	slices.Reverse(ofA)
	a := projections.Key{Account: "jane", Asset: "A"}

	microseconds := func(n int) time.Time { return s.from.Add(time.Duration(n) * time.Microsecond) }
	for _, span := range []projections.Span{
		{},
		{From: microseconds(2)},
		{To: microseconds(2)},
		{From: microseconds(2), To: microseconds(10)},
		{From: microseconds(2).Add(1), To: microseconds(10).Add(1)}, // between two microseconds
		{From: microseconds(10), To: microseconds(2)},
		{From: microseconds(4), To: microseconds(4)},
		{From: time.Unix(1, 0), To: time.Unix(1<<40, 0)}, // before and after all KSUIDs
		{From: time.Unix(1<<40, 0)},
		{To: time.Unix(1, 0)},
	} {
		within := func(postings []events.PostingRecorded) (some []events.PostingRecorded) {
			for _, p := range postings {
				at := p.ID.Time()
				if (span.From.IsZero() || !at.Before(span.From)) && (span.To.IsZero() || at.Before(span.To)) {
					some = append(some, p)
				}
			}
			return some
		}
		pages(t, fmt.Sprintf("history in %v", span), within(all), func(ctx context.Context, slice projections.Slice) (projections.Listed[events.PostingRecorded], error) {
			return s.History(ctx, "jane", span, slice)
		})
		for _, strong := range []bool{false, true} {
			pages(t, fmt.Sprintf("history of A in %v", span), within(ofA), func(ctx context.Context, slice projections.Slice) (projections.Listed[events.PostingRecorded], error) {
				return s.HistoryOf(ctx, a, span, slice, strong)
			})
		}
	}

	for n, wanted := range map[int][]events.PostingRecorded{0: nil, 1: all[:1], 6: all[:6], 7: all, 50: all} {
		opened, newest, err := s.Newest(t.Context(), "jane", n)
		s.must(err)
		if opened == nil || !reflect.DeepEqual(*opened, account) || !slices.Equal(newest.Items, wanted) {
			t.Errorf("newest %d: %+v, %+v", n, opened, newest.Items)
		}
		// Going on from there gives the rest.
		var rest projections.Listed[events.PostingRecorded]
		if newest.Next != "" {
			rest, err = s.History(t.Context(), "jane", projections.Span{}, projections.Slice{After: newest.Next, Limit: 100})
			s.must(err)
		}
		if !slices.Equal(rest.Items, all[min(n, len(all)):]) {
			t.Errorf("after the newest %d: %+v", n, rest.Items)
		}
	}
}

// An account that the index doesn't hold yet has a page of its newest postings all the same.
func TestNewestOfAnAccountNotIndexed(t *testing.T) {
	s := newShelf(t)
	opened, newest, err := s.Newest(t.Context(), "jane", 3)
	s.must(err)
	if opened != nil || len(newest.Items) != 0 || newest.Next != "" {
		t.Errorf("of nothing: %+v, %+v", opened, newest)
	}
	first, second := s.post("jane", "USD"), s.post("jane", "EUR")
	for n, wanted := range map[int]projections.Listed[events.PostingRecorded]{
		1: {Items: []events.PostingRecorded{second}, Next: string(second.ID)},
		2: {Items: []events.PostingRecorded{second, first}},
	} {
		opened, newest, err := s.Newest(t.Context(), "jane", n)
		s.must(err)
		if opened != nil || !reflect.DeepEqual(newest, wanted) {
			t.Errorf("newest %d: %+v, %+v", n, opened, newest)
		}
	}
}

func TestListsOfDefinitions(t *testing.T) {
	s := newShelf(t)
	var assets []events.AssetRegistered
	var accounts []events.AccountOpened
	for i, id := range []string{"A", "Z", "users", "users:a", "users:b", "usersx"} {
		asset := events.AssetRegistered{ID: id, Name: "Asset " + id, Description: "some", Scale: i, Actor: "test", At: s.from}
		if i > 0 {
			asset.Currency = "A"
		}
		s.must(s.put(t.Context(), asset))
		asset.Actor = ""
		assets = append(assets, asset)
		account := s.open(id)
		account.Actor, account.Profile = "", ""
		accounts = append(accounts, account)
		s.hold(id, "A") // in the same index
	}
	for prefix, which := range map[string][2]int{"": {0, 6}, "users": {2, 6}, "users:": {3, 5}, "users:b": {4, 5}, "users:c": {0, 0}} {
		pages(t, "assets "+prefix, assets[which[0]:which[1]], func(ctx context.Context, slice projections.Slice) (projections.Listed[events.AssetRegistered], error) {
			return s.Assets(ctx, prefix, slice)
		})
		pages(t, "accounts "+prefix, accounts[which[0]:which[1]], func(ctx context.Context, slice projections.Slice) (projections.Listed[events.AccountOpened], error) {
			return s.Accounts(ctx, prefix, slice)
		})
	}
	// A position above all that has the prefix.
	page, err := s.Accounts(t.Context(), "users:", projections.Slice{After: "usersx", Limit: 5})
	s.must(err)
	if len(page.Items) != 0 || page.Next != "" {
		t.Errorf("after the last: %+v", page)
	}
}

func TestListsOfMembers(t *testing.T) {
	s := newShelf(t)
	member := func(account, user string, role events.Role, number int64) projections.Membership {
		m := projections.Membership{Account: account, User: user, Role: role, Number: number}
		s.must(s.views.WriteMembership(t.Context(), m))
		return m
	}
	ann := member("jane", "ann", events.RoleOwner, 1)
	member("jane", "bob", events.RoleViewer, 1)
	cal := member("jane", "cal", events.RoleOperator, 3)
	member("jane", "dan", events.RoleViewer, 1)
	other := member("shop", "ann", events.RoleViewer, 1)
	member("zoo", "ann", "", 2)
	members := func(ctx context.Context, slice projections.Slice) (projections.Listed[projections.Membership], error) {
		return s.Members(ctx, "jane", slice)
	}
	accountsOf := func(user string) func(context.Context, projections.Slice) (projections.Listed[projections.Membership], error) {
		return func(ctx context.Context, slice projections.Slice) (projections.Listed[projections.Membership], error) {
			return s.AccountsOf(ctx, user, slice)
		}
	}
	// Revoking takes bob and dan out of both lists; a page may come short, also the last one.
	member("jane", "bob", "", 2)
	member("jane", "dan", "", 2)
	pages(t, "members", []projections.Membership{ann, cal}, members)
	ann.Number, other.Number, cal.Number = 0, 0, 0 // the index doesn't hold it
	pages(t, "accounts of ann", []projections.Membership{ann, other}, accountsOf("ann"))
	pages(t, "accounts of cal", []projections.Membership{cal}, accountsOf("cal"))
	pages(t, "accounts of bob", nil, accountsOf("bob"))
}
