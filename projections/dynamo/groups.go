package dynamo

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

const (
	// groupsOfPage is the maximum number of groups that one page of a user's accounts reads.
	groupsOfPage = 10
	// totalsAtOnce is the maximum number of accounts whose balances are read in parallel for the totals of a group.
	totalsAtOnce = 16
)

// Groups implements projections.Lists.
func (l *Lists) Groups(ctx context.Context, prefix string, s projections.Slice) (
	projections.Page[events.GroupRegistered], error,
) {
	r := table.Group.Partitions().After(s.After).Beginning(prefix)
	q := ddb.WithinInverse(table.Group.PK2(), r, &dynamodb.QueryInput{})
	return list(ctx, l, "list groups", r, q, s.Limit, table.Group.Parse, decodeListed[events.GroupRegistered])
}

// GroupMembers implements projections.Lists.
func (l *Lists) GroupMembers(ctx context.Context, group string, s projections.Slice) (
	projections.Page[projections.Membership], error,
) {
	return l.members(ctx, table.Group.PK(group), s, table.GroupMembership.Parse)
}

// GroupsOf implements projections.Lists.
func (l *Lists) GroupsOf(ctx context.Context, user string, s projections.Slice) (
	projections.Page[projections.Membership], error,
) {
	return l.groupsOf(ctx, user, table.Group.Partitions().After(s.After), s.Limit)
}

func (l *Lists) groupsOf(ctx context.Context, user string, r table.Range, limit int) (
	projections.Page[projections.Membership], error,
) {
	q := ddb.WithinInverse(table.Membership.PK2(user), r, &dynamodb.QueryInput{})
	group := firstOf(table.GroupMembership.Parse)
	groups, err := list(ctx, l, "list groups of a user", r, q, limit, group, decodeMembership)
	return withoutRevoked(groups), err
}

// GroupAccounts implements projections.Lists.
func (l *Lists) GroupAccounts(ctx context.Context, group string, s projections.Slice) (
	projections.Page[projections.GroupedAccount], error,
) {
	return l.groupAccounts(ctx, group, table.Account.Partitions().After(s.After), s.Limit)
}

func (l *Lists) groupAccounts(ctx context.Context, group string, r table.Range, limit int) (
	projections.Page[projections.GroupedAccount], error,
) {
	q := ddb.WithinInverse(table.Grouped.PK2(group), r, &dynamodb.QueryInput{})
	return list(ctx, l, "list accounts of a group", r, q, limit, firstOf(table.Grouped.Parse), decodeGrouped)
}

// AccountGroups implements projections.Lists.
func (l *Lists) AccountGroups(ctx context.Context, account string, s projections.Slice) (
	projections.Page[projections.GroupedAccount], error,
) {
	r := table.Grouped.All().After(s.After)
	q := ddb.Within(table.Account.PK(account), r, &dynamodb.QueryInput{})
	group := secondOf(table.Grouped.Parse)
	groups, err := list(ctx, l, "list groups of an account", r, q, s.Limit, group, decodeGrouped)
	groups.Items = slices.DeleteFunc(groups.Items, func(g projections.GroupedAccount) bool { return g.Out })
	return groups, err
}

// AccountsOf implements projections.Lists. Positions have one of these forms:
//
//	account         after an account that the user is a member of
//	#               before the first group
//	#group#account  after an account of a group
//	#group          after the last account of a group
func (l *Lists) AccountsOf(ctx context.Context, user string, s projections.Slice) (
	page projections.Page[projections.AccountRole], err error,
) {
	defer annotate(&err, "list accounts of a user")
	position, inGroups := strings.CutPrefix(s.After, "#")
	group, account, withinGroup := strings.Cut(position, "#")
	r := table.Group.Partitions()
	if inGroups {
		r = table.Group.Partitions().After(group)
	}
	if withinGroup {
		r.From = table.Group.PK(group) // the group may have more accounts
	}
	var groups projections.Page[projections.Membership]
	both, bothCtx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		groups, err = l.groupsOf(bothCtx, user, r, groupsOfPage)
		return err
	})
	if !inGroups {
		both.Go(func() error {
			direct, err := l.directOf(bothCtx, user, s)
			for _, m := range direct.Items {
				page.Items = append(page.Items, projections.AccountRole{Membership: m})
			}
			page.Next = direct.Next
			return err
		})
	}
	if err := both.Wait(); err != nil || page.Next != "" {
		return page, err
	}
	if len(page.Items) >= s.Limit && len(groups.Items) > 0 {
		page.Next = "#"
		return page, nil
	}
	return page, l.through(ctx, groups, group, account, s.Limit, &page)
}

