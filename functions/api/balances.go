package api

import (
	"context"
	"net/http"
	"slices"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// showBalance returns a function that converts balances of an account. consistency is that of the read.
func showBalance(of ledger.Account, consistency string) func(projections.Balance) client.Balance {
	return func(b projections.Balance) client.Balance {
		return client.Balance{
			Account: b.Account, Asset: b.Asset, Sums: showSums(b.Head), Available: available(b.Head, of, b.Asset),
			AsOf: orNull(string(b.Head.Through)), AsOfTime: timeOf(b.Head.Through), Consistency: consistency,
		}
	}
}

// available returns how much the account can spend, nil for no limit. A closed account has no overdraft.
func available(h projections.Fold, of ledger.Account, asset string) *events.Amount {
	if of.Overdraft.Unlimited {
		return nil
	}
	var overdraft events.Amount
	if of.State != events.StateClosed {
		overdraft = of.Overdraft.Limits[asset]
	}
	sum, err := h.Quantity().Sub(h.PendingDebits)
	if err == nil {
		sum, err = sum.Add(overdraft)
	}
	if err != nil { // overflow
		sum = h.Quantity()
	}
	return &sum
}

// holder returns the account of a projection. The projection may lag and not have the account yet. Then holder reads
// the account strongly.
func (a *api) holder(ctx context.Context, id string, h projections.Holder) (ledger.Account, error) {
	if h.Opened == nil {
		return a.config.Resources.Account(ctx, id)
	}
	return ledger.NewAccount(*h.Opened, h.Newest), nil
}

// getBalance answers with zeros if the account and the asset exist but have no postings. It checks whether the asset
// exists only if there are no postings.
func (a *api) getBalance(r *request) (reply, error) {
	k := events.Pair{Account: r.ids["account"], Asset: r.ids["asset"]}
	if at, given := r.instant(paramAt); given {
		return a.getPast(r, k, at)
	}
	consistency := r.consistency()
	if err := r.check(); err != nil {
		return reply{}, err
	}
	read := a.eventualBalance
	if consistency == strong {
		read = a.strongBalance
	}
	b, of, err := read(r.http.Context(), k)
	if err == nil && b.Head.Count == 0 {
		err = a.assetExists(r.http.Context(), k.Asset)
	}
	return reply{status: http.StatusOK, body: showBalance(of, consistency)(b)}, err
}

// eventualBalance reads a balance from the projection, with its account.
func (a *api) eventualBalance(
	ctx context.Context, k events.Pair,
) (b projections.Balance, of ledger.Account, err error) {
	h, err := a.config.Lists.Balance(ctx, k)
	if err == nil {
		of, err = a.holder(ctx, k.Account, h.Holder)
	}
	return h.Balance, of, err
}

// pairExists returns account_not_found or asset_not_found if the account or the asset does not exist. An empty asset is
// not checked.
func (a *api) pairExists(ctx context.Context, k events.Pair) error {
	if err := a.accountExists(ctx, k.Account); err != nil || k.Asset == "" {
		return err
	}
	return a.assetExists(ctx, k.Asset)
}

// strongBalance reads a balance that includes every transaction acknowledged before the read, with its account.
func (a *api) strongBalance(ctx context.Context, k events.Pair) (b projections.Balance, of ledger.Account, err error) {
	if of, err = a.config.Resources.Account(ctx, k.Account); err != nil {
		return b, of, err
	}
	if b, err = a.config.Strong.Balance(ctx, k, nil); err != nil || !isBelow(b, of) {
		return b, of, err
	}
	if of, err = a.config.Resources.Account(ctx, k.Account); err != nil {
		return b, of, err
	}
	b, err = a.config.Strong.Balance(ctx, k, of.Floor(k.Asset))
	return b, of, err
}

// listBalances lists the balances of an account by asset.
func (a *api) listBalances(r *request) (reply, error) {
	if at, given := r.instant(paramAt); given {
		return a.listPast(r, r.ids["account"], at)
	}
	id, consistency := r.ids["account"], r.consistency()
	l := r.list()
	s := r.slice(l)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	read := a.eventualBalances
	if consistency == strong {
		read = a.strongBalances
	}
	listed, of, err := read(r.http.Context(), id, s)
	return reply{status: http.StatusOK, body: pageOf(l, listed, showBalance(of, consistency))}, err
}

// eventualBalances reads a page of balances from the projection, with their account.
func (a *api) eventualBalances(ctx context.Context, account string, s projections.Slice) (
	listed projections.Page[projections.Balance], of ledger.Account, err error,
) {
	h, listed, err := a.config.Lists.Balances(ctx, account, s)
	if err == nil {
		of, err = a.holder(ctx, account, h)
	}
	return listed, of, err
}

// strongBalances reads a page of strong balances, with their account. It includes assets that are not projected yet.
func (a *api) strongBalances(ctx context.Context, account string, s projections.Slice) (
	listed projections.Page[projections.Balance], of ledger.Account, err error,
) {
	if of, err = a.config.Resources.Account(ctx, account); err != nil {
		return listed, of, err
	}
	listed, err = a.config.Strong.Balances(ctx, account, nil, s)
	below := func(b projections.Balance) bool { return isBelow(b, of) }
	if err != nil || !slices.ContainsFunc(listed.Items, below) {
		return listed, of, err
	}
	if of, err = a.config.Resources.Account(ctx, account); err != nil {
		return listed, of, err
	}
	listed, err = a.config.Strong.Balances(ctx, account, of.Floor, s)
	return listed, of, err
}

// isBelow reports whether a balance is below the account's limit. The limit may have been raised after the account was
// read. Callers therefore read the account again before they read the balance again.
func isBelow(b projections.Balance, of ledger.Account) bool {
	floor := of.Floor(b.Asset)
	return floor != nil && b.Head.Quantity().Cmp(*floor) < 0
}
