package api

import (
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// accountPage is an account with its summary, first balances and newest postings.
type accountPage struct {
	Account  client.Account              `json:"account"`
	Summary  client.Summary              `json:"summary"` // zeros and nulls before it is projected
	Balances client.List[client.Balance] `json:"balances"`
	Postings client.List[posting]        `json:"postings"`
}

// getSummary answers with an account's page. It sends two concurrent queries. Their cost does not depend on the number
// of postings.
func (a *api) getSummary(r *request) (reply, error) {
	id := r.ids["account"]
	newest := r.number(paramNewest, 0, newestMax, newestDefault)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	var (
		held     projections.AccountPage
		indexed  *events.AccountOpened
		postings projections.Page[events.PostingRecorded]
	)
	both, ctx := errgroup.WithContext(r.http.Context())
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
	holder, err := a.holder(r.http.Context(), id, held.Holder)
	if err != nil {
		return reply{}, err
	}
	l, totals := postingsOf(id, "", projections.Span{}), held.Summary
	out := accountPage{
		Account: showAccount(holder),
		Summary: client.Summary{
			Holdings: totals.Holdings, Assets: totals.Assets, FirstPostingAt: timeOf(totals.First),
		},
		Balances: pageOf(listOf("/v1/accounts/"+id+"/balances"), held.Balances, showBalance(holder, eventual)),
	}
	if totals.First != "" {
		out.Summary.LastPostingAt = out.Summary.FirstPostingAt // until the index has one
		if len(postings.Items) > 0 {
			out.Summary.LastPostingAt = timeOf(postings.Items[0].ID)
		}
	}
	out.Postings = pageOf(l, postings, showPosting)
	if newest == 0 {
		out.Postings = client.List[posting]{Data: []posting{}}
		if len(postings.Items) > 0 {
			out.Postings.NextCursor = new(l.cursor(""))
		}
	}
	return ok(out)
}
