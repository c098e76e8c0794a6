package api

import (
	"cmp"
	"errors"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/access"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

func showMembership(m projections.Membership) client.Membership {
	return client.Membership{Account: m.Account, User: m.User, Role: string(m.Role)}
}

func showGroupMembership(m projections.Membership) client.GroupMembership {
	return client.GroupMembership{Group: m.Group, User: m.User, Role: string(m.Role)}
}

func showAccountRole(m projections.AccountRole) client.AccountRole {
	return client.AccountRole{Account: m.Account, User: m.User, Role: string(m.Role), Through: orNull(m.Through)}
}

// grantMember grants a role on an account.
func (a *api) grantMember(r *request, in *client.Membership) (reply, error) {
	return grant(a, r, in, ledger.GrantMember{Account: in.Account, User: in.User}, &in.Role)
}

// grantGroupMember grants a role in a group.
func (a *api) grantGroupMember(r *request, in *client.GroupMembership) (reply, error) {
	return grant(a, r, in, ledger.GrantMember{Group: in.Group, User: in.User}, &in.Role)
}

// grant reads the body of a grant into in, and executes c with the role of in. It answers 201 for the user's first role
// there, otherwise 200.
func grant[T any](a *api, r *request, in *T, c ledger.GrantMember, role *string) (reply, error) {
	r.read(in)
	c.Role, c.Actor = events.Role(*role), r.actor
	if err := r.permit(c); err != nil {
		return reply{}, err
	}
	if err := r.checkNotSelf(); err != nil {
		return reply{}, err
	}
	var created bool
	err := r.withRight(func(by ledger.Authority) (err error) {
		c.By = by
		created, err = a.config.Commands.Grant(r.http.Context(), c)
		return err
	})
	return written(created, "", *in), err
}

// checkNotSelf refuses users who change their own role. Otherwise a user with an owner's role through a group could
// keep it by granting it to themselves, and the last owner of an account could leave it without an owner.
func (r *request) checkNotSelf() error {
	if r.caller.User != r.ids["user"] {
		return nil
	}
	return forbidden(access.Administrator, "Users cannot change their own role; another owner or an administrator can.")
}

// withRight executes a grant on the condition that the caller still has the right that was checked. If the right has
// changed, nothing is written. Then withRight checks the right again and retries, once.
func (r *request) withRight(grant func(by ledger.Authority) error) error {
	by := func() ledger.Authority {
		return ledger.Authority{
			User: r.caller.User, Group: r.right.Group, Grant: r.right.Grant, Groups: r.right.Groups,
		}
	}
	err := grant(by())
	if !errors.Is(err, store.ErrOutdated) {
		return err
	}
	if denied := r.checkRole(r.http.Context()); denied != nil {
		return denied
	}
	return grant(by())
}

// revokeMember revokes a role on an account.
func (a *api) revokeMember(r *request, in *client.RevokedMembership) (reply, error) {
	return a.revoke(r, ledger.RevokeMember{Account: in.Account, User: in.User}, *in)
}

// revokeGroupMember revokes a role in a group.
func (a *api) revokeGroupMember(r *request, in *client.RevokedGroupMembership) (reply, error) {
	return a.revoke(r, ledger.RevokeMember{Group: in.Group, User: in.User}, *in)
}

// revoke revokes a role. The answer is the same if the user has no role.
func (a *api) revoke(r *request, c ledger.RevokeMember, revoked any) (reply, error) {
	if err := cmp.Or(r.check(), r.checkNotSelf()); err != nil {
		return reply{}, err
	}
	c.Actor = r.actor
	err := r.withRight(func(by ledger.Authority) error {
		c.By = by
		return a.config.Commands.Revoke(r.http.Context(), c)
	})
	return written(false, "", revoked), err
}

// listMembers lists the members of an account by id.
func (a *api) listMembers(r *request, in *client.AccountID) (reply, error) {
	return answerList(r, r.list(), in.Account, a.config.Lists.Members, a.accountExists, showMembership)
}

// listGroupMembers lists the members of a group by id.
func (a *api) listGroupMembers(r *request, in *client.GroupID) (reply, error) {
	return answerList(r, r.list(), in.Group, a.config.Lists.GroupMembers, a.groupExists, showGroupMembership)
}

// listGroupsOf lists the groups of a user by id. Users see the groups in which they have a role.
func (a *api) listGroupsOf(r *request, in *client.UserID) (reply, error) {
	read := shownTo(r, a.config.Lists.GroupsOf, limitMax, r.groupRights,
		func(m projections.Membership) string { return m.Group })
	return answerList(r, r.list(), in.User, read, nil, showGroupMembership)
}

// listAccountsOf lists the accounts on which a user has a role, directly or through groups. Users are not registered,
// so a user without roles has an empty list. The list omits accounts whose role was revoked but is still projected.
func (a *api) listAccountsOf(r *request, in *client.UserID) (reply, error) {
	read := shownTo(r, a.config.Lists.AccountsOf, accountsListed, r.viewerRights,
		func(m projections.AccountRole) string { return m.Account })
	return answerList(r, r.list().by(isAccountRolePosition), in.User, read, nil, showAccountRole)
}

// isAccountRolePosition reports whether text can be a position in the list of a user's accounts: "account", "#",
// "#group" or "#group#account".
func isAccountRolePosition(text string) bool {
	position, behind := strings.CutPrefix(text, "#")
	if !behind || position == "" {
		return behind || events.ValidID(text)
	}
	group, account, within := strings.Cut(position, "#")
	return events.ValidID(group) && (!within || events.ValidID(account))
}
