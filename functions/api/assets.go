package api

import (
	"context"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// asset is an asset by its id.
type asset struct {
	listedAsset
	Actor string `json:"actor"`
}

func showAsset(e events.AssetRegistered) asset { return asset{showListedAsset(e), e.Actor} }

// listedAsset is an asset in a list, which leaves out who registered it.
type listedAsset struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Scale       int    `json:"scale"`
	Currency    string `json:"currency,omitempty"`
	CreatedAt   string `json:"created_at"`
}

func showListedAsset(e events.AssetRegistered) listedAsset {
	return listedAsset{e.ID, e.Name, e.Description, e.Scale, e.Currency, events.FormatTime(e.At)}
}

// putAsset registers an asset: 201, or 200 if it was registered before with the same body.
func (a *api) putAsset(r *request) (reply, error) {
	c := ledger.RegisterAsset{ID: r.ids["asset"], Actor: r.actor}
	var sent echo
	return answerWrite(r, &c, func(o *object) {
		sent = o.echo(r.ids["asset"], "created_at", "actor")
		c.Name = o.text("name", required)
		c.Description = o.text("description", optional)
		c.Scale = o.integer("scale")
		c.Currency = o.id("currency", optional)
	}, func(ctx context.Context) (reply, error) {
		if err := sent.check(r, func() (map[string]string, error) {
			e, err := a.config.Commands.Asset(ctx, c.ID)
			return map[string]string{"created_at": events.FormatTime(e.At), "actor": e.Actor}, err
		}); err != nil {
			return reply{}, err
		}
		e, created, err := a.config.Commands.RegisterAsset(ctx, c)
		return written(created, "/v1/assets/"+e.ID, showAsset(e)), err
	})
}

// getAsset is strongly consistent.
func (a *api) getAsset(r *request) (reply, error) {
	return answerFact(r, r.ids["asset"], a.config.Facts.Asset, showAsset)
}

// listAssets lists assets by their ids. The index may lag behind registrations.
func (a *api) listAssets(r *request) (reply, error) {
	prefix := r.filter(paramPrefix, rulePrefix)
	return answerList(r, r.list(paramPrefix, prefix), prefix, a.config.Lists.Assets, nil, showListedAsset)
}

// listHolders lists the balances in an asset of all accounts that hold or held it.
func (a *api) listHolders(r *request) (reply, error) {
	return answerList(r, r.list(), r.ids["asset"], a.holders, a.assetExists, func(h projections.Holding) balance {
		return showBalance(ledger.NewAccount(*h.Opened, h.Newest), eventual)(h.Balance)
	})
}

// holders reads a page of holders, each with its account.
func (a *api) holders(
	ctx context.Context, asset string, s projections.Slice,
) (projections.Listed[projections.Holding], error) {
	listed, err := a.config.Lists.Holders(ctx, asset, s)
	for i := range listed.Items {
		h := &listed.Items[i]
		if h.Opened != nil {
			continue
		}
		account, err := a.config.Facts.Account(ctx, h.Account) // not visible to the plain read yet
		if err != nil {
			return listed, err
		}
		h.Opened = &events.AccountOpened{ID: account.ID, Overdraft: account.Overdraft}
	}
	return listed, err
}
