package audit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

const (
	memberRounds = 6
	memberPause  = 200 * time.Millisecond
)

// owner is what users have roles on: an account, or a group.
type owner struct{ account, group string }

// membership returns the key of a user's membership.
func (o owner) membership(user string) table.Key {
	if o.group != "" {
		return table.GroupMembershipKey(o.group, user)
	}
	return table.MembershipKey(o.account, user)
}

// grant returns the key of a user's grant.
func (o owner) grant(user string, number int64) table.Key {
	if o.group != "" {
		return table.GroupGrantKey(o.group, user, number)
	}
	return table.GrantKey(o.account, user, number)
}

// number returns the number in the key of a grant.
func (o owner) number(key table.Key) int64 {
	parse := table.ParseGrant
	if o.group != "" {
		parse = table.ParseGroupGrant
	}
	_, _, number, _ := parse(key)
	return number
}

// checkMembers compares the memberships of an account or a group with its grants, user by user.
func (a *Audit) checkMembers(ctx context.Context, of owner, p partition) {
	for user := p.least(ctx, grants, members); user != ""; user = p.least(ctx, grants, members) {
		member := p.take(members, user)(ctx)
		if found := a.member(ctx, of, user, member, p.take(grants, user)); len(found) > 0 {
			a.examineMember(ctx, of, user)
		}
	}
}

// examineMember reads one user's grants by themselves until nothing looks wrong, and reports what remains.
func (a *Audit) examineMember(ctx context.Context, of owner, user string) {
	a.confirm(ctx, memberRounds, memberPause, func() []Finding {
		key := of.membership(user)
		return a.member(ctx, of, user, a.get(ctx, key), a.itemsOf(key.PK, table.GrantsOf(user)))
	})
}

// member compares one membership with the user's grants, which are read after it, in the order of their numbers. It
// reads all of them.
func (a *Audit) member(ctx context.Context, of owner, user string, stored attributes, grants items) (found []Finding) {
	m, ok := as[membership](stored)
	readable := ok || len(stored) == 0
	var newest, shown, unshown grant // shown has the membership's number, unshown is the first one after it
	for item := range grants.all(ctx) {
		number := of.number(keyOf(item))
		g, can := as[grant](item)
		readable = readable && can
		if missing := newest.number + 1; missing < number { // one finding for a gap, by its first number
			found = append(found, Finding{GrantMissing, of.grant(user, missing), "", absent,
				"a grant: there is one of number " + strconv.FormatInt(number, 10)})
		}
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
	key, is, ought := of.membership(user), absent, absent
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
