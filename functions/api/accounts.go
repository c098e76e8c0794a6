package api

import (
	"context"
	"encoding/json"
	"strconv"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// account is an account by its id.
type account struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	Profile   json.RawMessage     `json:"profile"`
	Overdraft any                 `json:"overdraft,omitempty"` // "unlimited", or amounts by asset
	State     events.AccountState `json:"state"`
	Version   int64               `json:"version"`
	CreatedAt string              `json:"created_at"`
	Actor     string              `json:"actor"` // who opened it
}

// showAccount shows an account without a profile with an empty one.
func showAccount(e ledger.Account) account {
	profile := e.Profile
	if profile == "" {
		profile = "{}"
	}
	return account{
		e.ID, e.Name, json.RawMessage(profile), showOverdraft(e.Overdraft), e.State, e.Version,
		events.FormatTime(e.OpenedAt), e.OpenedBy,
	}
}

// listedAccount is an account in a list, which leaves out its profile and who opened it.
type listedAccount struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	Overdraft any                 `json:"overdraft,omitempty"`
	State     events.AccountState `json:"state"`
	Version   int64               `json:"version"`
	CreatedAt string              `json:"created_at"`
}

func showListedAccount(h projections.Holder) listedAccount {
	a := ledger.NewAccount(*h.Opened, h.Newest)
	return listedAccount{
		a.ID, a.Name, showOverdraft(a.Overdraft), a.State, a.Version, events.FormatTime(a.OpenedAt),
	}
}

// showOverdraft returns "unlimited", amounts by asset, or nil for a policy of neither.
func showOverdraft(o events.Overdraft) any {
	switch {
	case o.Unlimited:
		return "unlimited"
	case len(o.Limits) > 0:
		return o.Limits
	}
	return nil
}

// putAccount opens an account: 201, or 200 if it was opened before with the same body.
func (a *api) putAccount(r *request) (reply, error) {
	c := ledger.OpenAccount{ID: r.ids["account"], Actor: r.actor}
	var sent echo
	return answerWrite(r, &c, func(o *object) {
		sent = o.echo(c.ID, "created_at", "actor", "version", "state")
		c.Name = o.text("name", optional)
		c.Profile = o.profile("profile")
		c.Overdraft = o.overdraft("overdraft")
	}, func(ctx context.Context) (reply, error) {
		if err := sent.check(r, a.stored(ctx, c.ID)); err != nil {
			return reply{}, err
		}
		e, created, err := a.config.Commands.OpenAccount(ctx, c)
		out := written(created, "/v1/accounts/"+e.ID, showAccount(e))
		out.tagged, out.tag = true, versionTag(e.Version)
		return out, err
	})
}

// getAccount is strongly consistent.
func (a *api) getAccount(r *request) (reply, error) {
	out, err := answerFact(r, r.ids["account"], a.config.Facts.Account, showAccount)
	if err == nil {
		out.tag = versionTag(out.body.(account).Version)
	}
	return out, err
}

// versionTag returns the entity tag of an account of a version.
func versionTag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// listAccounts lists accounts by their ids. The index may lag behind openings.
func (a *api) listAccounts(r *request) (reply, error) {
	prefix := r.filter(paramPrefix, rulePrefix)
	return answerList(r, r.list(paramPrefix, prefix), prefix, a.config.Lists.Accounts, nil, showListedAccount)
}
