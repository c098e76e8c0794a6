package api

import (
	"context"
	"net/http"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// Past answers what balances were. Errors are those of package store.
type Past interface {
	Balance(ctx context.Context, k events.Pair, at time.Time, strong bool) (projections.PastBalance, error)
	Balances(ctx context.Context, account string, at time.Time, strong bool, s projections.Slice) (
		projections.Listed[projections.PastBalance], error)
	Statement(ctx context.Context, k events.Pair, span projections.Span, from *projections.StatementMark, limit int) (
		projections.StatementPage, error)
}

func showSums(f projections.Fold) client.Sums {
	return client.Sums{
		Quantity: f.Quantity(), NetExpenditure: f.Expenditure, Credits: f.Credits, Debits: f.Debits,
		PendingDebits: f.PendingDebits, PendingCredits: f.PendingCredits, Postings: f.Count,
	}
}

// showPast returns how to show balances as of a time that were read with one consistency.
func showPast(at time.Time, consistency string) func(projections.PastBalance) client.PastBalance {
	return func(b projections.PastBalance) client.PastBalance {
		return client.PastBalance{
			Account: b.Account, Asset: b.Asset, Sums: showSums(b.Fold), AsOf: orNull(string(b.Through)),
			AsOfTime: timeOf(b.Through), At: events.FormatTime(at), Settled: b.Settled, Revision: b.Count,
			Consistency: consistency,
		}
	}
}

// clockTolerance is how far ahead of this process's clock a caller's may be.
const clockTolerance = 5 * time.Second

// past returns a time for which there are postings, as it is given, and whether it is.
func (a *api) past(r *request, name string) (t time.Time, given bool) {
	t, given = r.instant(name)
	if t.After(a.config.Now().Add(clockTolerance)) {
		r.failOnce(name, ruleFuture)
	}
	return t, given
}

// instant returns a time that a posting may have, now or later, as it is given, and whether it is.
func (r *request) instant(name string) (t time.Time, given bool) {
	text, given := r.query[name]
	if !given {
		return t, false
	}
	t, ok := parseTime(text)
	switch {
	case !ok:
		r.failOnce(name, ruleTime)
	case t.Before(events.Epoch()):
		r.failOnce(name, ruleEpoch)
	}
	return t.UTC(), true
}

// getPast answers what one balance was, with zeros before its first posting. Only when there is none it looks up
// whether account and asset exist.
func (a *api) getPast(r *request, k events.Pair, at time.Time) (reply, error) {
	consistency := r.consistency()
	if err := r.check(); err != nil {
		return reply{}, err
	}
	b, err := a.config.Past.Balance(r.http.Context(), k, at, consistency == strong)
	if err == nil && b.Count == 0 {
		err = a.pairExists(r.http.Context(), k)
	}
	return reply{status: http.StatusOK, body: showPast(at, consistency)(b)}, err
}

// listPast lists what the balances of an account were, by asset.
func (a *api) listPast(r *request, account string, at time.Time) (reply, error) {
	consistency := r.consistency()
	l := r.list(paramAt, events.FormatTime(at))
	return answerPage(r, l, showPast(at, consistency),
		func(ctx context.Context, s projections.Slice) (projections.Listed[projections.PastBalance], error) {
			listed, err := a.config.Past.Balances(ctx, account, at, consistency == strong, s)
			if err == nil && len(listed.Items) == 0 {
				err = a.accountExists(ctx, account)
			}
			return listed, err
		})
}