// directOf lists the current memberships of a user by account.
func (l *Lists) directOf(ctx context.Context, user string, s projections.Slice) (
	projections.Page[projections.Membership], error,
) {
	r := table.Account.Partitions().After(s.After)
	q := ddb.WithinInverse(table.Membership.PK2(user), r, &dynamodb.QueryInput{})
	account := firstOf(table.Membership.Parse)
	members, err := list(ctx, l, "list accounts by membership", r, q, s.Limit, account, decodeMembership)
	return withoutRevoked(members), err
}

// through adds the accounts of groups to a page of at most limit. The group begun continues after the account `after`.
func (l *Lists) through(ctx context.Context, groups projections.Page[projections.Membership], begun, after string,
	limit int, page *projections.Page[projections.AccountRole],
) error {
	found := make([]projections.Page[projections.GroupedAccount], len(groups.Items))
	reads, ctx := errgroup.WithContext(ctx)
	for i, m := range groups.Items {
		s := projections.Slice{Limit: limit - len(page.Items)}
		if m.Group == begun {
			s.After = after
		}
		reads.Go(func() (err error) {
			found[i], err = l.GroupAccounts(ctx, m.Group, s)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	for i, m := range groups.Items {
		for n, g := range found[i].Items {
			reached := m
			reached.Account, reached.Group = g.Account, ""
			page.Items = append(page.Items, projections.AccountRole{Membership: reached, Through: m.Group})
			if rest := found[i].Next != "" || n+1 < len(found[i].Items); len(page.Items) == limit && rest {
				page.Next = "#" + m.Group + "#" + g.Account
				return nil
			}
		}
		if len(page.Items) == limit && i+1 < len(groups.Items) {
			page.Next = "#" + m.Group
			return nil
		}
	}
	if groups.Next != "" {
		page.Next = "#" + groups.Next
	}
	return nil
}

// GroupTotals implements projections.Lists. Positions have one of these forms:
//
//	account        after all balances of an account
//	account#asset  after one of them
//
// It reads the accounts in turns, more at once from turn to turn. The balances that one turn may read are those that
// are left for the page, divided among its accounts. If an account has more, what was read of the accounts behind it is
// dropped, and the next turn begins with that account alone.
func (l *Lists) GroupTotals(ctx context.Context, group string, s projections.Slice) (
	totals projections.Page[projections.Total], err error,
) {
	defer annotate(&err, "add up balances of a group")
	account, asset, within := strings.Cut(s.After, "#")
	r := table.Account.Partitions().After(account)
	if within {
		r.From = table.Account.PK(account) // it has more balances, unless it left the group
	}
	accounts, err := l.groupAccounts(ctx, group, r, s.Limit)
	if err != nil {
		return totals, err
	}
	sums, left, atOnce := make(map[string]projections.Total), s.Limit, 1
	for rest := accounts.Items; len(rest) > 0 && left > 0; {
		turn := rest[:min(atOnce, left, len(rest))]
		slice := projections.Slice{Limit: left / len(turn)}
		if turn[0].Account == account {
			slice.After = asset
		}
		held, err := l.balancesOf(ctx, turn, slice)
		if err != nil {
			return totals, err
		}
		atOnce = min(4*atOnce, totalsAtOnce)
		for _, page := range held {
			if err := addUp(sums, page.Items); err != nil {
				return totals, err
			}
			left -= len(page.Items)
			if totals.Next = rest[0].Account; page.Next != "" {
				account, asset, atOnce = rest[0].Account, page.Next, 1
				totals.Next += "#" + asset
				break
			}
			rest = rest[1:]
		}
		if len(rest) == 0 {
			totals.Next = accounts.Next
		}
	}
	for _, asset := range slices.Sorted(maps.Keys(sums)) {
		totals.Items = append(totals.Items, sums[asset])
	}
	return totals, nil
}

// balancesOf reads a page of balances of each account in parallel. s.After is of the first account.
func (l *Lists) balancesOf(ctx context.Context, accounts []projections.GroupedAccount, s projections.Slice) (
	[]projections.Page[projections.Balance], error,
) {
	held := make([]projections.Page[projections.Balance], len(accounts))
	reads, ctx := errgroup.WithContext(ctx)
	for i, g := range accounts {
		r := table.Balance.All().After(s.After)
		s.After = ""
		reads.Go(func() (err error) {
			q := ddb.Within(table.Account.PK(g.Account), r, &dynamodb.QueryInput{})
			held[i], err = list(ctx, l, "list balances", r, q, s.Limit, secondOf(table.Balance.Parse), decodeBalance)
			return err
		})
	}
	return held, reads.Wait()
}

// addUp adds balances to the totals by asset.
func addUp(sums map[string]projections.Total, balances []projections.Balance) (err error) {
	for _, b := range balances {
		sum := sums[b.Asset]
		if sum.Fold, err = sum.Plus(b.Head); err != nil {
			return err
		}
		sum.Asset = b.Asset
		sum.Accounts++
		sums[b.Asset] = sum
	}
	return nil
}
