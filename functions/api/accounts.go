package api

import (
	"cmp"
	"encoding/json"
	"strconv"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// showAccount shows an account. An absent profile is shown as {}.
func showAccount(e ledger.Account) client.Account {
	shown := showListedAccount(e)
	shown.Profile, shown.Actor = json.RawMessage(cmp.Or(e.Profile, "{}")), e.OpenedBy
	return shown
}

// showListedAccount shows an account in a list, without its profile and actor.
func showListedAccount(e ledger.Account) client.Account {
	return client.Account{
		ID: e.ID, Name: e.Name, Overdraft: showOverdraft(e.Overdraft), State: string(e.State), Version: e.Version,
		CreatedAt: events.FormatTime(e.OpenedAt),
	}
}

// showOverdraft shows an overdraft policy. Without limits, Limits is nil.
func showOverdraft(o events.Overdraft) client.Overdraft {
	shown := client.Overdraft{Unlimited: o.Unlimited}
	if len(o.Limits) > 0 {
		shown.Limits = o.Limits
	}
	return shown
}

// putAccount opens an account. It answers 201, or 200 if it was opened before with the same body.
func (a *api) putAccount(r *request) (reply, error) {
	var in struct {
		client.AccountRequest
		fromLedger
		Version int64  `json:"version" in:"same"`
		State   string `json:"state" in:"same"`
	}
	in.fromLedger.ID = r.ids["account"]
	r.read(&in)
	c := ledger.OpenAccount{
		ID: r.ids["account"], Name: in.Name, Profile: string(in.Profile), Overdraft: events.Overdraft(in.Overdraft),
		Actor: r.actor,
	}
	if err := r.permit(c); err != nil {
		return reply{}, err
	}
	ctx := r.http.Context()
	if err := r.checkSame(a.stored(ctx, c.ID)); err != nil {
		return reply{}, err
	}
	e, created, err := a.config.Commands.OpenAccount(ctx, c)
	out := written(created, "/v1/accounts/"+e.ID, showAccount(e))
	out.tagged, out.tag = true, versionTag(e.Version)
	return out, err
}

// getAccount is strongly consistent.
func (a *api) getAccount(r *request) (reply, error) {
	out, err := answerResource(r, r.ids["account"], a.config.Resources.Account, showAccount)
	if err == nil {
		out.tag = versionTag(out.body.(client.Account).Version)
	}
	return out, err
}

// versionTag returns the entity tag of a version of an account.
func versionTag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// listAccounts lists accounts by id. The index may lag behind openings.
func (a *api) listAccounts(r *request) (reply, error) {
	return answerByPrefix(r, a.config.Lists.Accounts, func(h projections.Holder) client.Account {
		return showListedAccount(ledger.NewAccount(*h.Opened, h.Newest))
	})
}
