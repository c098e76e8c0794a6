package cost

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ledger.example/cmd/ledger-bench/meter"
)

// line is one step and its cost: the number of requests, the items read with their read units, and the items written
// with their write units.
type line struct{ step, cost string }

// costText returns a cost as text.
func costText(c meter.Tally) string {
	if c.Total() == 0 {
		return notMeasured
	}
	parts := []string{strconv.FormatInt(c.Total(), 10)}
	if c.ReadHalves > 0 {
		parts = append(parts, fmt.Sprintf("%d read for %s", c.ItemsRead,
			strconv.FormatFloat(float64(c.ReadHalves)/2, 'f', -1, 64)))
	}
	if c.WriteUnits > 0 {
		parts = append(parts, fmt.Sprintf("%d written for %d", c.ItemsWritten, c.WriteUnits))
	}
	return strings.Join(parts, ", ")
}

// notMeasured is the cost of a step that does not exist for an account of a size.
const notMeasured = "–"

// figures is a table of docs/performance.md or another document, with a line for each step, and a column for each measured size.
type figures struct {
	heading, of string // the heading in the document, and the title of the first column
	columns     []column
	document    string // "": that of the package
}

type column struct {
	name  string
	lines []line
}

func (f *figures) add(name string, lines []line) { f.columns = append(f.columns, column{name, lines}) }

// markdown returns the table with the measured columns.
func (f *figures) markdown() string {
	head, rule, rows := "| "+f.of+" |", "|---|", make([]string, len(f.columns[0].lines))
	for n, c := range f.columns {
		head, rule = head+" "+c.name+" |", rule+"---|"
		for i, l := range c.lines {
			if n == 0 {
				rows[i] = "| " + l.step + " |"
			}
			rows[i] += " " + l.cost + " |"
		}
	}
	return head + "\n" + rule + "\n" + strings.Join(rows, "\n")
}

const document = "../../docs/performance.md"

var updating sync.Mutex // guards the documents

var update = flag.Bool("update", false, "rewrite the measured columns of the tables in the documents")

// check prints the table, and fails the test unless the document has the same lines and measured columns. With -update,
// it rewrites those columns. The lines and the names of the columns are written by hand.
func (f *figures) check(t *testing.T) {
	t.Helper()
	t.Logf("%s\n\n%s", f.heading, f.markdown())
	updating.Lock()
	defer updating.Unlock()
	document := cmp.Or(f.document, document)
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	above, below, _ := strings.Cut(string(text), "# "+f.heading+"\n")
	between, below, _ := strings.Cut(below, "| "+f.of+" |")
	tableText, rest, _ := strings.Cut("| "+f.of+" |"+below, "\n\n")
	var rows [][]string // including the head and the rule
	for row := range strings.SplitSeq(tableText, "\n") {
		rows = append(rows, strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "| "), " |"), " | "))
	}
	for _, l := range f.columns[0].lines {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == l.step }) {
			t.Fatalf("under %q of %s, add a row for %s; the measured columns:\n%s", f.heading, document, l.step, f.markdown())
		}
	}
	measured := make([][]string, len(rows))
	for i := range rows {
		measured[i] = slices.Clone(rows[i])
	}
	for _, c := range f.columns {
		at := slices.Index(rows[0], c.name)
		for _, l := range c.lines {
			n := slices.IndexFunc(rows, func(row []string) bool { return row[0] == l.step })
			if at < 0 || n < 0 || len(rows[n]) <= at || len(rows) != len(c.lines)+2 {
				t.Fatalf("under %q of %s, there is no place for %s at %s; the measured columns:\n%s", f.heading, document,
					l.step, c.name, f.markdown())
			}
			if measured[n][at] = l.cost; rows[n][at] != l.cost && !*update {
				t.Errorf("under %q of %s, %s at %s should be %q; -args -update rewrites it", f.heading, document, l.step,
					c.name, l.cost)
			}
		}
	}
	if *update {
		lines := strings.Split(tableText, "\n")
		for i := range lines {
			if i != 1 { // the rule
				lines[i] = "| " + strings.Join(measured[i], " | ") + " |"
			}
		}
		changed := above + "# " + f.heading + "\n" + between + strings.Join(lines, "\n") + "\n\n" + rest
		if err := os.WriteFile(document, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// measureGrowth measures an account at the documented sizes up to most, and at the two sizes in between. At all sizes
// of at least from, where pages are full, the costs must be equal.
func measureGrowth(t *testing.T, f figures, documented []int, most int, between [2]int, from int,
	measure func(t *testing.T, n int) []line) {
	t.Helper()
	var reference []line
	for i, n := range append(documented, between[:]...) {
		isDocumented := i < len(documented)
		if isDocumented && n > most {
			continue
		}
		lines := measure(t, n)
		if isDocumented {
			f.add(thousands(n), lines)
		}
		if n < from {
			continue
		}
		if reference == nil {
			reference = lines
		}
		for i, l := range lines {
			if l != reference[i] {
				t.Errorf("at size %d: %+v; at a smaller one: %+v", n, l, reference[i])
			}
		}
	}
	f.check(t)
}

// thousands formats a number with commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
