package projections

import (
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/table"
)

const (
	// groupsOfPage is the maximum number of groups that one page of a user's accounts reads.
	groupsOfPage = 10
	// totalsAtOnce is the maximum number of accounts whose balances are read in parallel for the totals of a group.
	totalsAtOnce = 16
)

// Groups lists the groups whose ids have a prefix, by id.
func (l *Lists) Groups(ctx context.Context, prefix string, s Slice) (Page[events.GroupRegistered], error) {
	r := table.Group.Partitions().After(s.After).Beginning(prefix)
	q := table.Query{Index: table.IndexInverse, Partition: table.Group.PK2(), Within: r}
	return list(ctx, l, "list groups", q, s.Limit, table.Group.Parse, decodeListed[events.GroupRegistered])
}

// GroupMembers lists the current members of a group by user.
func (l *Lists) GroupMembers(ctx context.Context, group string, s Slice) (Page[Membership], error) {
	return l.members(ctx, table.GroupMembership.Pattern, group, s)
}

// GroupsOf lists the current memberships of a user by group.
func (l *Lists) GroupsOf(ctx context.Context, user string, s Slice) (Page[Membership], error) {
	return l.rolesOf(ctx, user, table.GroupMembership.Pattern, table.Group.Partitions().After(s.After), s.Limit)
}

// rolesOf lists the current memberships of a user whose keys are of a pattern and within a range.
func (l *Lists) rolesOf(ctx context.Context, user string, p *table.Pattern, r table.Range, limit int) (
	Page[Membership], error,
) {
	q := table.Query{Index: table.IndexInverse, Partition: p.PK2(user), Within: r}
	members, err := list(ctx, l, "list memberships of a user", q, limit, part(p, 0), decodeMembership)
	return withoutRevoked(members), err
}

// GroupAccounts lists the accounts of a group.
func (l *Lists) GroupAccounts(ctx context.Context, group string, s Slice) (Page[GroupedAccount], error) {
	return l.groupAccounts(ctx, group, table.Account.Partitions().After(s.After), s.Limit)
}

func (l *Lists) groupAccounts(ctx context.Context, group string, r table.Range, limit int) (
	Page[GroupedAccount], error,
) {
	q := table.Query{Index: table.IndexInverse, Partition: table.Grouped.PK2(group), Within: r}
	return list(ctx, l, "list accounts of a group", q, limit, part(table.Grouped.Pattern, 0), decodeGrouped)
}

// AccountGroups lists the groups of an account.
func (l *Lists) AccountGroups(ctx context.Context, account string, s Slice) (Page[GroupedAccount], error) {
	r := table.Grouped.All().After(s.After)
	q := table.Query{Partition: table.Account.PK(account), Within: r}
	groups, err := list(ctx, l, "list groups of an account", q, s.Limit, part(table.Grouped.Pattern, 1), decodeGrouped)
	groups.Items = slices.DeleteFunc(groups.Items, func(g GroupedAccount) bool { return g.Out })
	return groups, err
}

