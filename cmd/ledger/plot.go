package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"ledger.example/internal/audit"
	"ledger.example/internal/plot"
)

func plotFlag(f *pflag.FlagSet, folder *string, what string) {
	f.StringVar(folder, "plot", "", "directory in which to write "+what+" as SVG files")
}

// checkPlotFolder returns an error if a folder cannot be written to. It is called before a long run, whose plots would
// be lost.
func checkPlotFolder(folder string) error {
	if folder == "" {
		return nil
	}
	err := os.MkdirAll(folder, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(folder, ".plot-"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// plot writes plots into a folder, unless it is "".
func (env *environment) plot(folder string, plots []plot.Plot) error {
	if folder == "" {
		return nil
	}
	if err := plot.Write(folder, plots...); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	fmt.Fprintln(env.err, "The plots are in "+folder)
	return nil
}

// auditPlots returns plots of the items that an audit read, and of its findings.
func auditPlots(r audit.Report) []plot.Plot {
	note := "The table is sound."
	if !r.Sound() {
		note = "The table is NOT SOUND."
	}
	return []plot.Plot{
		countPlot("items", "What the table holds", note, "kind", r.ByKind),
		countPlot("findings", "Findings", note, "code", r.ByCode),
	}
}

func countPlot[K ~string](name, title, note, of string, counts map[K]int64) plot.Plot {
	p := plot.Plot{Name: name, Title: title, Note: note, Of: of, Unit: name, Log: true, Series: make([]plot.Series, 1)}
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		p.Labels = append(p.Labels, string(label))
		p.Series[0].Values = append(p.Series[0].Values, float64(counts[label]))
	}
	return p
}
