package api

import (
	"context"
	"net/http"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// Past reads past balances and statements. Errors are those of package store.
type Past interface {
	Balance(ctx context.Context, k events.Pair, at time.Time, strong bool) (projections.PastBalance, error)
	Balances(ctx context.Context, account string, at time.Time, strong bool, s projections.Slice) (
		projections.Page[projections.PastBalance], error)
	Statement(ctx context.Context, k events.Pair, span projections.Span, from *projections.StatementMark, limit int) (
		projections.StatementPage, error)
}

func showSums(f projections.Fold) client.Sums {
	return client.Sums{
		Quantity: f.Quantity(), NetExpenditure: f.Expenditure, Credits: f.Credits, Debits: f.Debits,
		PendingDebits: f.PendingDebits, PendingCredits: f.PendingCredits, Postings: f.Count,
	}
}

// showPast returns a function that converts past balances. consistency is that of the read.
func showPast(consistency string) func(projections.PastBalance) client.PastBalance {
	return func(b projections.PastBalance) client.PastBalance {
		return client.PastBalance{
			Account: b.Account, Asset: b.Asset, Sums: showSums(b.Fold), AsOf: orNull(string(b.Through)),
			AsOfTime: timeOf(b.Through), At: events.FormatTime(b.At), Settled: b.Settled, Revision: b.Count,
			Consistency: consistency,
		}
	}
}

// clockTolerance is how far a caller's clock may be ahead of this process's clock.
const clockTolerance = 5 * time.Second

// pastTime returns a time parameter, which must not be in the future, and whether it is given.
func (a *api) pastTime(r *request, name string) (t time.Time, given bool) {
	t, given = r.instant(name)
	if t.After(a.config.Now().Add(clockTolerance)) {
		r.failOnce(name, ruleFuture)
	}
	return t, given
}

// instant returns a time parameter, which must be a valid time of a posting, and whether it is given.
func (r *request) instant(name string) (t time.Time, given bool) {
	text, given := r.query[name]
	if !given {
		return t, false
	}
	t, ok := events.ReadTime(text)
	switch {
	case !ok:
		r.failOnce(name, ruleTime)
	case t.Before(events.Epoch()):
		r.failOnce(name, ruleEpoch)
	}
	return t.UTC(), true
}

// getPast answers with a past balance, which is zero before its first posting. It checks whether the account and the
// asset exist only if there are no postings.
func (a *api) getPast(r *request, k events.Pair, at time.Time) (reply, error) {
	consistency := r.consistency()
	if err := r.check(); err != nil {
		return reply{}, err
	}
	b, err := a.config.Past.Balance(r.http.Context(), k, at, consistency == strong)
	if err == nil && b.Count == 0 {
		err = a.pairExists(r.http.Context(), k)
	}
	return reply{status: http.StatusOK, body: showPast(consistency)(b)}, err
}

// pastListed is the most past balances on a page. Each takes two requests, of about a megabyte if the account has a
// million postings.
const pastListed = 20

// listPast lists the past balances of an account, by asset.
func (a *api) listPast(r *request, account string, at time.Time) (reply, error) {
	consistency := r.consistency()
	l := r.list(paramAt, events.FormatTime(at))
	return answerPage(r, l, showPast(consistency),
		func(ctx context.Context, s projections.Slice) (projections.Page[projections.PastBalance], error) {
			s.Limit = min(s.Limit, pastListed)
			listed, err := a.config.Past.Balances(ctx, account, at, consistency == strong, s)
			if err == nil && len(listed.Items) == 0 {
				err = a.accountExists(ctx, account)
			}
			return listed, err
		})
}