// AccountsOf lists the accounts that a user has a role on: first its own memberships, by account, then the accounts of
// each of its groups, by group and account. An account may be listed several times. It makes two requests in parallel,
// and then one for each group. A page reads only a few groups, and may be short. Positions have one of these forms:
//
//	account         after an account that the user is a member of
//	#               before the first group
//	#group#account  after an account of a group
//	#group          after the last account of a group
func (l *Lists) AccountsOf(ctx context.Context, user string, s Slice) (page Page[AccountRole], err error) {
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
	var groups Page[Membership]
	both, bothCtx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		groups, err = l.rolesOf(bothCtx, user, table.GroupMembership.Pattern, r, groupsOfPage)
		return err
	})
	if !inGroups {
		both.Go(func() error {
			within := table.Account.Partitions().After(s.After)
			direct, err := l.rolesOf(bothCtx, user, table.Membership.Pattern, within, s.Limit)
			for _, m := range direct.Items {
				page.Items = append(page.Items, AccountRole{Membership: m})
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

// through adds the accounts of groups to a page of at most limit. The group begun continues after the account `after`.
func (l *Lists) through(ctx context.Context, groups Page[Membership], begun, after string,
	limit int, page *Page[AccountRole],
) error {
	found := make([]Page[GroupedAccount], len(groups.Items))
	reads, ctx := errgroup.WithContext(ctx)
	for i, m := range groups.Items {
		s := Slice{Limit: limit - len(page.Items)}
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
			page.Items = append(page.Items, AccountRole{Membership: reached, Through: m.Group})
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

// GroupTotals adds up the group's next s.Limit balances, in the order of their accounts and assets, and returns the
// totals by asset. The totals of all pages are those of the group; they are not a snapshot. A page reads at most
// s.Limit accounts, and may be short, even empty. It makes one request, and one or two for each account. Errors: also
// events.ErrOverflow. Positions have one of these forms:
//
//	account        after all balances of an account
//	account#asset  after one of them
//
// It reads the accounts in turns, more at once from turn to turn. The balances that one turn may read are those that
// are left for the page, divided among its accounts. If an account has more, the others are read by one more request.
// A page of 100 balances takes at most 131 requests: one for the list of accounts, 100 for their balances, and 30 for
// the rest of accounts that have more than their share.
func (l *Lists) GroupTotals(ctx context.Context, group string, s Slice) (totals Page[Total], err error) {
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
	sums, left, atOnce := make(map[string]Total), s.Limit, 1
	for rest := accounts.Items; len(rest) > 0 && left > 0; {
		turn := rest[:min(atOnce, left, len(rest))]
		slice := Slice{Limit: left / len(turn)}
		if turn[0].Account == account {
			slice.After = asset
		}
		held, err := l.balancesOf(ctx, turn, slice)
		if err != nil {
			return totals, err
		}
		for _, page := range held {
			if page, err = l.filled(ctx, rest[0].Account, page, left); err != nil {
				return totals, err
			}
			if err := addUp(sums, page.Items); err != nil {
				return totals, err
			}
			left -= len(page.Items)
			if totals.Next = rest[0].Account; page.Next != "" {
				totals.Next += "#" + page.Next
			} else if rest = rest[1:]; len(rest) == 0 {
				totals.Next = accounts.Next
			}
			if left == 0 {
				break
			}
		}
		atOnce = min(4*atOnce, totalsAtOnce)
	}
	for _, asset := range slices.Sorted(maps.Keys(sums)) {
		totals.Items = append(totals.Items, sums[asset])
	}
	return totals, nil
}

// balancesOf reads a page of balances of each account in parallel. s.After is of the first account.
func (l *Lists) balancesOf(ctx context.Context, accounts []GroupedAccount, s Slice) ([]Page[Balance], error) {
	held := make([]Page[Balance], len(accounts))
	reads, ctx := errgroup.WithContext(ctx)
	for i, g := range accounts {
		slice := s
		s.After = ""
		reads.Go(func() (err error) {
			held[i], err = l.balances(ctx, g.Account, slice)
			return err
		})
	}
	return held, reads.Wait()
}

// filled makes a page of an account's balances as long as the account allows, up to limit.
func (l *Lists) filled(ctx context.Context, account string, page Page[Balance], limit int) (Page[Balance], error) {
	if left := limit - len(page.Items); left < 0 {
		page.Items, page.Next = page.Items[:limit], page.Items[limit-1].Asset
	} else if left > 0 && page.Next != "" {
		more, err := l.balances(ctx, account, Slice{After: page.Next, Limit: left})
		return Page[Balance]{Items: append(page.Items, more.Items...), Next: more.Next}, err
	}
	return page, nil
}

// addUp adds balances to the totals by asset.
func addUp(sums map[string]Total, balances []Balance) (err error) {
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
