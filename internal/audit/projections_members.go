package audit

import (
	"context"
	"fmt"
	"time"

	"ledger.example/internal/table"
)

const (
	memberRounds = 6
	memberPause  = 200 * time.Millisecond
)

// owner is what users have roles on: an account, or a group.
type owner struct{ account, group string }

// membershipKey returns the key of a user's membership.
func (o owner) membershipKey(user string) table.Key {
	if o.group != "" {
		return table.GroupMembershipKey(o.group, user)
	}
	return table.MembershipKey(o.account, user)
}

// grantKey returns the key of a user's grant.
func (o owner) grantKey(user string, number int64) table.Key {
	if o.group != "" {
		return table.GroupGrantKey(o.group, user, number)
	}
	return table.GrantKey(o.account, user, number)
}

// grantNumber returns the number in the key of a grant.
func (o owner) grantNumber(key table.Key) int64 {
	parse := table.ParseGrant
	if o.group != "" {
		parse = table.ParseGroupGrant
	}
	_, _, number, _ := parse(key)
	return number
}

// checkMembers compares the memberships of an account or a group with its grants, user by user.
func (a *Audit) checkMembers(ctx context.Context, owner owner, p partition) {
	for user := p.nextID(ctx, grantPrefix, memberPrefix); user != ""; user = p.nextID(ctx, grantPrefix, memberPrefix) {
		member := p.take(memberPrefix, user)(ctx)
		if found := a.compareMember(ctx, owner, user, member, p.take(grantPrefix, user)); len(found) > 0 {
			a.confirm(ctx, memberRounds, memberPause, func() []Finding {
				key := owner.membershipKey(user)
				return a.compareMember(ctx, owner, user, a.get(ctx, key), a.itemsOf(key.PK, table.GrantsOf(user)))
			})
		}
	}
}

// compareMember compares a membership with the user's grants once. It consumes the grants, which must be read after the
// membership.
func (a *Audit) compareMember(ctx context.Context, owner owner, user string, stored attributes, grants items) (
	found []Finding,
) {
	m, ok := as[membership](stored)
	readable := ok || len(stored) == 0
	var newest, shown, unshown grant // shown has the membership's number; unshown is the first later grant
	for item := range grants.all(ctx) {
		number := owner.grantNumber(keyOf(item))
		g, ok := as[grant](item)
		readable = readable && ok
		found = append(found, gap(GrantMissing, "grant", newest.number, number, func(n int64) table.Key {
			return owner.grantKey(user, n)
		})...)
		newest = g
		if number == m.number {
			shown = g
		}
		if number > m.number && unshown.number == 0 {
			unshown = g
		}
	}
	if !readable {
		return nil // the scan reports it
	}
	key, is, ought := owner.membershipKey(user), absent, absent
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
