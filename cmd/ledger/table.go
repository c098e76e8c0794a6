package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// columnGap is how many spaces stand between columns at least.
const columnGap = 2

// table prints rows in columns. The first row is the heading.
type table struct {
	w *tabwriter.Writer
}

func newTable(w io.Writer, heading ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, columnGap, ' ', 0)}
	if len(heading) > 0 {
		t.row(heading...)
	}
	return t
}

func (t *table) row(cells ...string) {
	shown := make([]string, len(cells))
	for i, c := range cells {
		shown[i] = printable(c)
	}
	fmt.Fprintln(t.w, strings.Join(shown, "\t")) // an error shows when it is flushed
}

func (t *table) flush() error { return t.w.Flush() }

// printable replaces what a terminal would act upon, or a table be torn by: others wrote the texts.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// orNone shows a text that may be missing.
func orNone(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
