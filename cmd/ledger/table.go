package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const (
	// columnsMax is the maximum width of help, and of tables on a terminal that does not say its width.
	columnsMax = 80
	// columnGap is the number of spaces between columns.
	columnGap = 2
	// textMin is the minimum width of a column of texts that is narrowed to make a table fit.
	textMin = 12
)

// screen is where tables are printed.
type screen struct {
	out     io.Writer
	format  string // formatCSV: tables are printed as CSV
	raw     bool   // texts in CSV are not escaped
	columns int    // 0 if it is no terminal: no text is wrapped then, so that each row is a line
	isColor bool
	zone    *time.Location // of times in tables for people; nil: UTC
}

// screenOf returns the screen that writes to out, and prints on terminal.
func screenOf(out, terminal io.Writer, getenv func(string) string) screen {
	s := screen{out: out}
	if !isTerminal(terminal) {
		return s
	}
	s.columns = columnsMax
	if width, _, err := term.GetSize(int(terminal.(*os.File).Fd())); err == nil && width > 0 {
		s.columns = width
	}
	s.isColor = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return s
}

// column is one column of a table.
type column struct {
	heading  string
	isNumber bool // aligned to the right
	isTime   bool // of the API; for people it is shortened, and of the screen's zone, which the heading names
	noWrap   bool
}

// The kinds of columns: words may be wrapped, times and numbers may not.
func words(heading string) column   { return column{heading: heading} }
func times(heading string) column   { return column{heading: heading, isTime: true, noWrap: true} }
func numbers(heading string) column { return column{heading: heading, isNumber: true, noWrap: true} }

// grid is a table for people. On a terminal, long texts are wrapped between words. A table that still does not fit is
// printed as records, one cell on each line.
type grid struct {
	screen
	of       []column
	isHeaded bool
	isList   bool        // names and values
	rows     []table.Row // of strings
}

// newTable returns a table with a heading.
func (s screen) newTable(columns ...column) *grid {
	return &grid{screen: s, of: columns, isHeaded: true}
}

// newPage returns a table of one page of a list, whose heading is optional.
func (s screen) newPage(isHeaded bool, columns ...column) *grid {
	return &grid{screen: s, of: columns, isHeaded: isHeaded}
}

// newList returns a table of names and values, without a heading.
func (s screen) newList() *grid {
	return &grid{screen: s, of: []column{words(""), words("")}, isList: true}
}

// color returns a cell in color: negative numbers are red.
func (c column) color(cell any) string {
	shown := cell.(string)
	if c.isNumber && strings.HasPrefix(shown, "-") && len(shown) > 1 {
		return text.FgRed.Sprint(shown)
	}
	return shown
}

// absent is a cell without a value: "-" for people, and empty in CSV.
const absent = "\x00"

// row adds a row with a cell for each column. Control characters are replaced, except in CSV.
func (g *grid) row(cells ...string) {
	shown := make(table.Row, len(cells))
	for i, c := range cells {
		shown[i] = g.cell(g.of[i], c)
	}
	g.rows = append(g.rows, shown)
}

// cell returns the text of a cell.
func (g *grid) cell(of column, text string) string {
	isCSV := g.format == formatCSV
	switch {
	case text == absent && isCSV:
		return ""
	case text == absent:
		return "-"
	case isCSV:
		return text
	case of.isTime:
		text = g.shortTime(text)
	}
	return printable(text)
}

// flush prints the table. The widths of columns depend on all rows, so nothing is printed before.
func (g *grid) flush() error {
	if g.format == formatCSV {
		return g.printCSV()
	}
	widths, fits := g.widths()
	if !fits {
		return g.printRecords()
	}
	w := table.NewWriter()
	w.SetStyle(table.Style{Box: table.BoxStyle{PaddingRight: strings.Repeat(" ", columnGap)}})
	w.SuppressTrailingSpaces()
	configs, heading := make([]table.ColumnConfig, len(g.of)), make(table.Row, len(g.of))
	for i, c := range g.of {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMax: widths[i], WidthMaxEnforcer: wrap}
		if c.isNumber {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
		if g.isColor {
			configs[i].ColorsHeader = text.Colors{text.Bold}
			configs[i].Transformer = c.color
		}
		heading[i] = g.heading(c)
	}
	w.SetColumnConfigs(configs)
	if g.isHeaded {
		w.AppendHeader(heading)
	}
	w.AppendRows(g.rows)
	_, err := fmt.Fprintln(g.out, w.Render())
	return err
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
	widths = make([]int, len(g.of))
	total := columnGap * (len(g.of) - 1)
	for i, c := range g.of {
		widths[i] = text.StringWidth(g.heading(c))
		for _, cells := range g.rows {
			widths[i] = max(widths[i], text.StringWidth(cells[i].(string)))
		}
		total += widths[i]
	}
	if g.columns == 0 {
		return widths, true
	}
	for ; total > g.columns; total-- {
		widest := -1
		for i, c := range g.of {
			if !c.noWrap && widths[i] > g.least(i) && (widest < 0 || widths[i] > widths[widest]) {
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

// least returns the width below which a column is not narrowed: that of its longest word, so that ids stay whole. A
// list has no other form, so its words may be broken.
func (g *grid) least(i int) int {
	least := textMin
	if g.isList {
		return least
	}
	for _, cells := range g.rows {
		for word := range strings.FieldsSeq(cells[i].(string)) {
			least = max(least, text.StringWidth(word))
		}
	}
	return least
}

// printRecords prints each row as a list of headings and cells.
func (g *grid) printRecords() error {
	for n, cells := range g.rows {
		if n > 0 {
			fmt.Fprintln(g.out)
		}
		record := g.newList()
		for i, c := range g.of {
			record.row(g.heading(c), cells[i].(string))
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

// orNone returns the cell of a text that may be nil.
func orNone(s *string) string {
	if s == nil {
		return absent
	}
	return *s
}

// heading returns the heading of a column in a table for people.
func (s screen) heading(c column) string {
	if c.isTime {
		return fmt.Sprintf("%s (%s)", c.heading, s.location())
	}
	return c.heading
}

// shortTime formats a time of the API in whole seconds of the screen's zone. It returns a text that is not a time
// unchanged.
func (s screen) shortTime(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.In(s.location()).Format(time.DateTime)
}

// location returns the zone of times.
func (s screen) location() *time.Location { return cmp.Or(s.zone, time.UTC) }
