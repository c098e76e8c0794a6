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
func (a *api) putAccount(r *request, in *client.Account) (reply, error) {
	return answerAccount(answerPut(r, in, func() ledger.OpenAccount {
		return ledger.OpenAccount{
			ID: in.ID, Name: in.Name, Profile: string(in.Profile), Overdraft: events.Overdraft(in.Overdraft),
			Actor: r.actor,
		}
	}, a.config.Resources.Account, showAccount, a.config.Commands.OpenAccount))
}

// getAccount is strongly consistent.
func (a *api) getAccount(r *request, in *client.AccountID) (reply, error) {
	return answerAccount(answerResource(r, in.Account, a.config.Resources.Account, showAccount))
}

// answerAccount adds the tag of an account to an answer: its version.
func answerAccount(out reply, err error) (reply, error) {
	if err == nil {
		out.tagged = true
		out.tag = `"` + strconv.FormatInt(out.body.(client.Account).Version, 10) + `"`
	}
	return out, err
}

// listAccounts lists accounts by id. The index may lag behind openings.
func (a *api) listAccounts(r *request, in *client.ByPrefix) (reply, error) {
	return answerByPrefix(r, in, a.config.Lists.Accounts, func(h projections.Holder) client.Account {
		return showListedAccount(ledger.NewAccount(*h.Opened, h.Newest))
	})
}
