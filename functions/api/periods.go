package api

import (
	"context"
	"strconv"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

func showPeriod(e events.PeriodClosed) client.Period {
	return client.Period{
		Number: e.Number, ClosedBefore: events.FormatTime(e.Before), Reason: e.Reason,
		ClosedAt: events.FormatTime(e.At), Actor: e.Actor, FinalAt: events.FormatTime(e.FinalAt()),
	}
}

func (r *request) closePeriod(in *client.PeriodClosing) ledger.ClosePeriod {
	number, _ := strconv.ParseInt(in.Number, 10, 64)
	if strconv.FormatInt(number, 10) != in.Number {
		number = 0 // which is refused
	}
	return ledger.ClosePeriod{Number: number, Before: in.ClosedBefore, Reason: in.Reason, Actor: r.actor}
}

func (a *api) close(r *request, c ledger.ClosePeriod) (reply, error) {
	closed, created, err := a.config.Commands.ClosePeriod(r.ctx(), c)
	return written(created, "", showPeriod(closed)), err
}

// periods reads a page of the closings of the books.
func (a *api) periods(r *request, _ *struct{}, s projections.Slice) (projections.Page[events.PeriodClosed], error) {
	return a.config.Lists.Periods(r.ctx(), s)
}

// isFinal reports whether nothing can be posted into a statement by a request that was decided before its period was
// closed. A period that is open has no such requests.
func (a *api) isFinal(ctx context.Context, s projections.Span) (bool, error) {
	newest, err := a.config.Lists.Periods(ctx, projections.Slice{Limit: 1})
	if err != nil || len(newest.Items) == 0 {
		return true, err
	}
	closed := newest.Items[0]
	return !s.From.Before(closed.Before) || !a.config.Now().Before(closed.FinalAt()), nil
}
