package main

import (
	"cmp"
	"log"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ledger.example/internal/bench"
	"ledger.example/internal/plot"
)

const (
	performance = "performance.md"
	plotFolder  = "plots"
)

// image shows a plot in a document.
type image struct{ plot.Plot }

func (i image) String() string {
	alt := strings.TrimSpace(i.Title + ", as in the table above. " + i.Note)
	return "![" + alt + "](" + plotFolder + "/" + i.Name + ".svg)\n"
}

// plots draws each plot of the document from the table above it.
func plots() map[string]image {
	text, err := os.ReadFile(performance)
	check(err)
	result := make(map[string]image)
	for _, p := range []struct {
		name, title string
		draw        func(rows) plot.Plot
	}{
		{"rates-memory", "", benched("in this process, on the built-in store", "rates")},
		{"rates-local", "", benched("in this process, on DynamoDB Local", "rates")},
		{"latencies-local", "", benched("in this process, on DynamoDB Local", "latencies")},
		{"lag", "", benched("in this process, on DynamoDB Local", "lag")},
		{"requests", "Requests, by postings in the account", bySteps},
		{"units", "Read and write units, by postings in the account", bySize},
		{"units-past", "Read units of the past, by postings in the account", bySize},
	} {
		above, _, ok := strings.Cut(string(text), "<!-- generated: plot-"+p.name+" -->")
		if !ok {
			log.Fatalf("%s has no place for the plot %s", performance, p.name)
		}
		drawn := p.draw(lastTable(above))
		drawn.Name = p.name
		if p.title != "" {
			drawn.Title = p.title
		}
		check(plot.Write(plotFolder, drawn))
		result["plot-"+p.name] = image{drawn}
	}
	return result
}

// rows has the cells of a table. The first row is its head.
type rows [][]string

// lastTable returns the last table of a text.
func lastTable(text string) (r rows) {
	lines := strings.Split(text, "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		switch isRow := strings.HasPrefix(line, "| "); {
		case isRow:
			r = append(r, strings.Split(strings.Trim(line, "| "), " | "))
		case len(r) > 0 && !strings.HasPrefix(line, "|--"):
			slices.Reverse(r)
			return r
		}
	}
	log.Fatal("there is no table above a plot")
	return nil
}

// figuresOf maps column heads of tables of ledger bench to the names of their figures.
var figuresOf = map[string]string{
	"a second": "per_second", "STORE a second": "store_per_second", "HTTP a second": "http_per_second",
	"p50 ms": "p50_ms", "p99 ms": "p99_ms", "p50, p99 ms": "p50_ms p99_ms",
	"lag p50, p99, max ms": "lag_p50_ms lag_p99_ms lag_max_ms",
}

// benched returns a function that draws the named plot of ledger bench from a table.
func benched(place, name string) func(rows) plot.Plot {
	return func(r rows) plot.Plot {
		report := bench.Report{Ledger: place}
		for _, cells := range r[1:] {
			w := bench.Workload{Workload: strings.Trim(cells[0], "`"), Figures: make(map[string]float64)}
			for i, head := range r[0] {
				for at, figure := range strings.Fields(figuresOf[head]) {
					w.Figures[figure] = number(strings.Split(cells[i], ", ")[at])
				}
			}
			report.Workloads = append(report.Workloads, w)
		}
		all := report.Plots()
		return all[slices.IndexFunc(all, func(p plot.Plot) bool { return p.Name == name })]
	}
}

// shownSteps are the rows of the tables by postings that are drawn.
var shownSteps = []string{
	"account page", "one balance", "one balance, strong", "a transfer to it", "a trade, settled, guarded",
	"projecting a batch of 100 on the balance", "projecting one that is late, into the middle",
	"one balance, as of the middle", "one balance, as of the end", "one balance, as of the end, strong",
	"statement of one page", "statement until the end, first page",
}

// unitsOf finds the units in a cell such as "2, 14 read for 1".
var unitsOf = regexp.MustCompile(`\b(?:read|written) for ([0-9.]+)`)

// bySize draws a line of units for each step. The legend has the order of the lines' ends.
func bySize(r rows) plot.Plot {
	p := plot.Plot{Of: "postings in the account", Unit: "units", Lines: true, Log: true, Labels: r[0][1:]}
	for _, cells := range r[1:] {
		if !slices.Contains(shownSteps, cells[0]) {
			continue
		}
		s := plot.Series{Name: cells[0]}
		for _, cell := range cells[1:] {
			units := math.NaN()
			for i, m := range unitsOf.FindAllStringSubmatch(cell, -1) {
				if i == 0 {
					units = 0
				}
				units += number(m[1])
			}
			s.Values = append(s.Values, units)
		}
		p.Series = append(p.Series, s)
	}
	last := len(p.Labels) - 1
	slices.SortStableFunc(p.Series, func(a, b plot.Series) int { return cmp.Compare(b.Values[last], a.Values[last]) })
	return p
}

// bySteps draws bars of requests, grouped by step, one for each size.
func bySteps(r rows) plot.Plot {
	p := plot.Plot{Of: "step", Unit: "requests to the table"}
	for _, size := range r[0][1:] {
		p.Series = append(p.Series, plot.Series{Name: size + " postings"})
	}
	for _, cells := range r[1:] {
		if !slices.Contains(shownSteps, cells[0]) {
			continue
		}
		p.Labels = append(p.Labels, cells[0])
		for i, cell := range cells[1:] {
			requests, _, _ := strings.Cut(cell, ", ")
			p.Series[i].Values = append(p.Series[i].Values, number(requests))
		}
	}
	return p
}

// number parses a number in the format of the documents.
func number(text string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	check(err)
	return n
}
