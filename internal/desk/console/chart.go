package console

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-analyze/charts"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/internal/desk/units"
)

const (
	// Up to chartLines postings, a chart has the balance after each posting. Beyond, it has chartTimes balances at
	// equal intervals: a statement of a year may have a thousand pages. Pages say so.
	chartLines, chartTimes    = 300, 12
	chartWidth, chartHeight   = 1100, 260
	chartNarrow               = 420 // the width on a phone
	chartPoints               = 240 // points of the line, at equal intervals
	chartLabels, chartNumbers = 6, 5
	chartFill                 = 40  // opacity of the area below the line, 0 to 255
	chartDays                 = 2   // charts of fewer days have times of the day as labels
	chartYear                 = 300 // charts of more days have months with years as labels
)

// chart answers with an SVG chart of an account's balance.
func (v *visit) chart() (page, error) {
	p, err := v.statement()
	if err != nil {
		return page{}, err
	}
	s := p.statement()
	of, err := v.curve(s)
	if err != nil {
		return page{}, err
	}
	in, err := v.zoneOf(v.query)
	if err != nil {
		return page{}, err
	}
	of.zone = in
	svg, err := of.svg(s.To, v.query.Has("dark"), v.query.Has("narrow"))
	if err == nil {
		v.w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = v.w.Write(svg) // the only error is a closed connection
	}
	return page{}, err
}

// curve is a balance over time. balances[i] holds from since[i] on.
type curve struct {
	since    []time.Time
	balances []float64 // rounded: only for drawing
	zone               // of the labels
}

func (b *curve) add(at, balance string) {
	value, _ := strconv.ParseFloat(balance, 64) // a decimal number
	b.since, b.balances = append(b.since, timeOf(at)), append(b.balances, value)
}

// curve returns the balance after each posting of a statement, or at chartTimes equally spaced times if the statement
// has more than chartLines postings: from its opening or, if that is zero, its first posting, to its closing. It takes
// at most chartTimes requests.
func (v *visit) curve(s client.StatementQuery) (b curve, err error) {
	for page, err := range v.api.StatementPages(v.ctx, s) {
		if err != nil {
			return b, err
		}
		p := page.Value
		if len(b.since) == 0 && (!p.Opening.Quantity.IsZero() || len(p.Data) == 0) {
			b.add(p.From, v.Console.units.Quantity(s.Asset, p.Opening.Quantity))
		}
		isLong := p.Closing.Postings-p.Opening.Postings > chartLines
		for _, l := range p.Data {
			if !isLong || len(b.since) == 0 {
				b.add(l.PostedAt, v.Console.units.Quantity(s.Asset, l.BalanceAfter))
			}
		}
		if isLong {
			return b, v.sample(s, &b)
		}
	}
	return b, nil
}

// sample adds the balances between the first time of a curve and the end of a statement. It spreads them until the last
// posting: the balance does not change after it.
func (v *visit) sample(s client.StatementQuery, b *curve) error {
	closing, err := v.api.BalanceAt(v.ctx, s.Account, s.Asset, client.LastBefore(s.To), false)
	if err != nil {
		return err
	}
	from, last := b.since[0], closing.Value.At
	if at := closing.Value.AsOfTime; at != nil {
		last = *at
	}
	step := timeOf(last).Sub(from) / (chartTimes - 1)
	g, ctx := errgroup.WithContext(v.ctx)
	g.SetLimit(units.LoadingAtOnce)
	balances := make([]client.PastBalance, chartTimes-2)
	for i := range balances {
		g.Go(func() error {
			reply, err := v.api.BalanceAt(ctx, s.Account, s.Asset, from.Add(step*time.Duration(i+1)), false)
			balances[i] = reply.Value
			return err
		})
	}
	err = g.Wait()
	for _, past := range balances {
		b.add(past.At, v.Console.units.Quantity(s.Asset, past.Quantity))
	}
	b.add(last, v.Console.units.Quantity(s.Asset, closing.Value.Quantity))
	return err
}

// points returns the balances at chartPoints equally spaced times from the first one on, with labels.
func (b curve) points(until time.Time) (labels []string, balances []float64) {
	if len(b.since) == 0 {
		b.since, b.balances = []time.Time{until}, []float64{0}
	}
	span, layout, i := until.Sub(b.since[0]), "2 Jan", 0
	switch {
	case span < chartDays*24*time.Hour:
		layout = time.TimeOnly
	case span > chartYear*24*time.Hour:
		layout = "Jan 2006"
	}
	for n := range chartPoints {
		at := b.since[0].Add(span / (chartPoints - 1) * time.Duration(n))
		for i+1 < len(b.since) && !b.since[i+1].After(at) {
			i++
		}
		labels, balances = append(labels, at.In(b.in).Format(layout)), append(balances, b.balances[i])
	}
	return labels, balances
}

// svg draws the balances until a time.
func (b curve) svg(until time.Time, dark, narrow bool) ([]byte, error) {
	labels, balances := b.points(until)
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
