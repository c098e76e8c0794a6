package api

import (
	"context"
	"errors"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// getBalance answers with zeros for an account and an asset that exist, whether or not anything was posted or projected.
// Only when nothing is there it has to ask whether they exist.
func (a *api) getBalance(r *request) (reply, error) {
	k := projections.Key{Account: r.ids["account"], Asset: r.ids["asset"]}
	strongly := r.consistency()
	if err := r.check(); err != nil {
		return reply{}, err
	}
	b, err := a.balance(r.Context(), k, strongly)
	if err != nil {
		return reply{}, err
	}
	return ok(showBalance(consistencyName(strongly))(b))
}

func (a *api) balance(ctx context.Context, k projections.Key, strongly bool) (b projections.Balance, err error) {
	if strongly {
		account, err := a.Facts.Account(ctx, k.Account)
		if err != nil {
			return b, missing(err)
		}
		b, err = a.Strong.Balance(ctx, k, floor(account.Overdraft, k.Asset))
		if err != nil {
			return b, err
		}
	} else {
		b, err = a.Lists.Balance(ctx, k)
		if err != nil && !errors.Is(err, table.ErrAbsent) {
			return b, err
		}
	}
	b.Key = k
	if b.Head.Count > 0 {
		return b, nil
	}
	if _, err := a.Facts.Account(ctx, k.Account); err != nil {
		return b, missing(err)
	}
	if _, err := a.Facts.Asset(ctx, k.Asset); err != nil {
		return b, missing(err)
	}
	return b, nil
}

func (a *api) listBalances(r *request) (reply, error) {
	account := r.ids["account"]
	strongly := r.consistency()
	l := balancesOf(account)
	s := r.slice(l, events.ValidID)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.balances(r.Context(), account, s, strongly)
	if err != nil {
		return reply{}, err
	}
	return ok(pageOf(l, listed, showBalance(consistencyName(strongly))))
}

func (a *api) balances(ctx context.Context, account string, s projections.Slice, strongly bool) (listed projections.Listed[projections.Balance], err error) {
	if strongly {
		opened, err := a.Facts.Account(ctx, account)
		if err != nil {
			return listed, missing(err)
		}
		return a.Strong.Balances(ctx, account, func(asset string) *events.Amount { return floor(opened.Overdraft, asset) }, s)
	}
	listed, err = a.Lists.Balances(ctx, account, s)
	if err != nil || len(listed.Items) > 0 {
		return listed, err
	}
	if _, err = a.Facts.Account(ctx, account); err != nil {
		err = missing(err)
	}
	return listed, err
}

func (a *api) listHolders(r *request) (reply, error) {
	asset := r.ids["asset"]
	l := listOf("/v1/assets/" + asset + "/holders")
	s := r.slice(l, events.ValidID)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.Lists.Holders(r.Context(), asset, s)
	if err != nil {
		return reply{}, err
	}
	if len(listed.Items) == 0 {
		if _, err := a.Facts.Asset(r.Context(), asset); err != nil {
			return reply{}, missing(err)
		}
	}
	return ok(pageOf(l, listed, showBalance(eventual)))
}

// listPostings answers with an account's history, and asks whether account and asset exist only when it is empty.
func (a *api) listPostings(r *request) (reply, error) {
	account, asset, span, strongly := r.ids["account"], r.assetFilter(), r.span(), r.consistency()
	_, told := r.query[paramConsistency]
	if _, filtered := r.query[paramAsset]; told && !filtered {
		r.failOnce(paramConsistency, ruleOfAsset)
	}
	l := postingsOf(account, asset, span)
	s := r.slice(l, isKSUID)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.history(r.Context(), projections.Key{Account: account, Asset: asset}, span, s, strongly)
	if err != nil {
		return reply{}, err
	}
	if len(listed.Items) == 0 {
		if _, err := a.Facts.Account(r.Context(), account); err != nil {
			return reply{}, missing(err)
		}
		if asset != "" {
			if _, err := a.Facts.Asset(r.Context(), asset); err != nil {
				return reply{}, missing(err, ledger.FieldError{Field: paramAsset, Rule: "names an asset that does not exist"})
			}
		}
	}
	return ok(pageOf(l, listed, showPosting))
}

func (a *api) history(ctx context.Context, k projections.Key, span projections.Span, s projections.Slice, strongly bool) (listed projections.Listed[events.PostingRecorded], err error) {
	switch {
	case !span.To.IsZero() && !span.From.Before(span.To): // no time lies in it
		return listed, nil
	case k.Asset == "":
		return a.Lists.History(ctx, k.Account, span, s)
	}
	return a.Lists.HistoryOf(ctx, k, span, s, strongly)
}

// floor returns the lowest quantity that a policy lets a balance have, nil for no limit.
func floor(o events.Overdraft, asset string) *events.Amount {
	if o.Unlimited {
		return nil
	}
	lowest := o.Limits[asset].Neg()
	return &lowest
}

func consistencyName(strongly bool) string {
	if strongly {
		return strong
	}
	return eventual
}

// balancesOf is the list of an account's balances.
func balancesOf(account string) list { return listOf("/v1/accounts/" + account + "/balances") }

// postingsOf is the list of an account's postings within span, of one asset unless that is empty.
func postingsOf(account, asset string, span projections.Span) list {
	filters := []string{paramAsset, asset, paramFrom, "", paramTo, ""}
	if !span.From.IsZero() {
		filters[3] = events.FormatTime(span.From)
	}
	if !span.To.IsZero() {
		filters[5] = events.FormatTime(span.To)
	}
	return listOf("/v1/accounts/"+account+"/postings", filters...)
}
