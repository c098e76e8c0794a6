package projections

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Membership is the projection of one user's role on one account or in one group.
type Membership struct {
	Account, Group string // one of them is empty
	User           string
	Role           events.Role // "" after a revocation
	Number         int64       // of the grant or revocation it shows

	// Who granted or revoked, and when, as events.FormatTime. They are "" if the membership is from the inverse index.
	GrantedBy, GrantedAt string
}

// GroupedAccount is the projection of one account's place in one group.
type GroupedAccount struct {
	Account, Group string
	Out            bool  // the account was taken out of the group
	Number         int64 // of the newest change of the account's groups that names this group
}

// Members is the view of memberships. Each follows from the newest grant or revocation of its user.
var Members = declare(&View{
	Name: "members", Figure: "memberships", Form: anyForm(MembershipForm), Event: table.Grant.Pattern,
	Of: func(r Record) (t Target, number int64, ok bool) {
		if t.Account, t.User, number, ok = table.Grant.Parse(r.Key()); !ok {
			t.Group, t.User, number, ok = table.GroupGrant.Parse(r.Key())
		}
		return t, number, ok
	},
	Fold: func(ctx context.Context, v *Views, t Target, _ Seen) ([]Row, error) {
		pk := table.Account.PK(t.Account)
		if t.Group != "" {
			pk = table.Group.PK(t.Group)
		}
		newest, err := newest[events.MemberGranted](ctx, v, pk, table.Grant.All(t.User))
		m := Membership{
			Account: t.Account, Group: t.Group, User: t.User, Role: newest.Role, Number: newest.Number,
			GrantedBy: newest.Actor, GrantedAt: events.FormatTime(newest.At),
		}
		return []Row{{t, m, newest.At}}, err
	},
	Items: table.Membership.All(), OfGroups: true,
	Owner: func(item table.Item) (Target, bool) {
		account, group, user, ok := membershipKey(item)
		return Target{Account: account, Group: group, User: user}, ok && events.ValidID(user)
	},
	None: func(k table.Key) any { // any grant replaces it
		account, group, user, _ := membershipKey(table.KeyItem(k))
		return Membership{Account: account, Group: group, User: user}
	},
})

// Places is the view of an account's places in groups. Each follows from the newest change of the account's groups that
// names its group. All changes of an account are one target, and each change is read once.
var Places = declare(&View{
	Name: "groups", Figure: "memberships", Form: anyForm(GroupedForm), Event: table.Grouping.Pattern,
	Of: func(r Record) (t Target, number int64, ok bool) {
		t.Account, number, ok = table.Grouping.Parse(r.Key())
		return t, number, ok
	},
	Fold: func(ctx context.Context, v *Views, t Target, seen Seen) ([]Row, error) {
		newest := make(map[string]Row)
		q := v.within(t.Account, table.Grouping.All().Since(table.Number(max(1, seen.Lowest))))
		for item, err := range table.All(ctx, v.table, q) {
			if err != nil {
				return nil, err
			}
			change, err := decodeAs[events.AccountGrouped](item)
			if err != nil {
				return nil, err
			}
			of := t
			of.Group = change.Changed()
			newest[of.Group] = Row{of, GroupedAccount{
				Account: t.Account, Group: of.Group, Out: !change.Has(of.Group), Number: change.Number,
			}, change.At}
		}
		if len(newest) == 0 {
			return nil, table.ErrAbsent
		}
		return slices.SortedFunc(maps.Values(newest), func(a, b Row) int { return cmp.Compare(a.Group, b.Group) }), nil
	},
	Items: table.Grouped.All(),
	Owner: func(item table.Item) (t Target, ok bool) {
		t.Account, t.Group, ok = table.Grouped.Parse(table.ItemKey(item))
		return t, ok && events.ValidID(t.Group)
	},
	None: func(k table.Key) any { // any change replaces it
		account, group, _ := table.Grouped.Parse(k)
		return GroupedAccount{Account: account, Group: group, Out: true}
	},
})

// membershipItem returns the item of a membership. A revoked membership remains stored because of its number, but is
// not in the inverse index.
func membershipItem(m Membership) table.Item {
	key := table.Membership.Key(m.Account, m.User)
	if m.Group != "" {
		key = table.GroupMembership.Key(m.Group, m.User)
	}
	item := table.Begin(key, table.Membership.Type)
	putText(item, table.AttrAccount, m.Account)
	item[table.AttrUser] = table.String(m.User)
	item[table.AttrNumber] = table.Integer(m.Number)
	putText(item, table.AttrRole, string(m.Role))
	putText(item, table.AttrGrantedBy, m.GrantedBy)
	putText(item, table.AttrGrantedAt, m.GrantedAt)
	if m.Role != "" {
		item[table.AttrPK2] = table.String(table.Membership.PK2(m.User))
	}
	return item
}

// decodeMembership decodes a membership. Its Number is 0 if the item is from the inverse index, which has no Number,
// nor who granted it.
func decodeMembership(item table.Item) (Membership, error) {
	account, group, user, ok := membershipKey(item)
	r := open(item, table.Membership.Type, ok)
	return decoded(Membership{
		Account: account, Group: group, User: user,
		Role: events.Role(r.OptionalText(table.AttrRole)), Number: NumberOf(item, table.AttrNumber),
		GrantedBy: r.OptionalText(table.AttrGrantedBy), GrantedAt: r.OptionalText(table.AttrGrantedAt),
	}, item, r)
}

// membershipKey parses the key of a membership of an account or of a group.
func membershipKey(item table.Item) (account, group, user string, ok bool) {
	if account, user, ok = table.Membership.Parse(table.ItemKey(item)); !ok {
		group, user, ok = table.GroupMembership.Parse(table.ItemKey(item))
	}
	return account, group, user, ok
}

// NumberOf returns the value of an item's number attribute, 0 if it has none.
func NumberOf(item table.Item, name string) int64 {
	r := table.Read(item)
	if number := r.Integer(name); r.Err() == nil {
		return number
	}
	return 0
}

// groupedItem returns the item of an account's place in a group. If the account was taken out, the item remains stored
// because of its number, but is not in the inverse index.
func groupedItem(g GroupedAccount) table.Item {
	item := table.Begin(table.Grouped.Key(g.Account, g.Group), table.Grouped.Type)
	item[table.AttrAccount] = table.String(g.Account)
	item[table.AttrNumber] = table.Integer(g.Number)
	if !g.Out {
		item[table.AttrPK2] = table.String(table.Grouped.PK2(g.Group))
	}
	return item
}

// decodeGrouped decodes an account's place in a group. Its Number is 0 if the item is from the inverse index, which has
// no Number.
func decodeGrouped(item table.Item) (GroupedAccount, error) {
	account, group, ok := table.Grouped.Parse(table.ItemKey(item))
	r := open(item, table.Grouped.Type, ok)
	return decoded(GroupedAccount{
		Account: account, Group: group, Out: !r.Has(table.AttrPK2), Number: NumberOf(item, table.AttrNumber),
	}, item, r)
}
