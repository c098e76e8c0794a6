package audit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"ledger.example/ledger/table"
)

const (
	memberRounds = 6
	memberPause  = 200 * time.Millisecond
)

// walkMembers compares the memberships of an account with its grants, user by user.
func (a *Audit) walkMembers(ctx context.Context, account string, p *partition) error {
	for {
		user, err := least(ctx, p.grants, p.members)
		if user == "" || err != nil {
			return err
		}
		member, err := p.members.take(user)(ctx)
		if err != nil {
			return err
		}
		found, err := a.member(ctx, account, user, member, p.grants.take(user))
		if err != nil {
			return err
		}
		if len(found) > 0 {
			if err := a.examineMember(ctx, account, user); err != nil {
				return err
			}
		}
	}
}

// examineMember reads one user's grants by themselves, until nothing looks wrong, and reports what stays.
func (a *Audit) examineMember(ctx context.Context, account, user string) error {
	for round := 1; ; round++ {
		item, err := a.get(ctx, table.MembershipKey(account, user))
		if err != nil {
			return err
		}
		grants := &family{prefix: table.GrantPrefix, stream: stream{
			audit: a, of: stretch{partition: table.AccountKey(account).PK, within: table.GrantsOf(user)},
		}}
		found, err := a.member(ctx, account, user, item, grants.take(user))
		if err != nil || len(found) == 0 {
			return err
		}
		most, pause := a.rounds(memberRounds, memberPause)
		if round >= most {
			a.report(found...)
			return nil
		}
		if err := a.Pause(ctx, time.Duration(round)*pause); err != nil {
			return err
		}
	}
}

// member compares one membership, read before them, with the user's grants in the order of their numbers.
func (a *Audit) member(ctx context.Context, account, user string, stored attributes, grants func(context.Context) (attributes, error)) (found []Finding, err error) {
	m, ok := as[membership](stored)
	if !ok && len(stored) > 0 {
		return nil, nil // the scan tells of it
	}
	var newest, unshown grant // unshown is the first after the one that is shown
	readable := true
	for {
		item, err := grants(ctx)
		if err != nil {
			return nil, err
		}
		if item == nil {
			break
		}
		_, _, number, _ := table.ParseGrant(keyOf(item))
		g, can := as[grant](item)
		readable = readable && can
		if missing := newest.number + 1; missing < number { // one finding for a gap, by its first number
			found = append(found, Finding{Code: GrantMissing, Key: table.GrantKey(account, user, missing), Stored: absent,
				Recomputed: "a grant: there is one of number " + strconv.FormatInt(number, 10)})
		}
		newest = g
		if number > m.number && unshown.number == 0 {
			unshown = g
		}
	}
	if !readable {
		return nil, nil // the scan tells of it
	}
	key, is, ought := table.MembershipKey(account, user), absent, absent
	if ok {
		is = told(m.number, m.role)
	}
	if newest.number > 0 {
		ought = told(newest.number, newest.role)
	}
	switch {
	case m.number == newest.number && m.role == newest.role:
	case m.number < newest.number && unshown.at > a.settled().UTC().Format(instantForm):
		// Its turn may still come.
	case m.number < newest.number:
		found = append(found, Finding{Code: MembershipBehind, Key: key, Stored: is, Recomputed: ought})
	default:
		found = append(found, Finding{Code: MembershipWrong, Key: key, Stored: is, Recomputed: ought})
	}
	return found, nil
}

func told(number int64, role string) string {
	if role == "" {
		role = "no role"
	}
	return fmt.Sprintf("%s, by grant %d", role, number)
}
