package projections

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
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
	Name: "members", Figure: "memberships", Form: anyForm(MembershipForm), Event: store.Grant.Pattern,
	Of: func(r Record) (t Target, number int64, ok bool) {
		if t.Account, t.User, number, ok = store.Grant.Parse(r.Key()); !ok {
			t.Group, t.User, number, ok = store.GroupGrant.Parse(r.Key())
		}
		return t, number, ok
	},
	Fold: func(ctx context.Context, v *Views, t Target, _ Seen) ([]Row, error) {
		pk := store.Account.PK(t.Account)
		if t.Group != "" {
			pk = store.Group.PK(t.Group)
		}
		newest, err := newest[events.MemberGranted](ctx, v, pk, store.Grant.All(t.User))
		m := Membership{
			Account: t.Account, Group: t.Group, User: t.User, Role: newest.Role, Number: newest.Number,
			GrantedBy: newest.Actor, GrantedAt: events.FormatTime(newest.At),
		}
		return []Row{{t, m, newest.At}}, err
	},
	Items: store.Membership.All(), OfGroups: true,
	Owner: func(item store.Item) (Target, bool) {
		account, group, user, ok := membershipKey(item)
		return Target{Account: account, Group: group, User: user}, ok && events.ValidID(user)
	},
	None: func(k store.Key) any { // any grant replaces it
		account, group, user, _ := membershipKey(store.KeyItem(k))
		return Membership{Account: account, Group: group, User: user}
	},
})

// Places is the view of an account's places in groups. Each follows from the newest change of the account's groups that
// names its group. All changes of an account are one target, and each change is read once.
var Places = declare(&View{
	Name: "groups", Figure: "memberships", Form: anyForm(GroupedForm), Event: store.Grouping.Pattern,
	Of: func(r Record) (t Target, number int64, ok bool) {
		t.Account, number, ok = store.Grouping.Parse(r.Key())
		return t, number, ok
	},
	Fold: func(ctx context.Context, v *Views, t Target, seen Seen) ([]Row, error) {
		newest := make(map[string]Row)
		q := v.within(t.Account, store.Grouping.All().Since(store.Number(max(1, seen.Lowest))))
		for item, err := range store.All(ctx, v.table, q) {
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
			return nil, store.ErrAbsent
		}
		return slices.SortedFunc(maps.Values(newest), func(a, b Row) int { return cmp.Compare(a.Group, b.Group) }), nil
	},
	Items: store.Grouped.All(),
	Owner: func(item store.Item) (t Target, ok bool) {
		t.Account, t.Group, ok = store.Grouped.Parse(store.ItemKey(item))
		return t, ok && events.ValidID(t.Group)
	},
	None: func(k store.Key) any { // any change replaces it
		account, group, _ := store.Grouped.Parse(k)
		return GroupedAccount{Account: account, Group: group, Out: true}
	},
})

// membershipItem returns the item of a membership. A revoked membership remains stored because of its number, but is
// not in the inverse index.
func membershipItem(m Membership) store.Item {
	key := store.Membership.Key(m.Account, m.User)
	if m.Group != "" {
		key = store.GroupMembership.Key(m.Group, m.User)
	}
	item := store.Begin(key, store.Membership.Type)
	putText(item, store.AttrAccount, m.Account)
	item[store.AttrUser] = store.String(m.User)
	item[store.AttrNumber] = store.Integer(m.Number)
	putText(item, store.AttrRole, string(m.Role))
	putText(item, store.AttrGrantedBy, m.GrantedBy)
	putText(item, store.AttrGrantedAt, m.GrantedAt)
	if m.Role != "" {
		item[store.AttrPK2] = store.String(store.Membership.PK2(m.User))
	}
	return item
}

// decodeMembership decodes a membership. Its Number is 0 if the item is from the inverse index, which has no Number,
// nor who granted it.
func decodeMembership(item store.Item) (Membership, error) {
	account, group, user, ok := membershipKey(item)
	r := open(item, store.Membership.Type, ok)
	return decoded(Membership{
		Account: account, Group: group, User: user,
		Role: events.Role(r.OptionalText(store.AttrRole)), Number: NumberOf(item, store.AttrNumber),
		GrantedBy: r.OptionalText(store.AttrGrantedBy), GrantedAt: r.OptionalText(store.AttrGrantedAt),
	}, item, r)
}

// membershipKey parses the key of a membership of an account or of a group.
func membershipKey(item store.Item) (account, group, user string, ok bool) {
	if account, user, ok = store.Membership.Parse(store.ItemKey(item)); !ok {
		group, user, ok = store.GroupMembership.Parse(store.ItemKey(item))
	}
	return account, group, user, ok
}

// NumberOf returns the value of an item's number attribute, 0 if it has none.
func NumberOf(item store.Item, name string) int64 {
	r := store.Read(item)
	if number := r.Integer(name); r.Err() == nil {
		return number
	}
	return 0
}

// groupedItem returns the item of an account's place in a group. If the account was taken out, the item remains stored
// because of its number, but is not in the inverse index.
func groupedItem(g GroupedAccount) store.Item {
	item := store.Begin(store.Grouped.Key(g.Account, g.Group), store.Grouped.Type)
	item[store.AttrAccount] = store.String(g.Account)
	item[store.AttrNumber] = store.Integer(g.Number)
	if !g.Out {
		item[store.AttrPK2] = store.String(store.Grouped.PK2(g.Group))
	}
	return item
}

// decodeGrouped decodes an account's place in a group. Its Number is 0 if the item is from the inverse index, which has
// no Number.
func decodeGrouped(item store.Item) (GroupedAccount, error) {
	account, group, ok := store.Grouped.Parse(store.ItemKey(item))
	r := open(item, store.Grouped.Type, ok)
	return decoded(GroupedAccount{
		Account: account, Group: group, Out: !r.Has(store.AttrPK2), Number: NumberOf(item, store.AttrNumber),
	}, item, r)
}
