package api

import (
	"context"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

func showAsset(e events.AssetRegistered) client.Asset {
	shown := showListedAsset(e)
	shown.Actor = e.Actor
	return shown
}

// showListedAsset shows an asset in a list, without its actor.
func showListedAsset(e events.AssetRegistered) client.Asset {
	return client.Asset{
		ID: e.ID, Name: e.Name, Description: e.Description, Scale: e.Scale, Currency: e.Currency,
		CreatedAt: events.FormatTime(e.At),
	}
}

// putAsset registers an asset. It answers 201, or 200 if it was registered before with the same body.
func (a *api) putAsset(r *request, in *client.Asset) (reply, error) {
	return answerPut(r, in, func() ledger.RegisterAsset {
		return ledger.RegisterAsset{
			ID: in.ID, Name: in.Name, Description: in.Description, Scale: in.Scale, Currency: in.Currency,
			Actor: r.actor,
		}
	}, a.config.Resources.Asset, showAsset, a.config.Commands.RegisterAsset)
}

// getAsset is strongly consistent.
func (a *api) getAsset(r *request, in *client.AssetID) (reply, error) {
	return answerResource(r, in.Asset, a.config.Resources.Asset, showAsset)
}

// listAssets lists assets by id. The index may lag behind registrations.
func (a *api) listAssets(r *request, in *client.ByPrefix) (reply, error) {
	return answerByPrefix(r, in, a.config.Lists.Assets, showListedAsset)
}

// listHolders lists the balances of all accounts that hold or held an asset.
func (a *api) listHolders(r *request, in *client.AssetID) (reply, error) {
	show := func(h projections.Holding) client.Balance {
		return showBalance(ledger.NewAccount(*h.Opened, h.Newest), eventual)(h.Balance)
	}
	return answerList(r, r.list(), in.Asset, a.holders, a.assetExists, show)
}

// holders reads a page of the holders of an asset, with their accounts.
func (a *api) holders(
	ctx context.Context, asset string, s projections.Slice,
) (projections.Page[projections.Holding], error) {
	listed, err := a.config.Lists.Holders(ctx, asset, s)
	for i := range listed.Items {
		h := &listed.Items[i]
		if h.Opened != nil {
			continue
		}
		account, err := a.config.Resources.Account(ctx, h.Account) // the projection does not have it yet
		if err != nil {
			return listed, err
		}
		h.Opened = &events.AccountOpened{ID: account.ID, Overdraft: account.Overdraft}
	}
	return listed, err
}
