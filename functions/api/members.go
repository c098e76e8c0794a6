package api

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/access"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// membership is a user's role on an account or in a group. The role is null after a revocation.
type membership struct {
	Account string  `json:"account,omitempty"`
	Group   string  `json:"group,omitempty"`
	User    string  `json:"user"`
	Role    *string `json:"role"`
}

func showMembership(m projections.Membership) membership {
	return membership{m.Account, m.Group, m.User, orNull(string(m.Role))}
}

// accountRole is an account on which a user has a role. Through is the group, or null for a direct role.
type accountRole struct {
	membership
	Through *string `json:"through"`
}

func showAccountRole(m projections.AccountRole) accountRole {
	return accountRole{showMembership(m.Membership), orNull(m.Through)}
}

// putMember grants a role on an account or in a group. It answers 201 for the user's first role there, otherwise 200.
func (a *api) putMember(r *request) (reply, error) {
	var in struct {
		Role string `json:"role" in:"required"`
	}
	r.read(&in)
	c := ledger.GrantMember{
		Account: r.ids["account"], Group: r.ids["group"], User: r.ids["user"], Role: events.Role(in.Role),
		Actor: r.actor,
	}
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
	return written(created, "", membership{c.Account, c.Group, c.User, orNull(string(c.Role))}), err
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

// deleteMember revokes a role. The answer is the same if the user has no role.
func (a *api) deleteMember(r *request) (reply, error) {
	if err := cmp.Or(r.check(), r.checkNotSelf()); err != nil {
		return reply{}, err
	}
	c := ledger.RevokeMember{Account: r.ids["account"], Group: r.ids["group"], User: r.ids["user"], Actor: r.actor}
	err := r.withRight(func(by ledger.Authority) error {
		c.By = by
		return a.config.Commands.Revoke(r.http.Context(), c)
	})
	return reply{status: http.StatusOK, body: membership{Account: c.Account, Group: c.Group, User: c.User}}, err
}

// listMembers lists the members of an account by id.
func (a *api) listMembers(r *request) (reply, error) {
	return answerList(r, r.list(), r.ids["account"], a.config.Lists.Members, a.accountExists, showMembership)
}

// listAccountsOf lists the accounts on which a user has a role, directly or through groups. Users are not registered,
// so a user without roles has an empty list. The list omits accounts whose role was revoked but is still projected.
func (a *api) listAccountsOf(r *request) (reply, error) {
	read := shownTo(r, a.config.Lists.AccountsOf, accountsListed, r.viewerRights,
		func(m projections.AccountRole) string { return m.Account })
	return answerList(r, r.list().by(isAccountRolePosition), r.ids["user"], read, nil, showAccountRole)
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
