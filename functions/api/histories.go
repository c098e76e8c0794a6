package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/spreadsheet"
	"ledger.example/ledger"
	"ledger.example/projections"
)

func showPosting(e events.PostingRecorded) posting {
	var d events.Decimals
	status := events.StatusPosted
	switch {
	case e.Phase == events.PhasePlaced:
		status = events.StatusHeld
	case e.Phase.Ends():
		status = events.Status(e.Phase)
	}
	return posting{
		PostedLegOf: showLeg(e.Leg, &d), Pending: d.Of(e.Pending), Status: string(status), Transaction: e.Transaction,
		Kind: string(e.Kind), Description: e.Description, PostedAt: events.FormatTime(e.ID.Time()),
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
	ids := map[string]string{"account": k.Account}
	if k.Asset != "" {
		ids["asset"] = k.Asset
	}
	err := a.exist(ctx, ids)
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

// statement answers with a page of a statement, as JSON or as CSV.
func (a *api) statement(r *request, in *client.StatementQuery, l listed, s projections.Slice) (reply, error) {
	k, span := events.Pair{Account: in.Account, Asset: in.Asset}, projections.Span{From: in.From, To: in.To}
	var from *projections.StatementMark
	if mark, ok := parseMark(s.After); ok {
		from = &mark
	}
	page, err := a.config.Past.Statement(r.ctx(), k, span, from, s.Limit)
	if from != nil && errors.Is(err, events.ErrOverflow) { // the cursor was forged: no statement has such sums
		r.failCursor(paramCursor, errCursorAltered)
		return reply{}, r.check()
	}
	if errors.Is(err, projections.ErrNotInStatement) {
		r.failCursor(paramCursor, errCursorElsewhere)
		return reply{}, r.check()
	}
	if err == nil && page.Closing.Count == 0 {
		err = a.historyExists(r.ctx(), k)
	}
	if err != nil {
		return reply{}, err
	}
	out := statement{
		Account: k.Account, Asset: k.Asset, From: events.FormatTime(span.From), To: events.FormatTime(page.To),
		Opening: showSums(page.Opening), Closing: showSums(page.Closing), Settled: page.Settled,
		Data: make([]client.StatementLineOf[string], len(page.Lines)),
	}
	for i, line := range page.Lines {
		out.Data[i].PostingOf, out.Data[i].BalanceAfter = showPosting(line.PostingRecorded), line.After
	}
	if page.Next != nil {
		out.NextCursor = new(l.cursor(formatMark(*page.Next)))
	}
	if wantsCSV(r.http.Header) {
		return a.csv(r, out, from == nil)
	}
	return ok(out)
}

// csv answers with a page as comma-separated values (RFC 4180), with decimals. All pages together are one file.
func (a *api) csv(r *request, s statement, isFirst bool) (reply, error) {
	d, err := a.decimalsOf(r.ctx(), s.Asset)
	if err != nil {
		return reply{}, err
	}
	body := raw{mediaType: csvType + "; charset=utf-8", shows: s, write: func(shows any) ([]byte, error) {
		text, err := marshal(shows)
		if err != nil {
			return nil, err
		}
		var page client.Statement
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = spreadsheet.Write(&b, spreadsheet.Statement(page, isFirst, d), spreadsheet.Safe)
		return b.Bytes(), err
	}}
	return reply{status: http.StatusOK, body: body, next: s.NextCursor}, nil
}

// decimals are the scales of one asset and of its currency.
type decimals struct{ asset, currency events.AssetRegistered }

// decimalsOf reads an asset and its currency. Assets are immutable, so they are usually cached.
func (a *api) decimalsOf(ctx context.Context, id string) (d decimals, err error) {
	if d.asset, err = a.config.Resources.Asset(ctx, id); err == nil && d.asset.Currency != "" {
		d.currency, err = a.config.Resources.Asset(ctx, d.asset.Currency)
	}
	return d, err
}

// Quantity and Cost implement spreadsheet.Decimals.
func (d decimals) Quantity(_ string, a events.Amount) string { return a.Decimal(d.asset.Scale) }
func (d decimals) Cost(_ string, a events.Amount) (string, string) {
	return a.Decimal(d.currency.Scale), d.currency.ID
}

// wantsCSV reports whether the caller prefers CSV to JSON.
func wantsCSV(h http.Header) bool {
	quality := map[string]float64{}
	for _, accept := range h.Values("Accept") {
		for one := range strings.SplitSeq(accept, ",") {
			mediaType, parameters, err := mime.ParseMediaType(one)
			q, given := parameters["q"]
			if err != nil {
				continue
			}
			if quality[mediaType] = 1; given {
				quality[mediaType], _ = strconv.ParseFloat(q, 64)
			}
		}
	}
	return quality[csvType] > 0 && quality[csvType] >= quality[jsonType]
}

// formatMark formats a position in a statement for a cursor: the amounts and the numbers of postings of its sums, the
// end of the statement, in microseconds and negative unless it is settled, and a KSUID.
func formatMark(m projections.StatementMark) string {
	end := m.To.UnixMicro()
	if !m.Settled {
		end = -end
	}
	var fields []string
	amounts, counts := markParts(&m)
	for _, a := range amounts {
		fields = append(fields, a.String())
	}
	for _, n := range append(counts, &end) {
		fields = append(fields, strconv.FormatInt(*n, 10))
	}
	return strings.Join(append(fields, string(m.Balance.Through)), " ")
}

// parseMark parses a position that formatMark formatted.
func parseMark(text string) (m projections.StatementMark, ok bool) {
	var end int64
	amounts, counts := markParts(&m)
	counts = append(counts, &end)
	fields := strings.Split(text, " ")
	if len(fields) != len(amounts)+len(counts)+1 {
		return m, false
	}
	var err error
	for i, field := range fields {
		switch n := i - len(amounts); {
		case n < 0:
			*amounts[i], err = events.ParseAmount(field, events.FoldedDigits)
		case n < len(counts):
			*counts[n], err = strconv.ParseInt(field, 10, 64)
		default:
			m.Balance.Through, err = events.ParseKSUID(field)
		}
		if err != nil {
			return m, false
		}
	}
	m.To, m.Settled = time.UnixMicro(max(end, -end)).UTC(), end > 0
	return m, !m.To.Before(events.Epoch())
}

// isMark reports whether text can be a position in a statement.
func isMark(text string) bool {
	_, ok := parseMark(text)
	return ok
}

// markParts returns the amounts and the numbers of postings in a position.
func markParts(m *projections.StatementMark) (amounts []*events.Amount, counts []*int64) {
	for _, f := range []*projections.Fold{&m.Opening, &m.Balance, &m.Closing} {
		amounts = append(amounts, &f.Credits, &f.Debits, &f.Expenditure, &f.PendingDebits, &f.PendingCredits)
		counts = append(counts, &f.Count)
	}
	return amounts, counts
}
