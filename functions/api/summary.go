package api

import (
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/projections"
)

// getSummary answers with an account's page. Its two queries run side by side, and neither depends on how much there is.
func (a *api) getSummary(r *request) (reply, error) {
	id := r.ids["account"]
	newest := r.number(paramNewest, 0, newestMax, newestDefault)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	var (
		opened, indexed *events.AccountOpened
		totals          projections.Summary
		balances        projections.Listed[projections.Balance]
		postings        projections.Listed[events.PostingRecorded]
	)
	both, ctx := errgroup.WithContext(r.Context())
	both.Go(func() (err error) {
		defer survive(&err)
		opened, totals, balances, err = a.Lists.AccountPage(ctx, id, pageBalances)
		return err
	})
	both.Go(func() (err error) {
		defer survive(&err)
		// One at least, for the time of the last.
		indexed, postings, err = a.Lists.Newest(ctx, id, max(newest, 1))
		return err
	})
	if err := both.Wait(); err != nil {
		return reply{}, err
	}
	if opened == nil {
		opened = indexed
	}
	if opened == nil { // neither has it yet, which proves nothing
		e, err := a.Facts.Account(r.Context(), id)
		if err != nil {
			return reply{}, missing(err)
		}
		opened = &e
	}
	out := accountPage{
		Account:  showAccount(*opened),
		Summary:  summary{totals.Holdings, totals.Assets, timeOf(totals.First), nil},
		Balances: pageOf(balancesOf(id), balances, showBalance(eventual)),
	}
	if totals.First != "" {
		out.Summary.LastPostingAt = out.Summary.FirstPostingAt // until the index has one
		if len(postings.Items) > 0 {
			out.Summary.LastPostingAt = timeOf(postings.Items[0].ID)
		}
	}
	l := postingsOf(id, "", projections.Span{})
	if newest == 0 {
		top := page[posting]{Data: []posting{}}
		if len(postings.Items) > 0 {
			cursor := l.cursor("")
			top.Next = &cursor
		}
		out.Postings = top
	} else {
		out.Postings = pageOf(l, postings, showPosting)
	}
	return ok(out)
}
