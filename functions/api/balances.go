package api

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

func showSums(f projections.Fold) client.Sums {
	return client.Sums{
		Quantity: f.Quantity(), NetExpenditure: f.Expenditure, Credits: f.Credits, Debits: f.Debits,
		PendingDebits: f.PendingDebits, PendingCredits: f.PendingCredits, Postings: f.Count,
	}
}

// consistency returns the value of the parameter. A strong read includes every transaction acknowledged before it. An
// eventual read reads projections, which lag.
func consistency(strong bool) string {
	if strong {
		return "strong"
	}
	return "eventual"
}

func showBalance(of ledger.Account, b projections.Balance, strong bool) client.Balance {
	return client.Balance{
		Account: b.Account, Asset: b.Asset, Sums: showSums(b.Head), Available: available(b.Head, of, b.Asset),
		AsOf: orNull(string(b.Head.Through)), AsOfTime: timeOf(b.Head.Through), Consistency: consistency(strong),
	}
}

func showPast(b projections.PastBalance, strong bool) client.PastBalance {
	return client.PastBalance{
		Account: b.Account, Asset: b.Asset, Sums: showSums(b.Fold), AsOf: orNull(string(b.Through)),
		AsOfTime: timeOf(b.Through), At: events.FormatTime(b.At), Settled: b.Settled, Revision: b.Count,
		Consistency: consistency(strong),
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

// getBalance answers with zeros if the account and the asset exist but have no postings, yet or at a past time. It
// checks whether they exist only if there are no postings.
func (a *api) getBalance(r *request, in *client.BalanceQuery) (reply, error) {
	ctx, k := r.ctx(), events.Pair{Account: in.Account, Asset: in.Asset}
	if !in.At.IsZero() {
		b, err := a.config.Past.Balance(ctx, k, in.At, in.Strong)
		if err == nil && b.Count == 0 {
			err = a.exist(ctx, r.ids)
		}
		return okIf(showPast(b, in.Strong), err)
	}
	var b projections.Balance
	var of ledger.Account
	var err error
	if in.Strong {
		of, err = a.strongly(ctx, k.Account, func(floor floors) (_ []projections.Balance, err error) {
			b, err = a.config.Strong.Balance(ctx, k, floor(k.Asset))
			return []projections.Balance{b}, err
		})
	} else {
		var h projections.Holding
		if h, err = a.config.Lists.Balance(ctx, k); err == nil {
			b = h.Balance
			of, err = a.holder(ctx, k.Account, h.Holder)
		}
	}
	if err == nil && b.Head.Count == 0 {
		err = a.exist(ctx, map[string]string{"asset": k.Asset})
	}
	return okIf(showBalance(of, b, in.Strong), err)
}

// floors returns the lowest quantity that the balance of an asset may have, nil for no limit.
type floors = func(asset string) *events.Amount

// strongly reads balances that include every transaction acknowledged before the read, with their account. A balance
// below the account's limit may mean that the limit was raised after the account was read. Then strongly reads the
// account again, and the balances again.
func (a *api) strongly(
	ctx context.Context, account string, read func(floors) ([]projections.Balance, error),
) (of ledger.Account, err error) {
	if of, err = a.config.Resources.Account(ctx, account); err != nil {
		return of, err
	}
	all, err := read(func(string) *events.Amount { return nil })
	if err != nil || !slices.ContainsFunc(all, func(b projections.Balance) bool {
		floor := of.Floor(b.Asset)
		return floor != nil && b.Head.Quantity().Cmp(*floor) < 0
	}) {
		return of, err
	}
	if of, err = a.config.Resources.Account(ctx, account); err == nil {
		_, err = read(of.Floor)
	}
	return of, err
}

// pastListed is the most past balances on a page. Each takes two requests.
const pastListed = 20

// balances reads a page of the balances of an account by asset, now or at a past time. A strong read includes assets
// that are not projected yet. A page of strong or past balances ends where its projections.Budget does.
func (a *api) balances(
	r *request, in *client.BalancesQuery, s projections.Slice,
) (shown projections.Page[any], err error) {
	ctx, id := r.ctx(), in.Account
	s.Budget = projections.NewBudget()
	if !in.At.IsZero() {
		s.Limit = min(s.Limit, pastListed)
		page, err := a.config.Past.Balances(ctx, id, in.At, in.Strong, s)
		if err == nil && len(page.Items) == 0 {
			err = a.exist(ctx, r.ids)
		}
		for _, b := range page.Items {
			shown.Items = append(shown.Items, showPast(b, in.Strong))
		}
		shown.Next = page.Next
		return shown, err
	}
	var page projections.Page[projections.Balance]
	var of ledger.Account
	if in.Strong {
		of, err = a.strongly(ctx, id, func(floor floors) (_ []projections.Balance, err error) {
			page, err = a.config.Strong.Balances(ctx, id, floor, s)
			return page.Items, err
		})
	} else {
		var h projections.Holder
		if h, page, err = a.config.Lists.Balances(ctx, id, s); err == nil {
			of, err = a.holder(ctx, id, h)
		}
	}
	for _, b := range page.Items {
		shown.Items = append(shown.Items, showBalance(of, b, in.Strong))
	}
	shown.Next = page.Next
	return shown, err
}

// holders reads a page of the balances of all accounts that hold or held an asset, with their accounts.
func (a *api) holders(
	r *request, in *client.AssetID, s projections.Slice,
) (projections.Page[projections.Holding], error) {
	page, err := those[client.AssetID]((*projections.Lists).Holders)(a, r, in, s)
	for i := range page.Items {
		h := &page.Items[i]
		if h.Opened != nil {
			continue
		}
		account, err := a.config.Resources.Account(r.ctx(), h.Account) // the projection does not have it yet
		if err != nil {
			return page, err
		}
		h.Opened = &events.AccountOpened{ID: account.ID, Overdraft: account.Overdraft}
	}
	return page, err
}

func showHolding(h projections.Holding) client.Balance {
	return showBalance(ledger.NewAccount(*h.Opened, h.Newest), h.Balance, false)
}

// pageBalances is the number of balances on an account's page.
const pageBalances = 100

// getSummary answers with an account's page. It sends two concurrent queries. Their cost does not depend on the number
// of postings.
func (a *api) getSummary(r *request, in *client.AccountPageQuery) (reply, error) {
	id, newest := in.Account, *in.Newest
	var (
		held     projections.AccountPage
		indexed  *events.AccountOpened
		postings projections.Page[events.PostingRecorded]
	)
	both, ctx := errgroup.WithContext(r.ctx())
	both.Go(func() (err error) {
		defer recoverTo(&err)
		held, err = a.config.Lists.AccountPage(ctx, id, pageBalances)
		return err
	})
	both.Go(func() (err error) {
		defer recoverTo(&err)
		// At least one, for the time of the last posting.
		indexed, postings, err = a.config.Lists.Newest(ctx, id, max(newest, 1))
		return err
	})
	if err := both.Wait(); err != nil {
		return reply{}, err
	}
	if held.Opened == nil {
		held.Opened = indexed
	}
	holder, err := a.holder(r.ctx(), id, held.Holder)
	if err != nil {
		return reply{}, err
	}
	totals := held.Summary
	out := accountPage{Account: showAccount(holder), Summary: client.Summary{
		Holdings: totals.Holdings, Assets: totals.Assets, FirstPostingAt: timeOf(totals.First),
	}}
	account := strings.TrimSuffix(r.path(), "summary")
	show := func(b projections.Balance) client.Balance { return showBalance(holder, b, false) }
	out.Balances = pageOf(r.list(account+"balances", byAsset), held.Balances, show)
	if totals.First != "" {
		out.Summary.LastPostingAt = out.Summary.FirstPostingAt // until the index has one
		if len(postings.Items) > 0 {
			out.Summary.LastPostingAt = timeOf(postings.Items[0].ID)
		}
	}
	history := r.list(account+"postings", byKSUID)
	out.Postings = pageOf(history, postings, showPosting)
	if newest == 0 {
		out.Postings = client.List[posting]{Data: []posting{}}
		if len(postings.Items) > 0 {
			out.Postings.NextCursor = new(history.cursor(""))
		}
	}
	return ok(out)
}
