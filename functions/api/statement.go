package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math/big"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// statement is a page of a statement: the postings of an account in one asset, with the opening and the closing
// balance.
type statement struct {
	Account string          `json:"account"`
	Asset   string          `json:"asset"`
	From    string          `json:"from"`
	To      string          `json:"to"`
	Opening client.Sums     `json:"opening"`
	Closing client.Sums     `json:"closing"`
	Settled bool            `json:"settled"`
	Data    []statementLine `json:"data"`
	Next    *string         `json:"next_cursor"`
}

// statementLine is a posting of a statement.
type statementLine struct {
	posting
	BalanceAfter events.Amount `json:"balance_after"`
}

// getStatement answers with a page of a statement, as JSON or as CSV.
func (a *api) getStatement(r *request, in *client.StatementQuery) (reply, error) {
	l := r.listOf(in, isMark)
	s := r.slice(paramCursor, l)
	if err := r.check(); err != nil {
		return reply{}, err
	}
	return r.permitRead(func() (reply, error) { return a.statement(r, in, l, s) })
}

// statement reads a page of a statement, and shows it.
func (a *api) statement(r *request, in *client.StatementQuery, l listed, s projections.Slice) (reply, error) {
	k, span := events.Pair{Account: in.Account, Asset: in.Asset}, projections.Span{From: in.From, To: in.To}
	var from *projections.StatementMark
	if mark, ok := parseMark(s.After); ok {
		from = &mark
	}
	page, err := a.config.Past.Statement(r.ctx(), k, span, from, s.Limit)
	if from != nil && errors.Is(err, events.ErrOverflow) { // the cursor was forged: no statement has such sums
		r.fail(paramCursor, errCursorAltered.Error())
		r.badCursor = true
		return reply{}, r.check()
	}
	if err == nil && page.Closing.Count == 0 {
		err = a.historyExists(r.ctx(), k)
	}
	if err != nil {
		return reply{}, err
	}
	if page.Settled && from == nil { // the cursor says it to later pages
		if page.Settled, err = a.isFinal(r.ctx(), span); err != nil {
			return reply{}, err
		}
		if page.Next != nil {
			page.Next.Settled = page.Settled
		}
	}
	out := statement{
		Account: k.Account, Asset: k.Asset, From: events.FormatTime(span.From), To: events.FormatTime(page.To),
		Opening: showSums(page.Opening), Closing: showSums(page.Closing), Settled: page.Settled,
		Data: make([]statementLine, len(page.Lines)),
	}
	for i, line := range page.Lines {
		out.Data[i] = statementLine{showPosting(line.PostingRecorded), line.After}
	}
	if page.Next != nil {
		out.Next = new(l.cursor(formatMark(*page.Next)))
	}
	if wantsCSV(r.http.Header) {
		return a.csv(r, out, r.http.URL.Query(), from == nil)
	}
	return ok(out)
}

// csv answers with a page as comma-separated values (RFC 4180), with decimals. All pages together are one file. query
// is that of the request.
func (a *api) csv(r *request, s statement, query url.Values, isFirst bool) (reply, error) {
	d, err := a.decimalsOf(r.ctx(), s.Asset)
	if err != nil {
		return reply{}, err
	}
	text, err := marshal(s)
	if err != nil {
		return reply{}, err
	}
	var page client.Statement
	if err := json.Unmarshal(text, &page); err != nil {
		return reply{}, err
	}
	out := reply{status: http.StatusOK}
	if s.Next != nil {
		query.Set(paramCursor, *s.Next)
		// Relative, because a gateway's stage may precede the path.
		out.link = "<?" + query.Encode() + `>; rel="next"`
	}
	var b bytes.Buffer
	err = csv.NewWriter(&b).WriteAll(page.Rows(isFirst, d))
	out.body = raw{csvType + "; charset=utf-8", b.Bytes()}
	return out, err
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

// Quantity and Cost implement client.Decimals.
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

// formatMark formats a position in a statement for a cursor: a KSUID, the end of the statement, in microseconds and
// negative unless it is settled, and the sums in base 62, which keeps cursors short.
func formatMark(m projections.StatementMark) string {
	end := m.To.UnixMicro()
	if !m.Settled {
		end = -end
	}
	fields := []string{string(m.Balance.Through), strconv.FormatInt(end, 10)}
	for _, f := range []*projections.Fold{&m.Opening, &m.Balance, &m.Closing} {
		for _, a := range markAmounts(f) {
			n, _ := new(big.Int).SetString(a.String(), 10)
			fields = append(fields, n.Text(big.MaxBase))
		}
		fields = append(fields, strconv.FormatInt(f.Count, 10))
	}
	return strings.Join(fields, " ")
}

// parseMark parses a position that formatMark formatted.
func parseMark(text string) (m projections.StatementMark, ok bool) {
	through, text, _ := strings.Cut(text, " ")
	until, text, _ := strings.Cut(text, " ")
	end, err := strconv.ParseInt(until, 10, 64)
	m.To, m.Settled = time.UnixMicro(max(end, -end)).UTC(), end > 0
	if err != nil || !isKSUID(through) || m.To.Before(events.Epoch()) {
		return m, false
	}
	fields := strings.Split(text, " ")
	folds := []*projections.Fold{&m.Opening, &m.Balance, &m.Closing}
	if len(fields) != len(folds)*markFields {
		return m, false
	}
	for i, f := range folds {
		own := fields[i*markFields:]
		for n, amount := range markAmounts(f) {
			whole, isWhole := new(big.Int).SetString(own[n], big.MaxBase)
			if !isWhole {
				return m, false
			}
			if *amount, err = events.ParseAmount(whole.String(), events.FoldedDigits); err != nil {
				return m, false
			}
		}
		if f.Count, err = strconv.ParseInt(own[markFields-1], 10, 64); err != nil {
			return m, false
		}
	}
	m.Balance.Through = events.KSUID(through)
	return m, true
}

// isMark reports whether text can be a position in a statement.
func isMark(text string) bool {
	_, ok := parseMark(text)
	return ok
}

// markFields is the number of fields for each fold in a position: its markAmounts and its number of postings.
const markFields = 6

func markAmounts(f *projections.Fold) []*events.Amount {
	return []*events.Amount{&f.Credits, &f.Debits, &f.Expenditure, &f.PendingDebits, &f.PendingCredits}
}
