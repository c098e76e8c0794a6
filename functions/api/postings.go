package api

import (
	"context"
	"errors"
	"strconv"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// posting is a posting in a history.
type posting struct {
	leg
	Pending     string        `json:"pending"` // signed change of the pending amount; 0 unless it belongs to a hold
	Status      ledger.Status `json:"status"`  // never changes
	Transaction string        `json:"transaction"`
	Kind        events.Kind   `json:"kind"`
	Description string        `json:"description"`
	PostedAt    string        `json:"posted_at"`
}

func showPosting(e events.PostingRecorded) posting {
	var d events.Decimals
	status := ledger.StatusPosted
	switch {
	case e.Phase == events.PhasePlaced:
		status = ledger.StatusHeld
	case e.Phase.Ends():
		status = ledger.Status(e.Phase)
	}
	return posting{
		showLeg(e.Leg, &d), d.Of(e.Pending), status, e.Transaction, e.Kind, e.Description,
		events.FormatTime(e.ID.Time()),
	}
}

// isNumber reports whether text can be a position in a list that is ordered by numbers.
func isNumber(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n > 0 && n <= events.ChangesMax && strconv.FormatInt(n, 10) == text
}

// postings reads a page of an account's history. It checks whether the account and the asset exist only if the history
// is empty.
func (a *api) postings(
	r *request, in *client.PostingsQuery, s projections.Slice,
) (page projections.Page[events.PostingRecorded], err error) {
	ctx, k := r.ctx(), events.Pair{Account: in.Account, Asset: in.Asset}
	span := projections.Span{From: in.From, To: in.To}
	switch {
	case !span.To.IsZero() && !span.From.Before(span.To): // the span is empty
	case k.Asset == "":
		page, err = a.config.Lists.History(ctx, k.Account, span, s)
	default:
		page, err = a.config.Lists.HistoryOf(ctx, k, span, s, in.Strong)
	}
	if err == nil && len(page.Items) == 0 {
		err = a.historyExists(ctx, k)
	}
	return page, err
}

// historyExists returns account_not_found or asset_not_found if the account or the asset of the filter does not exist.
func (a *api) historyExists(ctx context.Context, k events.Pair) error {
	err := a.pairExists(ctx, k)
	if e, ok := errors.AsType[*ledger.Error](err); ok && e.Code == ledger.CodeAssetNotFound {
		p := problemOf(err, false)
		p.Errors = []fieldError{{Field: paramAsset, Rule: "names an asset that does not exist"}}
		return p
	}
	return err
}

// isKSUID reports whether text can be a position in a history.
func isKSUID(text string) bool {
	_, err := events.ParseKSUID(text)
	return err == nil
}
