package api

import (
	"context"
	"net/http"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

func showGroup(e events.GroupRegistered) client.Group {
	shown := showListedGroup(e)
	shown.Actor = e.Actor
	return shown
}

// showListedGroup leaves out who registered a group.
func showListedGroup(e events.GroupRegistered) client.Group {
	return client.Group{ID: e.ID, Name: e.Name, Description: e.Description, CreatedAt: events.FormatTime(e.At)}
}

func showGrouped(g projections.GroupedAccount) client.GroupedAccount {
	return client.GroupedAccount{Group: g.Group, Account: g.Account}
}

func showTotal(t projections.Total) client.GroupTotal {
	return client.GroupTotal{Asset: t.Asset, Accounts: t.Accounts, Sums: showSums(t.Fold)}
}

// putGroup registers a group. It answers 201, or 200 if it was registered before with the same body.
func (a *api) putGroup(r *request) (reply, error) {
	var in struct {
		client.GroupRequest
		fromLedger
	}
	in.fromLedger.ID = r.ids["group"]
	r.read(&in)
	c := ledger.RegisterGroup{ID: r.ids["group"], Name: in.Name, Description: in.Description, Actor: r.actor}
	if err := r.permit(c); err != nil {
		return reply{}, err
	}
	ctx := r.http.Context()
	if err := r.checkSame(func() (map[string]string, error) {
		e, err := a.config.Resources.Group(ctx, c.ID)
		return map[string]string{"created_at": events.FormatTime(e.At), "actor": e.Actor}, err
	}); err != nil {
		return reply{}, err
	}
	e, created, err := a.config.Commands.RegisterGroup(ctx, c)
	return written(created, "/v1/groups/"+e.ID, showGroup(e)), err
}

// getGroup is strongly consistent.
func (a *api) getGroup(r *request) (reply, error) {
	return answerResource(r, r.ids["group"], a.config.Resources.Group, showGroup)
}

// listGroups lists groups by id. The index may lag behind registrations.
func (a *api) listGroups(r *request) (reply, error) {
	return answerByPrefix(r, a.config.Lists.Groups, showListedGroup)
}

// putGrouped puts an account into a group. It answers 201, or 200 if the account is already in the group.
func (a *api) putGrouped(r *request) (reply, error) { return a.group(r, false) }

// deleteGrouped takes an account out of a group. The answer is the same if the account is not in the group.
func (a *api) deleteGrouped(r *request) (reply, error) { return a.group(r, true) }

func (a *api) group(r *request, out bool) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	c := ledger.GroupAccount{Group: r.ids["group"], Account: r.ids["account"], Out: out, Actor: r.actor}
	groups, changed, err := a.config.Commands.GroupAccount(r.http.Context(), c)
	if groups == nil {
		groups = []string{}
	}
	grouped := client.GroupedAccount{Group: c.Group, Account: c.Account}
	is := client.AccountGroups{GroupedAccount: grouped, Groups: groups}
	return written(changed && !out, "", is), err
}

// listGroupAccounts lists the accounts of a group by id. Users see the accounts on which they have a role.
func (a *api) listGroupAccounts(r *request) (reply, error) {
	read := shownTo(r, a.config.Lists.GroupAccounts, accountsListed, r.viewerRights,
		func(g projections.GroupedAccount) string { return g.Account })
	return answerList(r, r.list(), r.ids["group"], read, a.groupExists, showGrouped)
}

// listGroupMembers lists the members of a group by id.
func (a *api) listGroupMembers(r *request) (reply, error) {
	return answerList(r, r.list(), r.ids["group"], a.config.Lists.GroupMembers, a.groupExists, showMembership)
}

// listAccountGroups lists the groups of an account by id. Users see the groups in which they have a role.
func (a *api) listAccountGroups(r *request) (reply, error) {
	read := shownTo(r, a.config.Lists.AccountGroups, limitMax, r.groupRights,
		func(g projections.GroupedAccount) string { return g.Group })
	return answerList(r, r.list(), r.ids["account"], read, a.accountExists, showGrouped)
}

// listGroupsOf lists the groups of a user by id. Users see the groups in which they have a role.
func (a *api) listGroupsOf(r *request) (reply, error) {
	read := shownTo(r, a.config.Lists.GroupsOf, limitMax, r.groupRights,
		func(m projections.Membership) string { return m.Group })
	return answerList(r, r.list(), r.ids["user"], read, nil, showMembership)
}

// getTotals answers with the sums of a group's next balances, by asset. Whoever wants the totals of the group adds up
// the pages. The balances are read one by one, so they are not a snapshot.
func (a *api) getTotals(r *request) (reply, error) {
	id := r.ids["group"]
	l := r.list().by(isBalance)
	s := r.slice(l)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.config.Lists.GroupTotals(r.http.Context(), id, s)
	if err == nil && len(listed.Items) == 0 {
		err = a.groupExists(r.http.Context(), id)
	}
	shown := client.GroupTotals{Group: id, List: pageOf(l, listed, showTotal)}
	return reply{status: http.StatusOK, body: shown}, err
}

// isBalance reports whether text can be a position among the balances of a group.
func isBalance(text string) bool {
	account, asset, within := strings.Cut(text, "#")
	return events.ValidID(account) && (!within || events.ValidID(asset))
}

// groupExists returns group_not_found if the group does not exist.
func (a *api) groupExists(ctx context.Context, id string) error {
	_, err := a.config.Resources.Group(ctx, id)
	return err
}
