package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-analyze/charts"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/internal/units"
)

const (
	// Up to chartLines postings, a chart has the balance after each posting. Beyond, it has chartTimes balances at
	// equal intervals: a statement of a year may have a thousand pages.
	chartLines, chartTimes    = 300, 12
	chartWidth, chartHeight   = 1100, 260
	chartNarrow               = 420 // the width on a phone
	chartPoints               = 240 // points of the line, at equal intervals
	chartLabels, chartNumbers = 6, 5
	chartFill                 = 40 // opacity of the area below the line, 0 to 255
	chartDays                 = 2  // charts of fewer days have times of the day as labels
)

// chart answers with an SVG chart of an account's balance.
func (c *Console) chart(w http.ResponseWriter, r *http.Request) {
	s, err := c.statementOf(r)
	var svg []byte
	if err == nil {
		var of curve
		if of, err = c.curveOf(r.Context(), s); err == nil {
			q := r.URL.Query()
			svg, err = of.svg(s.To, q.Has("dark"), q.Has("narrow"))
		}
	}
	if err != nil {
		c.render(w, r, view{}, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(svg) // the only error is a closed connection
}

// curve is a balance over time. balances[i] holds from since[i] on.
type curve struct {
	since    []time.Time
	balances []float64 // rounded: only for drawing
}

func (v *curve) add(at, balance string) {
	since, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return
	}
	if value, err := strconv.ParseFloat(balance, 64); err == nil {
		v.since, v.balances = append(v.since, since.UTC()), append(v.balances, value)
	}
}

// curveOf returns the balance after each posting of a statement, or at equal intervals if the statement has more than
// chartLines postings. It takes at most chartTimes requests.
func (c *Console) curveOf(ctx context.Context, s client.StatementQuery) (v curve, err error) {
	for page, err := range c.api.StatementPages(ctx, s) {
		if err != nil {
			return v, err
		}
		p := page.Value
		if len(v.since) == 0 && (!p.Opening.Quantity.IsZero() || len(p.Data) == 0) {
			v.add(p.From, c.units.Quantity(s.Asset, p.Opening.Quantity))
		}
		if p.Closing.Postings-p.Opening.Postings > chartLines {
			return c.curveSampled(ctx, s, p, v)
		}
		for _, l := range p.Data {
			v.add(l.PostedAt, c.units.Quantity(s.Asset, l.BalanceAfter))
		}
	}
	return v, nil
}

// curveSampled returns the balances at chartTimes equally spaced times of a statement, from its opening or, if that is
// zero, its first posting, to its closing. first is its first page, and v has the opening unless it is zero.
func (c *Console) curveSampled(ctx context.Context, s client.StatementQuery, first client.Statement, v curve) (
	curve, error,
) {
	if len(v.since) == 0 && len(first.Data) > 0 {
		v.add(first.Data[0].PostedAt, c.units.Quantity(s.Asset, first.Data[0].BalanceAfter))
	}
	from := s.From
	if len(v.since) > 0 {
		from = v.since[0]
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(units.LoadingAtOnce)
	balances := make([]client.PastBalance, chartTimes-2)
	for i := range balances {
		g.Go(func() error {
			at := from.Add(s.To.Sub(from) / (chartTimes - 1) * time.Duration(i+1))
			b, err := c.api.BalanceAt(ctx, s.Account, s.Asset, at, false)
			balances[i] = b.Value
			return err
		})
	}
	err := g.Wait()
	for _, b := range balances {
		v.add(b.At, c.units.Quantity(s.Asset, b.Quantity))
	}
	v.add(first.To, c.units.Quantity(s.Asset, first.Closing.Quantity))
	return v, err
}

// points returns the balances at chartPoints equally spaced times from the first one on, with labels.
func (v curve) points(until time.Time) (labels []string, balances []float64) {
	if len(v.since) == 0 {
		v.since, v.balances = []time.Time{until}, []float64{0}
	}
	span, layout, i := until.Sub(v.since[0]), time.DateOnly, 0
	if span < chartDays*24*time.Hour {
		layout = time.TimeOnly
	}
	for n := range chartPoints {
		at := v.since[0].Add(span / (chartPoints - 1) * time.Duration(n))
		for i+1 < len(v.since) && !v.since[i+1].After(at) {
			i++
		}
		labels, balances = append(labels, at.Format(layout)), append(balances, v.balances[i])
	}
	return labels, balances
}

// svg draws the balances until a time.
func (v curve) svg(until time.Time, dark, narrow bool) ([]byte, error) {
	labels, balances := v.points(until)
	o := charts.NewLineChartOptionWithData([][]float64{balances})
	width, times := chartWidth, chartLabels
	if narrow {
		width, times = chartNarrow, times/2
	}
	o.XAxis.Labels, o.XAxis.LabelCount = labels, times
	o.YAxis[0].LabelCount = chartNumbers
	if slices.Min(balances) >= 0 {
		o.YAxis[0].Min = new(0.0)
	}
	o.Symbol = charts.Symbol{Shape: charts.SymbolNone}
	theme, line := charts.ThemeLight, "#0d5f4e"
	if dark {
		theme, line = charts.ThemeDark, "#75d5bf"
	}
	o.Theme = charts.GetTheme(theme).WithBackgroundColor(charts.ColorTransparent).
		WithSeriesColors([]charts.Color{charts.ColorFromHex(line)})
	o.FillArea, o.FillOpacity = new(true), chartFill
	p := charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: width, Height: chartHeight,
	})
	if err := p.LineChart(o); err != nil {
		return nil, errors.Join(errors.New("the chart cannot be drawn"), err)
	}
	return p.Bytes()
}
