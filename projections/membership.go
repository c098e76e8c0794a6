package projections

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Membership is the projection of one user's role on one account or in one group.
type Membership struct {
	Account, Group string // one of them is empty
	User           string
	Role           events.Role // "" after a revocation
	Number         int64       // of the grant or revocation it shows
	At             time.Time   // of that event; zero if read from the projection
}

// GroupedAccount is the projection of one account's place in one group.
type GroupedAccount struct {
	Account, Group string
	Out            bool      // the account was taken out of the group
	Number         int64     // of the newest change of the account's groups that names this group
	At             time.Time // of that change; zero if read from the projection
}

// Key is the key of the membership.
func (m Membership) Key() store.Key {
	if m.Group != "" {
		return store.GroupMembership.Key(m.Group, m.User)
	}
	return store.Membership.Key(m.Account, m.User)
}

// RefreshMembership writes the membership of a user on an account or in a group from the newest grant or revocation. A
// membership never replaces one with a higher number, so late and repeated calls are safe. Errors: store.ErrAbsent if
// there is no grant; those of Views; store.ErrConflict after too many conflicts.
func (p *Projector) RefreshMembership(ctx context.Context, of Membership) error {
	return p.retryOnConflict(ctx, func() error {
		m, err := p.views.NewestGrant(ctx, of)
		if err != nil {
			return fmt.Errorf("read newest grant: %w", err)
		}
		if err := p.views.WriteMembership(ctx, m); err != nil {
			return fmt.Errorf("write membership: %w", err)
		}
		return nil
	})
}

// RefreshGrouped writes account's places in the groups that are named by its changes from the number `from` on. Each
// change adds or removes one group, and has its own stream record that triggers a refresh. A place never replaces one
// with a higher number, so a slow writer cannot undo a later change. Errors: those of RefreshMembership.
func (p *Projector) RefreshGrouped(ctx context.Context, account string, from int64) error {
	return p.retryOnConflict(ctx, func() error {
		places, err := p.views.GroupedSince(ctx, account, from)
		if err != nil {
			return fmt.Errorf("read groups: %w", err)
		}
		for _, g := range places {
			if err := p.views.WriteGrouped(ctx, g); err != nil {
				return fmt.Errorf("write place in a group: %w", err)
			}
		}
		return nil
	})
}

// membershipItem returns the item of a membership. A revoked membership remains stored because of its number, but is
// not in the inverse index.
func membershipItem(m Membership) store.Item {
	item := store.Begin(m.Key(), store.Membership.Type)
	putText(item, store.AttrAccount, m.Account)
	item[store.AttrUser] = store.String(m.User)
	item[store.AttrNumber] = store.Integer(m.Number)
	putText(item, store.AttrRole, string(m.Role))
	if m.Role != "" {
		item[store.AttrPK2] = store.String(store.Membership.PK2(m.User))
	}
	return item
}

// decodeMembership decodes a membership. Its Number is 0 if the item is from the inverse index, which has no Number.
func decodeMembership(item store.Item) (Membership, error) {
	r, key := open(item, store.Membership.Type)
	account, user, ok := store.Membership.Parse(key)
	m := Membership{
		Account: account, User: user, Role: events.Role(r.OptionalText(store.AttrRole)), Number: numberOf(item),
	}
	if !ok {
		if m.Group, m.User, ok = store.GroupMembership.Parse(key); !ok {
			r.Fail(store.AttrSK, "is not that of a membership")
		}
	}
	return decoded(m, key, r)
}

// numberOf returns the number of the event that an item was projected from, 0 if the item has none.
func numberOf(item store.Item) int64 {
	r := store.Read(item)
	if number := r.Integer(store.AttrNumber); r.Err() == nil {
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
	r, key := open(item, store.Grouped.Type)
	account, group, ok := store.Grouped.Parse(key)
	if !ok {
		r.Fail(store.AttrSK, "is not that of a place in a group")
	}
	out := !r.Has(store.AttrPK2)
	return decoded(GroupedAccount{Account: account, Group: group, Out: out, Number: numberOf(item)}, key, r)
}
