package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/access"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// membership is a user's role on an account or in a group; null when it was revoked.
type membership struct {
	Account string  `json:"account,omitempty"`
	Group   string  `json:"group,omitempty"`
	User    string  `json:"user"`
	Role    *string `json:"role"`
}

func showMembership(m projections.Membership) membership {
	return membership{m.Account, m.Group, m.User, orNull(string(m.Role))}
}

// reach is an account that a user reaches with a role, through a group or, with null, by a role of its own.
type reach struct {
	membership
	Through *string `json:"through"`
}

func showReach(m projections.Reach) reach {
	return reach{showMembership(m.Membership), orNull(m.Through)}
}

// putMember grants a role, on an account or in a group: 201 for the user's first role there, else 200.
func (a *api) putMember(r *request) (reply, error) {
	c := ledger.GrantMember{Account: r.ids["account"], Group: r.ids["group"], User: r.ids["user"], Actor: r.actor}
	return answerWrite(r, &c, func(o *object) {
		c.Role = events.Role(o.text("role", required))
	}, func(ctx context.Context) (reply, error) {
		if err := r.notToSelf(); err != nil {
			return reply{}, err
		}
		var created bool
		err := r.byRight(func(by ledger.Standing) (err error) {
			c.By = by
			created, err = a.config.Commands.Grant(ctx, c)
			return err
		})
		return written(created, "", membership{c.Account, c.Group, c.User, orNull(string(c.Role))}), err
	})
}

// notToSelf refuses a user who changes their own role. What they have through a group would outlast their membership;
// and as an owner is revoked by another one, the last owner stays.
func (r *request) notToSelf() error {
	if r.caller.User != r.ids["user"] {
		return nil
	}
	return forbidden(access.Administrator, "Users cannot change their own role; another owner or an administrator can.")
}

// byRight carries out a grant by the right that the caller was found to have. If that changed meanwhile, nothing was
// written, and it looks at the right again, once.
func (r *request) byRight(grant func(by ledger.Standing) error) error {
	by := func() ledger.Standing {
		return ledger.Standing{
			User: r.caller.User, Group: r.right.Group, Grant: r.right.Grant, Groups: r.right.Groups,
		}
	}
	err := grant(by())
	if !errors.Is(err, store.ErrOutdated) {
		return err
	}
	if denied := r.look(r.http.Context()); denied != nil {
		return denied
	}
	return grant(by())
}

// deleteMember revokes a role. The answer is the same when the user had none.
func (a *api) deleteMember(r *request) (reply, error) {
	if err := cmp.Or(r.check(), r.notToSelf()); err != nil {
		return reply{}, err
	}
	c := ledger.RevokeMember{Account: r.ids["account"], Group: r.ids["group"], User: r.ids["user"], Actor: r.actor}
	err := r.byRight(func(by ledger.Standing) error {
		c.By = by
		return a.config.Commands.Revoke(r.http.Context(), c)
	})
	return reply{status: http.StatusOK, body: membership{Account: c.Account, Group: c.Group, User: c.User}}, err
}

// listMembers lists the members of an account by their ids.
func (a *api) listMembers(r *request) (reply, error) {
	return answerList(r, r.list(), r.ids["account"], a.config.Lists.Members, a.accountExists, showMembership)
}

// listAccountsOf lists the accounts that a user reaches. Users are not registered: one without memberships has an empty
// list. Users see those on which they have a role.
func (a *api) listAccountsOf(r *request) (reply, error) {
	read := shownTo(r, a.config.Lists.AccountsOf, r.toSee, func(m projections.Reach) string { return m.Account })
	return answerList(r, r.list().by(isReach), r.ids["user"], read, nil, showReach)
}

// isReach reports whether text can be a position in the list of a user's accounts: an id, or a #, a group and perhaps
// another # and an id. A # alone is one, too.
func isReach(text string) bool {
	position, behind := strings.CutPrefix(text, "#")
	if !behind || position == "" {
		return behind || events.ValidID(text)
	}
	group, account, within := strings.Cut(position, "#")
	return events.ValidID(group) && (!within || events.ValidID(account))
}
