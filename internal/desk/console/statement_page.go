package console

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/days"
	"ledger.example/internal/desk/units"
)

// Query parameters of a statement: a month in place of days, and all lines on one page, for printing.
const monthParam, allParam = "month", "all"

// statementPage is the page of a statement. What is read follows late.
type statementPage struct {
	client.Account
	Here      pageURL
	Period    period
	Assets    []string // choices
	Asset     client.Asset
	IsFuture  bool
	Month     string       // of the period, "" if it is no month
	Before    template.URL // the month before; with After, "" if the period is no month
	After     template.URL
	Made      string
	Statement client.Statement // the first page that is shown
	In, Out   events.Amount    // what was credited and debited
	Lines     []statementLine
	IsFirst   bool // the lines begin with the first one
	Next      string
}

// statementLine is a line of a statement, with its time in the zone of the statement.
type statementLine struct {
	client.StatementLine
	When    string
	Parties firstN[string]
}

// statementPage shows a statement of an account in one asset: its opening and closing, and each posting between them.
func (v *visit) statementPage() (page, error) {
	account, err := v.api.Account(v.ctx, v.id)
	if err != nil {
		return page{}, err
	}
	data := statementPage{Account: account.Value, Here: pageURL{v.r.URL}, IsFirst: v.query.Get("cursor") == ""}
	p := page{name: "statement", Title: "Statement of " + cmp.Or(account.Value.Name, v.id), Data: &data}
	data.Month, err = v.takeMonth()
	if err == nil {
		data.Period, err = v.period()
	}
	if err != nil {
		return page{}, err
	}
	if err := v.statementAsset(&data); err != nil {
		return page{}, err
	}
	data.IsFuture = data.Period.InFuture()
	data.Made = time.Now().In(data.Period.in).Format("2 January 2006 15:04:05")
	if month, err := days.ParseMonth(data.Month); err == nil {
		to := func(first time.Time) template.URL {
			return data.Here.With(monthParam, first.Format("2006-01"), "from", "", "to", "", "cursor", "")
		}
		first := month.Begin(time.UTC)
		data.Before, data.After = to(first.AddDate(0, -1, 0)), to(first.AddDate(0, 1, 0))
	}
	p.rest = func(s *stream) error {
		if data.Period.Asset == "" || data.IsFuture {
			return s.show("statement foot", &data)
		}
		return s.statementLines(&data)
	}
	return p, nil
}

// takeMonth sets the days of the query to those of its month, by default the present one, and returns it. It is "" if
// there are other days. Error: a problem.
func (v *visit) takeMonth() (string, error) {
	in, err := v.zoneOf(v.query)
	if err != nil {
		return "", err
	}
	given := strings.TrimSpace(v.query.Get(monthParam))
	if given == "" && v.query.Get("from")+v.query.Get("to") != "" {
		return "", nil
	}
	text := cmp.Or(given, time.Now().In(in.in).Format("2006-01"))
	first, err := days.ParseMonth(text)
	if err != nil {
		return "", problem{http.StatusBadRequest, "Month: " + err.Error()}
	}
	last := first.NextMonth().Begin(time.UTC).AddDate(0, 0, -1)
	v.query.Set("from", first.String())
	v.query.Set("to", days.Of(last).String())
	return text, nil
}

// statementAsset sets the asset of a statement, and the choices: without one, the first of the account's balances.
func (v *visit) statementAsset(data *statementPage) error {
	balances, err := v.api.Balances(v.id, false).Page(v.ctx, "", client.PageLimit)
	if err != nil {
		return err
	}
	for _, b := range balances.Value.Data {
		data.Assets = append(data.Assets, b.Asset)
	}
	if data.Period.Asset == "" && len(data.Assets) > 0 {
		data.Period.Asset = data.Assets[0]
	}
	asset := data.Period.Asset
	if asset == "" {
		return nil
	}
	if !slices.Contains(data.Assets, asset) {
		data.Assets = append(data.Assets, asset)
	}
	data.Asset, err = v.units.Asset(v.ctx, asset)
	return cmp.Or(err, v.units.Load(v.ctx, asset))
}

// whole returns the query of a statement of the period. Unlike that of statement, it is the same at any time, so that
// cursors fit. The ledger takes a later time as now.
func (p period) whole() client.StatementQuery {
	q := p.statement()
	if q.To = p.to; p.to.IsZero() {
		q.To = latest
	}
	return q
}

// statementLines shows a page of the lines of a statement, or all of them.
func (s *stream) statementLines(data *statementPage) error {
	cursor, isAll := s.query.Get("cursor"), s.query.Has(allParam)
	for n := 0; ; n++ {
		reply, err := s.api.Statement(s.ctx, data.Period.whole(), cursor, client.PageLimit)
		if err != nil {
			return err
		}
		now := reply.Value
		if n == 0 {
			data.Statement = now
			in, err1 := now.Closing.Credits.Sub(now.Opening.Credits)
			out, err2 := now.Closing.Debits.Sub(now.Opening.Debits)
			if err := cmp.Or(err1, err2); err != nil {
				return err
			}
			data.In, data.Out = in, out
			if err := s.show("statement head", data); err != nil {
				return err
			}
		}
		if data.Lines, err = s.linesOf(now, data.Period); err != nil {
			return err
		}
		if err := s.show("statement lines", data); err != nil {
			return err
		}
		if now.NextCursor == nil || !isAll {
			data.Statement.Closing, data.Next = now.Closing, ""
			if now.NextCursor != nil {
				data.Next = *now.NextCursor
			}
			return s.show("statement foot", data)
		}
		if err := s.flush(); err != nil {
			return err
		}
		cursor = *now.NextCursor
	}
}

// linesOf returns the lines of a page of a statement, with their counterparties.
func (v *visit) linesOf(of client.Statement, p period) ([]statementLine, error) {
	all := make([]statementLine, len(of.Data))
	g, ctx := errgroup.WithContext(v.ctx)
	g.SetLimit(units.LoadingAtOnce)
	for i, line := range of.Data {
		all[i] = statementLine{StatementLine: line, When: timeOf(line.PostedAt).In(p.in).Format("2006-01-02 15:04:05")}
		g.Go(func() (err error) {
			all[i].Parties, err = v.parties(ctx, line.PostingOf)
			return err
		})
	}
	return all, g.Wait()
}

// FileDays returns the first and the last day of a statement, for the name of its file.
func (p period) FileDays() string {
	first, last, _ := strings.Cut(p.Days(), " to ")
	return cmp.Or(p.From, first) + "-" + cmp.Or(p.To, last)
}
