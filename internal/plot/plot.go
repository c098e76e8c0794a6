// Package plot draws bar and line charts as SVG. The output depends only on the input. A plot needs no script and no
// font, is readable on light and on dark pages, and also has its values as text.
package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-analyze/charts"
)

// Plot is a chart with a value for each label and series.
type Plot struct {
	Name   string // of the file, without .svg
	Title  string
	Note   string // below the title
	Of     string // title of the axis of labels
	Unit   string // title of the axis of values
	Labels []string
	Series []Series
	// Log uses a logarithmic scale if the small values would hardly be visible next to the large ones.
	Log bool
	// Lines draws a line for each series. Otherwise each value is a bar, labelled with the value.
	Lines bool
}

// Series has a value for each label. Values that are missing or not finite are unknown.
type Series struct {
	Name   string
	Values []float64
}

// ErrNothing means that all values are unknown.
var ErrNothing = errors.New("there are no values to draw")

const (
	plotWidth, linesHeight = 800, 420 // all sizes are in pixels
	aroundBars             = 120      // height of title, legend and axis
	besideBars             = 70       // width of the label of the longest bar
	barHeight, barsApart   = 18, 16
	margin, lineHeight     = 20, 20
	// wide is the ratio of the largest to the smallest value above which Log has an effect.
	wide       = 30
	labelRunes = 44 // maximum length of a label
)

// logarithmic is added to the title of a logarithmic axis.
const logarithmic = ", logarithmic: each line is ten times the one before"

// style inverts the lightness in dark mode, and keeps the hues.
const style = ".line0, .line1 { font-family: sans-serif; fill: #333 } .line0 { font-weight: bold } " +
	"@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }"

var font = charts.FontStyle{FontSize: 10} // points

// theme has colors that also differ in lightness, and have a good contrast on white.
var theme = charts.GetTheme(charts.ThemeLight).WithTextColor(charts.ParseColor("#333333")).WithSeriesColors(
	[]charts.Color{charts.ParseColor("#0072b2"), charts.ParseColor("#d55e00"), charts.ParseColor("#009e73"),
		charts.ParseColor("#6a3d9a"), charts.ParseColor("#8b5a00"), charts.ParseColor("#c2185b"),
		charts.ParseColor("#444444")})

