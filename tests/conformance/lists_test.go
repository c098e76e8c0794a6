package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// ids are ids of accounts, assets, groups and users, in order. Many begin alike.
var ids = []string{"A", "A-1", "A.B", "A:B", "AB", "a", "users", "users:a", "users:b", "usersx", "y", "z"}

// shelf is a table with items, and the lists under test.
type shelf struct {
	*testing.T
	viewstest.Seed
	*projections.Lists
	table table.Table
	views *projections.Views

	// What was stored, in the order of ids.
	accounts []projections.Holder
	balances []projections.Balance
	places   []projections.GroupedAccount
	members  []projections.Membership
}

// newShelf returns an empty table in memory. Pages of lists are cut: each page of a query has one item at most, and comes
// after an empty one, as DynamoDB may cut them.
func newShelf(t *testing.T) *shelf {
	client, name := newMemoryTable(t)
	whole := table.NewTable(client, name)
	cut := table.NewTable(dynamodb.New(client.Options(), tabletest.Cut), name)
	return &shelf{T: t, Seed: viewstest.Seed{Client: client, Name: name}, Lists: projections.NewLists(cut),
		table: whole, views: projections.NewViews(whole)}
}

func (s *shelf) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// open stores the account with the i-th id, perhaps changed. Some ids have none.
func (s *shelf) open(i int, id string) {
	if i%4 == 3 {
		return
	}
	of := projections.Holder{Opened: &events.AccountOpened{
		ID: id, Name: "N", Profile: `{"email":"x@example.com"}`, Metadata: map[string]string{}, Actor: "test",
		At: viewstest.Morning,
	}}
	s.must(s.Put(s.Context(), *of.Opened))
	if i%2 == 0 {
		of.Newest = &events.AccountChanged{
			ID: id, Number: 2, Profile: "{}", Metadata: map[string]string{}, State: events.StateFrozen, Actor: "test",
			At: viewstest.Morning,
		}
		s.must(s.Change(s.Context(), *of.Newest))
	}
	s.accounts = append(s.accounts, of)
}

// relate stores what the i-th id has to do with the j-th: a balance, a place in a group, memberships. Some have ended.
func (s *shelf) relate(i, j int, one, other string) {
	if i*j%2 == 0 {
		s.hold(one, other, events.NewAmount(int64(7+i)))
	}
	if i != 5 && j%3 != 2 {
		s.place(projections.GroupedAccount{Account: other, Group: one, Number: 1, Out: (i+j)%4 == 3})
	}
	m := projections.Membership{User: other, Number: int64(i + 1), Role: events.RoleViewer}
	if (i+j)%4 == 1 {
		m.Role = ""
	}
	if (i+j)%2 == 1 {
		m.Account = one
		s.join(m)
	}
	if j == 0 || (i+j)%3 > 0 {
		m.Account, m.Group = "", one
		s.join(m)
	}
}

func (s *shelf) hold(account, asset string, credits events.Amount) {
	id := viewstest.ID(1)
	b := projections.Balance{Pair: events.Pair{Account: account, Asset: asset}, First: id, Head: projections.Fold{
		Through: id, Credits: credits, Debits: events.NewAmount(3), Expenditure: events.NewAmount(-9), Count: 2,
	}}
	s.must(s.views.Write(s.Context(), projections.Change{Balance: b}))
	b.Version = 1
	s.balances = append(s.balances, b)
}

func (s *shelf) place(g projections.GroupedAccount) {
	s.must(s.views.Show(s.Context(), projections.Places, g))
	s.places = append(s.places, g)
}

func (s *shelf) join(m projections.Membership) {
	s.must(s.views.Show(s.Context(), projections.Members, m))
	s.members = append(s.members, m)
}

// listing reads a page of a list, of one account, asset, user or prefix.
type listing[T any] func(context.Context, string, projections.Slice) (projections.Page[T], error)

// checkPages reads a list in pages of several sizes. Each time, the pages must have all wanted items, once and in
// order.
func checkPages[T any](t *testing.T, list listing[T], of string, wanted []T) {
	t.Helper()
	for _, limit := range []int{1, 2, max(1, len(wanted)), 100} {
		var got []T
		for after, turns := "", 0; ; turns++ {
			page, err := list(t.Context(), of, projections.Slice{After: after, Limit: limit})
			if err != nil || len(page.Items) > limit || turns > 3*len(wanted)+20 {
				t.Fatalf("%q by %d: page %d has %d items, %v", of, limit, turns, len(page.Items), err)
			}
			got = append(got, page.Items...)
			if after = page.Next; after == "" {
				break
			}
		}
		if len(got) != len(wanted) || len(wanted) > 0 && !reflect.DeepEqual(got, wanted) {
			t.Errorf("%q by %d:\n got    %s\n wanted %s", of, limit, shown(got), shown(wanted))
		}
	}
}

// shown returns a value with all that it points to, for failures.
func shown(v any) string {
	text, err := json.Marshal(v)
	return fmt.Sprint(string(text), err)
}

// kept returns those of all that a list shows, as it shows them: keep may change its copy.
func kept[T any](all []T, keep func(*T) bool) (some []T) {
	for _, one := range all {
		if keep(&one) {
			some = append(some, one)
		}
	}
	return some
}

