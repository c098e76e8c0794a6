package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

var instant = time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)

// Lists of groups, of their accounts and of their members are right in pages of every size, and leave out what was
// removed.
func TestListsOfGroups(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		var all []events.GroupRegistered
		for _, id := range []string{"desk", "desk-2", "desk:a", "idle", "pages"} {
			g := events.GroupRegistered{ID: id, Name: "N", Actor: "tester", At: instant}
			s.must(s.Put(t.Context(), g))
			g.Actor = "" // not in the index
			all = append(all, g)
		}
		checkPages(t, s.Groups, "", all...)
		checkPages(t, s.Groups, "desk", all[:3]...)
		checkPages(t, s.Groups, "x")

		place := func(account, group string, number int64, out bool) projections.GroupedAccount {
			g := projections.GroupedAccount{Account: account, Group: group, Number: number, Out: out}
			s.must(s.views.Show(t.Context(), projections.Places, g))
			g.Number = 0 // not in the index
			return g
		}
		janeDesk, janeIdle := place("jane", "desk", 1, false), place("jane", "idle", 2, false)
		shopDesk := place("shop", "desk", 1, false)
		for _, account := range []string{"ann", "jane-2", "zoo"} {
			place(account, "desk", 1, false)
			place(account, "desk", 2, true)
		}
		place("ann", "desk", 1, false) // arrives late, and changes nothing
		checkPages(t, s.GroupAccounts, "desk", janeDesk, shopDesk)
		checkPages(t, s.GroupAccounts, "idle", janeIdle)
		checkPages(t, s.GroupAccounts, "desk-2")
		janeDesk.Number, janeIdle.Number = 1, 2
		checkPages(t, s.AccountGroups, "jane", janeDesk, janeIdle)
		checkPages(t, s.AccountGroups, "ann")

		member := func(group, user string, role events.Role, number int64) projections.Membership {
			m := projections.Membership{Group: group, User: user, Role: role, Number: number}
			s.must(s.views.Show(t.Context(), projections.Members, m))
			return m
		}
		annDesk, bobDesk := member("desk", "ann", events.RoleOwner, 1), member("desk", "bob", events.RoleViewer, 3)
		annIdle := member("idle", "ann", events.RoleOperator, 1)
		member("desk", "cal", "", 2)
		direct := projections.Membership{Account: "shop", User: "ann", Role: events.RoleViewer, Number: 1}
		s.must(s.views.Show(t.Context(), projections.Members, direct))
		checkPages(t, s.GroupMembers, "desk", annDesk, bobDesk)
		annDesk.Number, annIdle.Number, direct.Number = 0, 0, 0 // not in the index
		checkPages(t, s.GroupsOf, "ann", annDesk, annIdle)
		checkPages(t, s.GroupsOf, "cal")

		through := func(m projections.Membership, account string) projections.AccountRole {
			group := m.Group
			m.Account, m.Group = account, ""
			return projections.AccountRole{Membership: m, Through: group}
		}
		checkPages(t, s.AccountsOf, "ann", projections.AccountRole{Membership: direct}, through(annDesk, "jane"),
			through(annDesk, "shop"), through(annIdle, "jane"))
		bobDesk.Number = 0
		checkPages(t, s.AccountsOf, "bob", through(bobDesk, "jane"), through(bobDesk, "shop"))
		checkPages(t, s.AccountsOf, "cal")
		// More groups than one page of accounts covers, some of them empty.
		var many []projections.AccountRole
		for i := range 13 {
			group := fmt.Sprintf("g%02d", i)
			m := member(group, "dan", events.RoleViewer, 1)
			m.Number = 0
			if i%4 == 1 {
				place("jane", group, 1, false)
				many = append(many, through(m, "jane"))
			}
		}
		checkPages(t, s.AccountsOf, "dan", many...)
	})
}

