package scale

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/cmd/ledger/meter"
)

// cost is what one step took.
type cost struct{ meter.Tally }

// String is the number of requests, the items read for so many read units, and the items written for so many write units.
func (c cost) String() string {
	if c.Total() == 0 {
		return "–"
	}
	parts := []string{strconv.FormatInt(c.Total(), 10)}
	if c.ReadHalves > 0 {
		parts = append(parts, fmt.Sprintf("%d read for %s", c.ItemsRead, halves(c.ReadHalves)))
	}
	if c.WriteUnits > 0 {
		parts = append(parts, fmt.Sprintf("%d written for %d", c.ItemsWritten, c.WriteUnits))
	}
	return strings.Join(parts, ", ")
}

// halves is n/2 as text.
func halves(n int64) string {
	if n%2 == 0 {
		return strconv.FormatInt(n/2, 10)
	}
	return strconv.FormatInt(n/2, 10) + ".5"
}

// same tells whether two costs are equal in all that is promised.
func (c cost) same(d cost) bool { return c.String() == d.String() }

// within tells whether c is nowhere above d.
func (c cost) within(d cost) bool {
	return c.Total() <= d.Total() && c.ItemsRead <= d.ItemsRead && c.ReadHalves <= d.ReadHalves &&
		c.ItemsWritten <= d.ItemsWritten && c.WriteUnits <= d.WriteUnits
}

// figures is a table: lines by what is done, a column for each size at which it was measured.
type figures struct {
	heading, of string // the document's heading, and what the lines or columns are
	columns     []string
	told        []bool // whether the document has the column
	names       []string
	cells       [][]string // of each column, in the order of names
}

// add adds a column.
func (f *figures) add(column string, told bool, names, cells []string) {
	f.columns, f.told, f.names, f.cells = append(f.columns, column), append(f.told, told), names, append(f.cells, cells)
}

// markdown returns the columns told, as lines of a table.
func (f *figures) markdown() []string {
	lines := make([]string, 2+len(f.names))
	lines[0], lines[1] = "| "+f.of+" |", "|---|"
	for i, name := range f.names {
		lines[2+i] = "| " + name + " |"
	}
	for n, column := range f.columns {
		if !f.told[n] {
			continue
		}
		lines[0] += " " + column + " |"
		lines[1] += "---|"
		for i := range f.names {
			lines[2+i] += " " + f.cells[n][i] + " |"
		}
	}
	return lines
}

// thousands writes a number as people do.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

const document = "../../docs/performance.md"

// check prints the table, and compares it with the document's: of this, the columns that were measured.
func (f *figures) check(t *testing.T) {
	t.Helper()
	want := f.markdown()
	t.Logf("%s\n\n%s", f.heading, strings.Join(want, "\n"))
	text, err := os.ReadFile(document)
	if os.IsNotExist(err) {
		t.Logf("%s is not there", document)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	measured := cellsOf(want[0])
	if got := columns(tableUnder(string(text), f.heading), measured); !slices.Equal(got, columns(want, measured)) {
		t.Errorf("of the table under %q of %s, these columns should be\n%s\nand are\n%s", f.heading, document, strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

// tableUnder returns the lines of the first table below a heading.
func tableUnder(text, heading string) (lines []string) {
	below := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			below = strings.TrimLeft(line, "# ") == heading
		case below && strings.HasPrefix(line, "|"):
			lines = append(lines, line)
		case len(lines) > 0:
			return lines
		}
	}
	return lines
}

// columns returns a table's lines with the columns of these names alone.
func columns(lines, names []string) []string {
	if len(lines) == 0 {
		return nil
	}
	var at []int
	for i, name := range cellsOf(lines[0]) {
		if slices.Contains(names, name) {
			at = append(at, i)
		}
	}
	var some []string
	for i, line := range lines {
		if i == 1 {
			continue // the rule
		}
		cells, kept := cellsOf(line), []string{}
		for _, n := range at {
			if n < len(cells) {
				kept = append(kept, cells[n])
			}
		}
		some = append(some, strings.Join(kept, " | "))
	}
	return some
}

func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