// Lists are filters of all that is stored, in pages of every size. Those by user and by group come from an index, which
// has no numbers. Lists of definitions, of histories and of transactions, which are read alike, are tests/acceptance's.
func TestLists(t *testing.T) {
	s := newShelf(t)
	for i, one := range ids {
		s.open(i, one)
		for j, other := range ids {
			s.relate(i, j, one, other)
		}
	}
	for _, id := range append(ids, "none") {
		s.checkBalances(id)
		s.checkGroups(id)
		s.checkTotals(id)
	}
	for _, account := range []string{"rich:1", "rich:2"} {
		s.hold(account, "much", events.MaxFolded())
		s.place(projections.GroupedAccount{Account: account, Group: "rich", Number: 1})
	}
	if _, err := s.GroupTotals(t.Context(), "rich", projections.Slice{Limit: 2}); !errors.Is(err, events.ErrOverflow) {
		s.Errorf("twice the most: %v", err)
	}
}

func (s *shelf) holder(account string) projections.Holder {
	i := slices.IndexFunc(s.accounts, func(h projections.Holder) bool { return h.Opened.ID == account })
	if i < 0 {
		return projections.Holder{}
	}
	return s.accounts[i]
}

// checkBalances checks the lists of balances that an id has as an account and as an asset.
func (s *shelf) checkBalances(id string) {
	checkPages(s.T, func(ctx context.Context, account string, p projections.Slice) (
		projections.Page[projections.Balance], error,
	) {
		of, all, err := s.Balances(ctx, account, p)
		if !reflect.DeepEqual(of, s.holder(account)) {
			s.Errorf("the account of %q: %s", account, shown(of))
		}
		return all, err
	}, id, kept(s.balances, func(b *projections.Balance) bool { return b.Account == id }))
	var held []projections.Holding
	for _, b := range kept(s.balances, func(b *projections.Balance) bool { return b.Asset == id }) {
		held = append(held, projections.Holding{Balance: b, Holder: s.holder(b.Account)})
	}
	checkPages(s.T, s.Holders, id, held)
}

// checkGroups checks the lists of members and of places that an id has as an account, as a group and as a user.
func (s *shelf) checkGroups(id string) {
	members := func(keep func(m *projections.Membership) bool) []projections.Membership {
		return kept(s.members, func(m *projections.Membership) bool { return m.Role != "" && keep(m) })
	}
	placesIn := func(group string) []projections.GroupedAccount {
		return kept(s.places, func(g *projections.GroupedAccount) bool {
			g.Number = 0
			return g.Group == group && !g.Out
		})
	}
	checkPages(s.T, s.Members, id, members(func(m *projections.Membership) bool { return m.Account == id }))
	checkPages(s.T, s.GroupMembers, id, members(func(m *projections.Membership) bool { return m.Group == id }))
	checkPages(s.T, s.GroupAccounts, id, placesIn(id))
	checkPages(s.T, s.AccountGroups, id, kept(s.places, func(g *projections.GroupedAccount) bool {
		return g.Account == id && !g.Out
	}))
	var reached []projections.AccountRole
	through := members(func(m *projections.Membership) bool {
		if m.Number = 0; m.User == id && m.Account != "" {
			reached = append(reached, projections.AccountRole{Membership: *m})
		}
		return m.User == id && m.Group != ""
	})
	checkPages(s.T, s.GroupsOf, id, through)
	for _, m := range through {
		for _, g := range placesIn(m.Group) {
			direct := m
			direct.Account, direct.Group = g.Account, ""
			reached = append(reached, projections.AccountRole{Membership: direct, Through: m.Group})
		}
	}
	checkPages(s.T, s.AccountsOf, id, reached)
}

// checkTotals checks that the pages of a group's totals add up to those of its accounts, whatever their size.
func (s *shelf) checkTotals(group string) {
	add := func(sums map[string]projections.Total, asset string, accounts int, f projections.Fold) {
		sum, err := sums[asset].Plus(f)
		s.must(err)
		sums[asset] = projections.Total{Asset: asset, Accounts: sums[asset].Accounts + accounts, Fold: sum}
	}
	wanted := make(map[string]projections.Total)
	for _, b := range s.balances {
		if slices.ContainsFunc(s.places, func(g projections.GroupedAccount) bool {
			return g.Account == b.Account && g.Group == group && !g.Out
		}) {
			add(wanted, b.Asset, 1, b.Head)
		}
	}
	for _, limit := range []int{1, 7, 100} {
		sums := make(map[string]projections.Total)
		for after, pages := "", 0; pages == 0 || after != ""; pages++ {
			page, err := s.GroupTotals(s.Context(), group, projections.Slice{After: after, Limit: limit})
			s.must(err)
			balances := 0
			for _, one := range page.Items {
				balances += one.Accounts
				add(sums, one.Asset, one.Accounts, one.Fold)
			}
			if after = page.Next; balances > limit || pages > 100 {
				s.Fatalf("by %d: page %d has %d balances, and the next is behind %q", limit, pages, balances, after)
			}
		}
		if !reflect.DeepEqual(sums, wanted) {
			s.Errorf("%q by %d:\n got    %+v\n wanted %+v", group, limit, sums, wanted)
		}
	}
}
