package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-analyze/charts"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/internal/units"
)

const (
	// chartPages is how many pages of a statement a chart is drawn of. Of a longer one it shows the balances at so many
	// times instead, as far from each other.
	chartPages, chartTimes    = 3, 60
	chartWidth, chartHeight   = 1100, 260
	chartLabels, chartNumbers = 6, 5
)

// chart answers with a picture of an account's balance.
func (c *Console) chart(w http.ResponseWriter, r *http.Request) {
	s, err := c.statementOf(r)
	var svg []byte
	if err == nil {
		var of curve
		if of, err = c.curveOf(r.Context(), s); err == nil {
			svg, err = of.drawn()
		}
	}
	if err != nil {
		c.show(w, r, view{}, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(svg) // an error is that of a reader who left
}

// curve is a balance over time.
type curve struct {
	times    []string
	balances []float64 // for the picture only
}

func (v *curve) add(at, balance string) {
	if value, err := strconv.ParseFloat(balance, 64); err == nil {
		v.times, v.balances = append(v.times, when(at)[5:16]), append(v.balances, value)
	}
}

// curveOf returns the balance after each posting of a statement, or, when those are many, at times that are as far from
// each other. It asks the API no more often for a long statement.
func (c *Console) curveOf(ctx context.Context, s client.StatementQuery) (v curve, err error) {
	pages := 0
	for page, err := range c.api.StatementPages(ctx, s) {
		if err != nil {
			return v, err
		}
		if pages++; pages == 1 {
			v.add(page.Value.From, c.units.Quantity(s.Asset, page.Value.Opening.Quantity))
		}
		for _, l := range page.Value.Data {
			v.add(l.PostedAt, c.units.Quantity(s.Asset, l.BalanceAfter))
		}
		if pages == chartPages && page.Value.NextCursor != nil {
			return c.sampled(ctx, s)
		}
	}
	return v, nil
}

// sampled returns the balances at times of a statement that are as far from each other.
func (c *Console) sampled(ctx context.Context, s client.StatementQuery) (v curve, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(units.LoadingAtOnce)
	balances := make([]client.PastBalance, chartTimes)
	for i := range balances {
		g.Go(func() error {
			at := s.From.Add(s.To.Sub(s.From) / (chartTimes - 1) * time.Duration(i))
			b, err := c.api.BalanceAt(ctx, s.Account, s.Asset, at, false)
			balances[i] = b.Value
			return err
		})
	}
	err = g.Wait()
	for _, b := range balances {
		v.add(b.At, c.units.Quantity(s.Asset, b.Quantity))
	}
	return v, err
}

// drawn draws a line through the balances.
func (v curve) drawn() ([]byte, error) {
	labels, values := v.times, v.balances
	if len(values) < 2 {
		labels, values = append(labels, ""), append(values, values...)
	}
	o := charts.NewLineChartOptionWithData([][]float64{values})
	o.XAxis.Labels, o.XAxis.LabelCount = labels, chartLabels
	o.YAxis[0].LabelCount = chartNumbers
	o.Symbol = charts.Symbol{Shape: charts.SymbolNone}
	o.Theme = charts.GetTheme(charts.ThemeLight)
	p := charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: chartHeight,
	})
	if err := p.LineChart(o); err != nil {
		return nil, errors.Join(errors.New("the chart cannot be drawn"), err)
	}
	return p.Bytes()
}
