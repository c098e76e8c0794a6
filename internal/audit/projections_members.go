package audit

import (
	"context"
	"fmt"

	"ledger.example/internal/store"
)

// checkMembers compares the memberships of an account or a group with its grants, user by user. pk is the partition key
// of the account or the group; the sort keys are the same.
func (a *Audit) checkMembers(ctx context.Context, pk string, p partition) {
	for user := p.nextID(ctx, grantPrefix, memberPrefix); user != ""; user = p.nextID(ctx, grantPrefix, memberPrefix) {
		member := p.take(memberPrefix, user)(ctx)
		key := store.Key{PK: pk, SK: store.Membership.Key("", user).SK}
		found := a.compareMember(ctx, key, user, member, p.take(grantPrefix, user))
		a.confirm(ctx, found, func() []Finding {
			return a.compareMember(ctx, key, user, a.get(ctx, key), a.itemsOf(pk, store.Grant.All(user)))
		})
	}
}

// compareMember compares the membership with that key with the user's grants once. It consumes the grants, which must
// be read after the membership.
func (a *Audit) compareMember(ctx context.Context, key store.Key, user string, stored attributes, grants items) (
	found []Finding,
) {
	m, ok := as[membership](stored)
	readable := ok || len(stored) == 0
	var newest, shown, unshown grant // shown has the membership's number; unshown is the first later grant
	for item := range grants.all(ctx) {
		g, ok := as[grant](item)
		readable = readable && ok
		found = append(found, gap(GrantMissing, "grant", newest.number, g.number, keyOf(item))...)
		newest = g
		if g.number == m.number {
			shown = g
		}
		if g.number > m.number && unshown.number == 0 {
			unshown = g
		}
	}
	if !readable {
		return nil // the scan reports it
	}
	is, ought := absent, absent
	if ok {
		is = roleText(m.number, m.role)
	}
	if newest.number > 0 {
		ought = roleText(newest.number, newest.role)
	}
	report := func(code Code, right string) { found = append(found, Finding{code, key, "", is, right}) }
	switch {
	case m.number != shown.number, m.number == 0 && m.role != "":
		report(MembershipWithoutGrant, ought)
	case m.role != shown.role:
		report(MembershipDiffers, roleText(shown.number, shown.role))
	case m.number == newest.number, a.isYoung(unshown.at):
	default:
		report(MembershipBehind, ought)
	}
	return found
}

func roleText(number int64, role string) string {
	if role == "" {
		role = "no role"
	}
	return fmt.Sprintf("%s, by grant %d", role, number)
}
