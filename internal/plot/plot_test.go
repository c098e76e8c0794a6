package plot

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	_ "ledger.example/tests/full" // the seed of rapid
)

// drawn is what a reader of an SVG sees.
type drawn struct {
	title, figures string
	texts          []string
	shapes         map[string][]shape // by their color
}

type shape struct{ left, top, right, bottom float64 }

var (
	numbers = regexp.MustCompile(`-?[0-9.]+`)
	fill    = regexp.MustCompile(`(?:fill|stroke):([^;"]+)`)
)

// see parses a plot. It fails if the SVG is invalid or refers to other files.
func see(t rapid.TB, svg []byte) drawn {
	t.Helper()
	d := drawn{shapes: make(map[string][]shape)}
	var within string
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			return d
		}
		if err != nil {
			t.Fatalf("%v: %s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			within = e.Name.Local
			attributes := make(map[string]string)
			for _, a := range e.Attr {
				attributes[a.Name.Local] = a.Value
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("<%s %s=%q>", within, a.Name.Local, a.Value)
				}
			}
			switch within {
			case "svg", "title", "desc", "style", "text", "circle":
			case "path":
				s := shape{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
				for i, text := range numbers.FindAllString(attributes["d"], -1) {
					n, _ := strconv.ParseFloat(text, 64)
					if i%2 == 0 {
						s.left, s.right = min(s.left, n), max(s.right, n)
					} else {
						s.top, s.bottom = min(s.top, n), max(s.bottom, n)
					}
				}
				if s.left < -1 || s.top < -1 || s.right > plotWidth+1 || s.bottom > 10_000 {
					t.Errorf("beyond the picture: %+v", s)
				}
				for _, m := range fill.FindAllStringSubmatch(attributes["style"], -1) {
					d.shapes[m[1]] = append(d.shapes[m[1]], s)
				}
			default:
				t.Errorf("a plot has <%s>", within)
			}
		case xml.CharData:
			switch within {
			case "title":
				d.title += string(e)
			case "desc":
				d.figures += string(e)
			case "text":
				d.texts = append(d.texts, string(e))
			}
		case xml.EndElement:
			within = ""
		}
	}
}

func mustSVG(t rapid.TB, p Plot) drawn {
	t.Helper()
	svg, err := p.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return see(t, svg)
}

var (
	unknown = math.NaN()
	rates   = Plot{Name: "rates", Title: "Rates & ceilings", Note: "On DynamoDB Local.", Of: "workload", Unit: "requests a second",
		Labels: []string{"uniform", "read"}, Series: []Series{{"ledger", []float64{100, 1732}}, {"ceiling", []float64{50, unknown}}}}
)

func TestAPlotShowsItsFigures(t *testing.T) {
	d := mustSVG(t, rates)
	if want := "requests a second. uniform: ledger 100, ceiling 50; read: ledger 1,732"; d.title != rates.Title || d.figures != want {
		t.Errorf("%q, %q", d.title, d.figures)
	}
	for _, text := range []string{rates.Title, rates.Note, rates.Of, rates.Unit, "uniform", "read", "ledger", "ceiling", "100", "50", "1,732"} {
		if !slices.Contains(d.texts, text) {
			t.Errorf("no text %q: %q", text, d.texts)
		}
	}
	width := func(s shape) float64 { return s.right - s.left }
	if bars := bars(d, 0); len(bars) != 2 || math.Abs(width(bars[1])/width(bars[0])-17.32) > 0.5 || bars[0].top >= bars[1].top {
		t.Errorf("bars of the ledger: %+v", bars)
	}
	if bars := bars(d, 1); len(bars) != 1 { // unknown values have no bar
		t.Errorf("bars of the ceiling: %+v", bars)
	}
}

// bars returns the bars of a series from top to bottom, without its mark in the legend.
func bars(d drawn, series int) []shape {
	all := slices.Clone(d.shapes[theme.GetSeriesColor(series).String()])
	all = slices.DeleteFunc(all, func(s shape) bool { return s.bottom < 4*lineHeight })
	slices.SortFunc(all, func(a, b shape) int { return cmp.Compare(a.top, b.top) })
	return all
}