// Totals are the sums of all accounts of a group, whatever the page size. A sum out of range is an error.
func TestTotalsOfGroups(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		join := func(account, group string) {
			s.must(s.views.Show(t.Context(), projections.Places,
				projections.GroupedAccount{Account: account, Group: group, Number: 1}))
		}
		hold := func(account, asset string, credits, debits, cost int64) {
			s.must(s.views.Write(t.Context(), projections.Change{Balance: projections.Balance{
				Pair: events.Pair{Account: account, Asset: asset}, First: "0", Head: projections.Fold{
					Through: "0", Credits: events.NewAmount(credits), Debits: events.NewAmount(debits),
					Expenditure: events.NewAmount(cost), Count: 2, PendingDebits: events.NewAmount(1),
				},
			}}))
		}
		for i, account := range []string{"a", "b", "c"} {
			join(account, "desk")
			hold(account, "USD", 10, int64(i), 0)
		}
		hold("a", "AAPL", 5, 0, 70)
		hold("c", "EUR", 0, 3, -9)
		hold("other", "USD", 1000, 0, 0)
		total := func(asset string, accounts int, credits, debits, cost int64) projections.Total {
			return projections.Total{Asset: asset, Accounts: accounts, Fold: projections.Fold{
				Credits: events.NewAmount(credits), Debits: events.NewAmount(debits),
				Expenditure: events.NewAmount(cost), Count: int64(2 * accounts),
				PendingDebits: events.NewAmount(int64(accounts)),
			}}
		}
		join("b-empty", "desk")
		wanted := []projections.Total{total("AAPL", 1, 5, 0, 70), total("EUR", 1, 0, 3, -9), total("USD", 3, 30, 3, 0)}
		for limit := 1; limit <= 6; limit++ {
			var sums []projections.Total
			for after, pages := "", 0; pages == 0 || after != ""; pages++ {
				page, err := s.GroupTotals(t.Context(), "desk", projections.Slice{After: after, Limit: limit})
				s.must(err)
				balances := 0
				for _, one := range page.Items {
					balances += one.Accounts
					i := slices.IndexFunc(sums, func(sum projections.Total) bool { return sum.Asset == one.Asset })
					if i < 0 {
						sums = append(sums, one)
						continue
					}
					sums[i].Accounts += one.Accounts
					sums[i].Fold, err = sums[i].Plus(one.Fold)
					s.must(err)
				}
				if after = page.Next; balances > limit || pages > 6 {
					t.Fatalf("by %d: page %d has %d balances, and the next is behind %q", limit, pages, balances, after)
				}
			}
			slices.SortFunc(sums, func(a, b projections.Total) int { return strings.Compare(a.Asset, b.Asset) })
			if !slices.Equal(sums, wanted) {
				t.Errorf("by %d:\n got    %+v\n wanted %+v", limit, sums, wanted)
			}
		}
		// A position in an account that is not in the group shows nothing of it.
		page, err := s.GroupTotals(t.Context(), "desk", projections.Slice{After: "other#AAPL", Limit: 100})
		if err != nil || len(page.Items) > 0 || page.Next != "" {
			t.Errorf("behind another account: %+v, %v", page, err)
		}
		if page, err = s.GroupTotals(t.Context(), "none", projections.Slice{Limit: 1}); err != nil || len(page.Items) > 0 {
			t.Errorf("of no group: %+v, %v", page, err)
		}

		most := events.MaxFolded()
		for _, account := range []string{"x", "y"} {
			join(account, "rich")
			s.must(s.views.Write(t.Context(), projections.Change{Balance: projections.Balance{
				Pair: events.Pair{Account: account, Asset: "USD"}, First: "0",
				Head: projections.Fold{Through: "0", Credits: most, Count: 1},
			}}))
		}
		if _, err := s.GroupTotals(t.Context(), "rich", projections.Slice{Limit: 2}); !errors.Is(err, events.ErrOverflow) {
			t.Errorf("twice the most: %v", err)
		}
	})
}
