package console

import (
	"encoding/csv"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-analyze/charts"

	"ledger.example/client"
	"ledger.example/events"
)

const (
	// pastDays is how many days the chart and the statement of an account show.
	pastDays = 30
	// chartPoints is the most balances of a chart.
	chartPoints               = 1000
	chartWidth, chartHeight   = 1100, 260
	chartLabels, chartNumbers = 6, 5
)

// pastOf asks for an account's statement of the last days in the asset that the request names.
func pastOf(r *http.Request) client.StatementQuery {
	now := time.Now().UTC()
	return client.StatementQuery{
		Account: r.PathValue("id"), Asset: r.URL.Query().Get("asset"), From: now.AddDate(0, 0, -pastDays), To: now,
	}
}

// statement answers with a statement as CSV, in decimals.
func (c *Console) statement(w http.ResponseWriter, r *http.Request) {
	ctx, s := r.Context(), pastOf(r)
	if err := c.units.Load(ctx, s.Asset); err != nil {
		c.show(w, r, view{}, err)
		return
	}
	out := csv.NewWriter(w)
	row := func(at, transaction, status, description string, quantity, balance events.Amount) {
		_ = out.Write([]string{at, transaction, status, description, // an error is that of a reader who left
			c.units.Quantity(s.Asset, quantity), c.units.Quantity(s.Asset, balance)})
	}
	first := true
	var closing client.Sums
	for page, err := range c.api.StatementPages(ctx, s) {
		switch {
		case err != nil && first:
			c.show(w, r, view{}, err)
			return
		case err != nil:
			panic(http.ErrAbortHandler) // a part must not be taken for the whole
		case first:
			w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			w.Header().Set("Content-Disposition", `attachment; filename="`+s.Account+"-"+s.Asset+`.csv"`)
			_ = out.Write([]string{"time", "transaction", "status", "description", "quantity", "balance"})
			row(page.Value.From, "", "opening", "", events.Amount{}, page.Value.Opening.Quantity)
		}
		first, closing = false, page.Value.Closing
		for _, l := range page.Value.Data {
			row(l.PostedAt, l.Transaction, l.Status, l.Description, l.Quantity, l.BalanceAfter)
		}
	}
	row(s.To.Format(time.RFC3339), "", "closing", "", events.Amount{}, closing.Quantity)
	out.Flush()
}

// chart answers with a picture of an account's balance over the last days.
func (c *Console) chart(w http.ResponseWriter, r *http.Request) {
	ctx, s := r.Context(), pastOf(r)
	if err := c.units.Load(ctx, s.Asset); err != nil {
		c.show(w, r, view{}, err)
		return
	}
	var times []string
	var balances []float64
	add := func(at string, balance events.Amount) {
		value, err := strconv.ParseFloat(c.units.Quantity(s.Asset, balance), 64) // for the picture only
		if err == nil {
			times, balances = append(times, when(at)[5:16]), append(balances, value)
		}
	}
	for page, err := range c.api.StatementPages(ctx, s) {
		if err != nil {
			c.show(w, r, view{}, err)
			return
		}
		if len(times) == 0 {
			add(page.Value.From, page.Value.Opening.Quantity)
		}
		for _, l := range page.Value.Data {
			add(l.PostedAt, l.BalanceAfter)
		}
		if len(times) >= chartPoints {
			break
		}
	}
	svg, err := drawn(times, balances)
	if err != nil {
		c.show(w, r, view{}, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(svg) // an error is that of a reader who left
}

// drawn draws a line through values.
func drawn(labels []string, values []float64) ([]byte, error) {
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