// A logarithmic axis is labelled as such, and has a position for 0.
func TestLogarithmicScale(t *testing.T) {
	p := rates
	p.Log = true
	p.Labels, p.Series = []string{"none", "few", "ten times", "many"}, []Series{{"", []float64{0, 10, 100, 100_000}}}
	d := mustSVG(t, p)
	all := bars(d, 0)
	if len(all) != 4 || !slices.Contains(d.texts, p.Unit+logarithmic) || !slices.Contains(d.texts, "0") {
		t.Fatalf("%q, %+v", d.texts, all)
	}
	for i, want := range []float64{0, 1, 1.5, 3} {
		if got := (all[i].right - all[i].left) / (all[1].right - all[1].left); math.Abs(got-want) > 0.1 {
			t.Errorf("bar %d is %v times the second, not %v", i, got, want)
		}
	}
	p.Series[0].Values = []float64{0, 10, 20, 30}
	if d := mustSVG(t, p); !slices.Contains(d.texts, p.Unit) {
		t.Errorf("values that are alike: %q", d.texts)
	}
}

func TestLinesPassThroughTheirValues(t *testing.T) {
	p := rates
	p.Lines, p.Series[1].Values = true, []float64{50, 866}
	d := mustSVG(t, p)
	for i, s := range p.Series {
		if lines := bars(d, i); len(lines) == 0 || !slices.Contains(d.texts, s.Name) {
			t.Errorf("%s: %+v", s.Name, lines)
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	for _, p := range []Plot{{}, {Labels: []string{"a"}}, {Series: []Series{{"a", []float64{1}}}},
		{Labels: []string{"a"}, Series: []Series{{"a", []float64{math.Inf(1)}}, {"b", nil}}}} {
		if svg, err := p.SVG(); !errors.Is(err, ErrNothing) {
			t.Errorf("%+v: %v, %s", p, err, svg)
		}
	}
}

// Every plot is valid SVG, is deterministic, and shows only its input.
func TestEveryPlotIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"<script>alert(1)</script>", "]]>", "\x00", "\u202eevil",
			"&amp;", `" onload="`, strings.Repeat("long ", 40)}))
		values := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 100), rapid.SampledFrom([]float64{0, 1, -1, 1e300, -1e308, math.MaxFloat64,
			5e-324, math.NaN(), math.Inf(-1)}))
		p := Plot{Title: words.Draw(t, "title"), Note: words.Draw(t, "note"), Of: words.Draw(t, "of"), Unit: words.Draw(t, "unit"),
			Labels: rapid.SliceOfN(words, 0, 8).Draw(t, "labels"), Log: rapid.Bool().Draw(t, "log"), Lines: rapid.Bool().Draw(t, "lines")}
		for range rapid.IntRange(0, 8).Draw(t, "series") {
			p.Series = append(p.Series, Series{words.Draw(t, "name"), rapid.SliceOfN(values, 0, 8).Draw(t, "values")})
		}
		svg, err := p.SVG()
		if errors.Is(err, ErrNothing) {
			return
		}
		if err != nil || !utf8.Valid(svg) {
			t.Fatalf("%v: %q", err, svg)
		}
		see(t, svg)
		if again, _ := p.SVG(); !bytes.Equal(svg, again) {
			t.Error("drawn again, it is another")
		}
	})
}

func TestWrite(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "plots")
	nothing := Plot{Name: "lag"}
	old := filepath.Join(folder, "lag.svg")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(old, nil, 0o644), Write(folder, rates, nothing)); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(folder, "rates.svg"))
	if err != nil || len(svg) == 0 || len(svg) > 30_000 {
		t.Errorf("%v, %d bytes", err, len(svg))
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a plot of an older run: %v", err)
	}
	if err := Write(filepath.Join(folder, "rates.svg"), rates); err == nil {
		t.Error("a file is no folder")
	}
}
