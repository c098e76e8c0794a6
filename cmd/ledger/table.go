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
	// columnsMax is the maximum width of help and tables: the default width of a terminal.
	columnsMax = 80
	// columnGap is the number of spaces between columns.
	columnGap = 2
	// textMin is the minimum width of a column of texts that is narrowed to make a table fit.
	textMin = 12
)

// column is one column of a table.
type column struct {
	heading  string
	isNumber bool // aligned to the right
	noWrap   bool
}

// The kinds of columns: words may be wrapped, times and numbers may not.
func words(heading string) column   { return column{heading: heading} }
func times(heading string) column   { return column{heading: heading, noWrap: true} }
func numbers(heading string) column { return column{heading: heading, isNumber: true, noWrap: true} }

// grid is a table for people. Long texts are wrapped. A table that still does not fit is printed as records, one cell
// on each line.
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

// newPage returns a table of one page of a list, whose heading is optional.
func newPage(out io.Writer, isHeaded bool, columns ...column) *grid {
	return &grid{out: out, columns: columns, isHeaded: isHeaded}
}

// newList returns a table of names and values, without a heading.
func newList(out io.Writer) *grid {
	return &grid{out: out, columns: []column{words(""), words("")}}
}

// row adds a row with a cell for each column. Control characters are replaced.
func (g *grid) row(cells ...string) {
	shown := make(table.Row, len(cells))
	for i, c := range cells {
		shown[i] = printable(c)
	}
	g.rows = append(g.rows, shown)
}

// flush prints the table. The widths of columns depend on all rows, so nothing is printed before.
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

// flushWith prints the table and, if other has rows, an empty line and other.
func (g *grid) flushWith(other *grid) error {
	if err := g.flush(); err != nil || len(other.rows) == 0 {
		return err
	}
	fmt.Fprintln(g.out)
	return other.flush()
}

// wrap breaks a text into lines of at most the given number of columns. The library's function may return lines that
// are one column too long, because it allows a wide character to begin in the last column.
func wrap(s string, columns int) string {
	wrapped := text.WrapSoft(s, columns)
	if text.LongestLineLen(wrapped) > columns {
		wrapped = text.WrapSoft(s, columns-1)
	}
	return wrapped
}

// widths returns the width of each column, and whether the table fits. It narrows the widest column of texts until the
// table fits.
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
	for ; total > columnsMax; total-- {
		widest := -1
		for i, c := range g.columns {
			if !c.noWrap && widths[i] > textMin && (widest < 0 || widths[i] > widths[widest]) {
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

// printRecords prints each row as a list of headings and cells.
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

// printable replaces control characters. Texts come from users of the ledger, and must not control the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// orNone returns a text that may be nil.
func orNone(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
