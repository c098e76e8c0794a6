package api

import (
	"net/http"
	"slices"

	"ledger.example/events"
	"ledger.example/ledger"
)

func (a *api) putAsset(r *request) (reply, error) {
	c := ledger.RegisterAsset{ID: r.ids["asset"], Actor: r.actor}
	err := r.decode(func(o *object) {
		c.Name = o.requiredText("name")
		c.Description = o.text("description")
		c.Scale = o.integer("scale")
		c.Currency = o.id("currency")
	}, func() []ledger.FieldError { return ofBody(c.Shape(), "id") })
	if err != nil {
		return reply{}, err
	}
	e, created, err := a.Commands.RegisterAsset(r.Context(), c)
	if err != nil {
		return reply{}, err
	}
	return made(created, "/v1/assets/"+e.ID, showAsset(e)), nil
}

func (a *api) putAccount(r *request) (reply, error) {
	c := ledger.OpenAccount{ID: r.ids["account"], Actor: r.actor}
	err := r.decode(func(o *object) {
		c.Name = o.text("name")
		c.Profile = o.profile("profile")
		c.Overdraft = o.overdraft("overdraft")
	}, func() []ledger.FieldError { return ofBody(c.Shape(), "id") })
	if err != nil {
		return reply{}, err
	}
	e, created, err := a.Commands.OpenAccount(r.Context(), c)
	if err != nil {
		return reply{}, err
	}
	return made(created, "/v1/accounts/"+e.ID, showAccount(e)), nil
}

func (a *api) putMember(r *request) (reply, error) {
	c := ledger.GrantMember{Account: r.ids["account"], User: r.ids["user"], Actor: r.actor}
	err := r.decode(func(o *object) {
		c.Role = events.Role(o.requiredText("role"))
	}, func() []ledger.FieldError { return ofBody(c.Shape(), "account", "user") })
	if err != nil {
		return reply{}, err
	}
	created, err := a.Commands.Grant(r.Context(), c)
	if err != nil {
		return reply{}, err
	}
	return made(created, "", membership{c.Account, c.User, orNull(string(c.Role))}), nil
}

func (a *api) deleteMember(r *request) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	c := ledger.RevokeMember{Account: r.ids["account"], User: r.ids["user"], Actor: r.actor}
	if err := a.Commands.Revoke(r.Context(), c); err != nil {
		return reply{}, err
	}
	return ok(membership{Account: c.Account, User: c.User})
}

// ofBody leaves out what a command says of the ids that it has from the path, which was checked already.
func ofBody(wrong []ledger.FieldError, path ...string) []ledger.FieldError {
	return slices.DeleteFunc(wrong, func(f ledger.FieldError) bool { return slices.Contains(path, f.Field) })
}

// made answers a write: 201 when it made what stands at location, 200 when that was there.
func made(created bool, location string, body any) reply {
	if created {
		return reply{status: http.StatusCreated, body: body, location: location}
	}
	return reply{status: http.StatusOK, body: body}
}

func (a *api) getAsset(r *request) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	e, err := a.Facts.Asset(r.Context(), r.ids["asset"])
	if err != nil {
		return reply{}, missing(err)
	}
	return reply{status: http.StatusOK, body: showAsset(e), fixed: true}, nil
}

func (a *api) getAccount(r *request) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	e, err := a.Facts.Account(r.Context(), r.ids["account"])
	if err != nil {
		return reply{}, missing(err)
	}
	return reply{status: http.StatusOK, body: showAccount(e), fixed: true}, nil
}

func (a *api) listAssets(r *request) (reply, error) {
	prefix := r.prefix()
	l := listOf("/v1/assets", paramPrefix, prefix)
	s := r.slice(l, events.ValidID)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.Lists.Assets(r.Context(), prefix, s)
	if err != nil {
		return reply{}, err
	}
	return ok(pageOf(l, listed, showAsset))
}

func (a *api) listAccounts(r *request) (reply, error) {
	prefix := r.prefix()
	l := listOf("/v1/accounts", paramPrefix, prefix)
	s := r.slice(l, events.ValidID)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.Lists.Accounts(r.Context(), prefix, s)
	if err != nil {
		return reply{}, err
	}
	return ok(pageOf(l, listed, showListedAccount))
}

func (a *api) listMembers(r *request) (reply, error) {
	account := r.ids["account"]
	l := listOf("/v1/accounts/" + account + "/members")
	s := r.slice(l, events.ValidID)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.Lists.Members(r.Context(), account, s)
	if err != nil {
		return reply{}, err
	}
	if len(listed.Items) == 0 {
		if _, err := a.Facts.Account(r.Context(), account); err != nil {
			return reply{}, missing(err)
		}
	}
	return ok(pageOf(l, listed, showMembership))
}

// listAccountsOf lists what a user is a member of. Users are not registered: any may have none.
func (a *api) listAccountsOf(r *request) (reply, error) {
	user := r.ids["user"]
	l := listOf("/v1/users/" + user + "/accounts")
	s := r.slice(l, events.ValidID)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.Lists.AccountsOf(r.Context(), user, s)
	if err != nil {
		return reply{}, err
	}
	return ok(pageOf(l, listed, showMembership))
}
