package api

import (
	"context"
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
func (a *api) putGroup(r *request, in *client.Group) (reply, error) {
	return answerPut(r, in, func() ledger.RegisterGroup {
		return ledger.RegisterGroup{ID: in.ID, Name: in.Name, Description: in.Description, Actor: r.actor}
	}, a.config.Resources.Group, showGroup, a.config.Commands.RegisterGroup)
}

// getGroup is strongly consistent.
func (a *api) getGroup(r *request, in *client.GroupID) (reply, error) {
	return answerResource(r, in.Group, a.config.Resources.Group, showGroup)
}

// listGroups lists groups by id. The index may lag behind registrations.
func (a *api) listGroups(r *request, in *client.ByPrefix) (reply, error) {
	return answerByPrefix(r, in, a.config.Lists.Groups, showListedGroup)
}

// putGrouped puts an account into a group. It answers 201, or 200 if the account is already in the group.
func (a *api) putGrouped(r *request, in *client.GroupedAccount) (reply, error) {
	return a.group(r, in, false)
}

// deleteGrouped takes an account out of a group. The answer is the same if the account is not in the group.
func (a *api) deleteGrouped(r *request, in *client.GroupedAccount) (reply, error) {
	return a.group(r, in, true)
}

func (a *api) group(r *request, in *client.GroupedAccount, out bool) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	c := ledger.GroupAccount{Group: in.Group, Account: in.Account, Out: out, Actor: r.actor}
	groups, changed, err := a.config.Commands.GroupAccount(r.http.Context(), c)
	if groups == nil {
		groups = []string{}
	}
	return written(changed && !out, "", client.AccountGroups{GroupedAccount: *in, Groups: groups}), err
}

// listGroupAccounts lists the accounts of a group by id. Users see the accounts on which they have a role.
func (a *api) listGroupAccounts(r *request, in *client.GroupID) (reply, error) {
	read := shownTo(r, a.config.Lists.GroupAccounts, accountsListed, r.viewerRights,
		func(g projections.GroupedAccount) string { return g.Account })
	return answerList(r, r.list(), in.Group, read, a.groupExists, showGrouped)
}

// listAccountGroups lists the groups of an account by id. Users see the groups in which they have a role.
func (a *api) listAccountGroups(r *request, in *client.AccountID) (reply, error) {
	read := shownTo(r, a.config.Lists.AccountGroups, limitMax, r.groupRights,
		func(g projections.GroupedAccount) string { return g.Group })
	return answerList(r, r.list(), in.Account, read, a.accountExists, showGrouped)
}

// getTotals answers with the sums of a group's next balances, by asset. Whoever wants the totals of the group adds up
// the pages. The balances are read one by one, so they are not a snapshot.
func (a *api) getTotals(r *request, in *client.GroupID) (reply, error) {
	l := r.list().by(isBalance)
	out, err := answerList(r, l, in.Group, a.config.Lists.GroupTotals, a.groupExists, showTotal)
	if err == nil {
		out.body = client.GroupTotals{Group: in.Group, List: out.body.(client.List[client.GroupTotal])}
	}
	return out, err
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
