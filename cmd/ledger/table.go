package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	// columnsMax is how wide help and tables are: the width of a terminal that nobody made wider.
	columnsMax = 80
	// columnGap is how many spaces stand between columns.
	columnGap = 2
	// textMin is how narrow a column of texts may get so that a table fits.
	textMin = 12
)

// column is one column of a table. Its texts may be broken into lines between words; numbers and times may not.
type column struct {
	heading  string
	isNumber bool // to the right
	isWhole  bool // never broken into lines
}

// words, times and numbers are the kinds of columns: texts that may be broken, texts that may not, and figures.
func words(heading string) column   { return column{heading: heading} }
func times(heading string) column   { return column{heading: heading, isWhole: true} }
func numbers(heading string) column { return column{heading: heading, isNumber: true, isWhole: true} }

// grid is a table for people: texts to the left, broken into lines where they are long, numbers to the right. A table
// that still does not fit is printed as records: one cell in each line.
type grid struct {
	out      io.Writer
	columns  []column
	isHeaded bool
	rows     []table.Row // of strings
}

// newTable returns a table with a heading.
func newTable(out io.Writer, columns ...column) *grid {
	return &grid{out: out, columns: columns, isHeaded: true}
}

// newPage returns a table of one page of a list, with a heading or without.
func newPage(out io.Writer, isHeaded bool, columns ...column) *grid {
	return &grid{out: out, columns: columns, isHeaded: isHeaded}
}

// newList returns a table of names and their values, without a heading.
func newList(out io.Writer) *grid {
	return &grid{out: out, columns: []column{words(""), words("")}}
}

// row adds a row, a cell for each column. Characters that a terminal would act upon are replaced.
func (g *grid) row(cells ...string) {
	shown := make(table.Row, len(cells))
	for i, c := range cells {
		shown[i] = printable(c)
	}
	g.rows = append(g.rows, shown)
}

// flush prints the table. Nothing is printed before: the widths of columns depend on all rows.
func (g *grid) flush() error {
	widths, fits := g.widths()
	if !fits {
		return g.printRecords()
	}
	w := table.NewWriter()
	w.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: strings.Repeat(" ", columnGap)}})
	w.SuppressTrailingSpaces()
	configs, heading := make([]table.ColumnConfig, len(g.columns)), make(table.Row, len(g.columns))
	for i, c := range g.columns {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: widths[i], WidthMaxEnforcer: wrap}
		if c.isNumber {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
		heading[i] = c.heading
	}
	w.SetColumnConfigs(configs)
	if g.isHeaded {
		w.AppendHeader(heading)
	}
	w.AppendRows(g.rows)
	_, err := fmt.Fprintln(g.out, w.Render())
	return err
}

// flushWith prints the table and, after an empty line, another one that has rows.
func (g *grid) flushWith(other *grid) error {
	if err := g.flush(); err != nil || len(other.rows) == 0 {
		return err
	}
	fmt.Fprintln(g.out)
	return other.flush()
}

// wrap breaks a text into lines of at most that many columns. The library lets a character of two columns begin in the
// last one, so that a line may be one column too long.
func wrap(s string, columns int) string {
	wrapped := text.WrapSoft(s, columns)
	if text.LongestLineLen(wrapped) > columns {
		wrapped = text.WrapSoft(s, columns-1)
	}
	return wrapped
}

// widths returns how wide each column is to be, the widest of the texts narrowed until the table fits, and whether it
// does.
func (g *grid) widths() (widths []int, fits bool) {
	widths = make([]int, len(g.columns))
	total := columnGap * (len(g.columns) - 1)
	for i, c := range g.columns {
		widths[i] = text.StringWidth(c.heading)
		for _, cells := range g.rows {
			widths[i] = max(widths[i], text.StringWidth(cells[i].(string)))
		}
		total += widths[i]
	}
	// Take one character at a time from the widest column of texts, as long as one is wide enough.
	for ; total > columnsMax; total-- {
		widest := -1
		for i, c := range g.columns {
			if !c.isWhole && widths[i] > textMin && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return widths, false
		}
		widths[widest]--
	}
	return widths, true
}

// printRecords prints each row as a list of the headings and its cells.
func (g *grid) printRecords() error {
	for n, cells := range g.rows {
		if n > 0 {
			fmt.Fprintln(g.out)
		}
		record := newList(g.out)
		for i, c := range g.columns {
			record.row(c.heading, cells[i].(string))
		}
		if err := record.flush(); err != nil {
			return err
		}
	}
	return nil
}

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