// Write writes plots as files into a folder, which it creates. A plot without values has no file: an existing one is
// removed.
func Write(folder string, plots ...Plot) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, p := range plots {
		file := filepath.Join(folder, p.Name+".svg")
		svg, err := p.SVG()
		switch {
		case errors.Is(err, ErrNothing):
			err = os.RemoveAll(file)
		case err == nil:
			err = os.WriteFile(file, svg, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SVG draws the plot. Error: ErrNothing.
func (p Plot) SVG() ([]byte, error) {
	p, s, err := p.scaled()
	if err != nil {
		return nil, err
	}
	if p.Lines {
		o := charts.NewLineChartOptionWithData(s.values)
		o.Theme, o.Padding, o.Legend = theme, p.padding(), p.legend()
		o.XAxis.Labels, o.XAxis.Title, o.XAxis.LabelFontStyle, o.XAxis.TitleFontStyle = p.Labels, p.Of, font, font
		o.YAxis[0] = s.axis
		return p.draw(linesHeight, func(to *charts.Painter) error { return to.LineChart(o) })
	}
	o := charts.NewBarChartOptionWithData(s.values)
	o.Horizontal = true
	o.Theme, o.Padding, o.Legend = theme, p.padding(), p.legend()
	o.Padding.Right = besideBars
	o.CategoryAxis = charts.CategoryAxisOption{
		Labels: slices.Clone(p.Labels), Title: p.Of, LabelFontStyle: font, TitleFontStyle: font,
		LabelOffset: charts.OffsetInt{Left: 5}, // away from the title
	}
	slices.Reverse(o.CategoryAxis.Labels) // they are drawn from the bottom
	for i := range o.SeriesList {
		slices.Reverse(o.SeriesList[i].Values)
		o.SeriesList[i].Label = charts.SeriesLabel{Show: charts.Ptr(true), ValueFormatter: s.axis.ValueFormatter}
	}
	// The bars are labelled with their values, so the axis needs no labels.
	o.ValueAxis[0] = s.axis
	o.ValueAxis[0].ValueFormatter = func(float64) string { return "" }
	height := aroundBars + len(p.Labels)*(len(p.Series)*barHeight+barsApart)
	return p.draw(height, func(to *charts.Painter) error { return to.BarChart(o) })
}

// padding leaves room at the top for the title and the note.
func (p Plot) padding() charts.Box {
	box := charts.NewBoxEqual(margin)
	for _, line := range []string{p.Title, p.Note} {
		if line != "" {
			box.Top += lineHeight
		}
	}
	return box
}

func (p Plot) legend() (o charts.LegendOption) {
	if len(p.Series) > 1 {
		for _, s := range p.Series {
			o.SeriesNames = append(o.SeriesNames, s.Name)
		}
		o.Offset.Left, o.FontStyle = charts.PositionLeft, font
	}
	return o
}

// draw draws a chart, and adds what the library leaves out: a size, the values as text, and the style for dark mode.
func (p Plot) draw(height int, chart func(*charts.Painter) error) ([]byte, error) {
	painter := charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: plotWidth, Height: height,
	})
	if err := chart(painter); err != nil {
		return nil, fmt.Errorf("the plot cannot be drawn: %w", err)
	}
	drawn, err := painter.Bytes()
	if err != nil {
		return nil, fmt.Errorf("the plot cannot be drawn: %w", err)
	}
	head, rest, _ := bytes.Cut(drawn, []byte(">"))
	var out bytes.Buffer
	out.Write(head)
	fmt.Fprintf(&out, ` width="%d" height="%d" role="img"><title>`, plotWidth, height)
	xml.EscapeText(&out, []byte(p.Title))
	out.WriteString("</title><desc>")
	xml.EscapeText(&out, []byte(p.figures()))
	out.WriteString("</desc><style>" + style + "</style>")
	out.Write(bytes.TrimSuffix(rest, []byte("</svg>")))
	for i, line := range []string{p.Title, p.Note} {
		if line != "" {
			fmt.Fprintf(&out, `<text class="line%d" x="%d" y="%d">`, i, margin, margin+i*lineHeight)
			xml.EscapeText(&out, []byte(line))
			out.WriteString("</text>")
		}
	}
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// figures returns all known values as text.
func (p Plot) figures() string {
	var lines []string
	for i, label := range p.Labels {
		var values []string
		for _, s := range p.Series {
			if isKnown(s.Values[i]) {
				values = append(values, strings.TrimSpace(s.Name+" "+text(s.Values[i])))
			}
		}
		lines = append(lines, label+": "+strings.Join(values, ", "))
	}
	return p.Unit + ". " + strings.Join(lines, "; ")
}

func isKnown(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// scale has the axis of values, and the values in its units.
type scale struct {
	values [][]float64 // as the library takes them
	axis   charts.ValueAxisOption
}

// scaled removes the labels and series without known values, and returns the scale of the others.
func (p Plot) scaled() (Plot, scale, error) {
	out := p
	out.Labels, out.Series = nil, nil
	has := func(s Series, at int) bool { return at < len(s.Values) && isKnown(s.Values[at]) }
	least, most, low := math.Inf(1), math.Inf(-1), math.Inf(1) // low is the smallest value above zero
	var shown []int
	for i, label := range p.Labels {
		if slices.ContainsFunc(p.Series, func(s Series) bool { return has(s, i) }) {
			shown, out.Labels = append(shown, i), append(out.Labels, short(label))
		}
	}
	for _, s := range p.Series {
		kept, isShown := Series{Name: short(s.Name)}, false
		for _, i := range shown {
			v := math.NaN()
			if has(s, i) {
				v, isShown = s.Values[i], true
				least, most = min(least, v), max(most, v)
				if v > 0 {
					low = min(low, v)
				}
			}
			kept.Values = append(kept.Values, v)
		}
		if isShown {
			out.Series = append(out.Series, kept)
		}
	}
	if len(out.Series) == 0 {
		return p, scale{}, ErrNothing
	}
	var s scale
	s.axis = charts.ValueAxisOption{Title: p.Unit, ValueFormatter: text, LabelFontStyle: font, TitleFontStyle: font}
	to := func(v float64) float64 { return v }
	if p.Log && least >= 0 && most >= wide*low {
		floor, top := math.Floor(math.Log10(low)), math.Ceil(math.Log10(most))
		if !p.Lines {
			floor = math.Ceil(math.Log10(low)) - 1 // so that the bar of the smallest value has a length
		}
		if least == 0 {
			floor-- // the position of 0
		}
		// The axis counts powers of ten. Bars begin at 0.
		to = func(v float64) float64 { return max(0, math.Log10(v)-floor) }
		s.axis.Title += logarithmic
		s.axis.Min, s.axis.Max, s.axis.LabelCount = charts.Ptr(0.0), charts.Ptr(top-floor), int(top-floor)+1
		s.axis.ValueFormatter = func(v float64) string {
			if least == 0 && v == 0 {
				return "0"
			}
			return text(math.Pow(10, v+floor))
		}
	} else if least >= 0 && !p.Lines {
		s.axis.Min = charts.Ptr(0.0)
	}
	for _, series := range out.Series {
		values := make([]float64, len(series.Values))
		for i, v := range series.Values {
			if values[i] = charts.GetNullValue(); isKnown(v) {
				values[i] = to(v)
			}
		}
		s.values = append(s.values, values)
	}
	return out, s, nil
}

// short truncates a long label.
func short(s string) string {
	if runes := []rune(s); len(runes) > labelRunes {
		return string(runes[:labelRunes-1]) + "…"
	}
	return s
}

// text formats a value.
func text(v float64) string {
	size := math.Abs(v)
	switch {
	case size >= 1e12, size > 0 && size < 0.01:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case size >= 100:
		return charts.FormatValueHumanize(v, 0, false)
	case size >= 10:
		return charts.FormatValueHumanize(v, 1, false)
	}
	return charts.FormatValueHumanize(v, 2, false)
}
