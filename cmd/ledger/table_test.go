package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"pgregory.net/rapid"

	_ "ledger.example/tests/harness/full" // fixes the seed
)

func TestTables(t *testing.T) {
	for name, c := range map[string]struct {
		columns []column
		rows    [][]string
		want    string
	}{
		"numbers aligned right": {
			[]column{words("ASSET"), numbers("QUANTITY"), words("NOTE")},
			[][]string{{"USD", "3500.00", "much"}, {"数字", "-5", ""}},
			"ASSET  QUANTITY  NOTE\nUSD     3500.00  much\n数字         -5\n",
		},
		"long texts wrapped": {
			[]column{times("AT"), words("WHAT"), numbers("N")},
			[][]string{{"2026-11-21 09:06:39", strings.Repeat("word ", 12) + "end", "123456789"}},
			"AT (UTC)             WHAT" + strings.Repeat(" ", 54) + "N\n" +
				"2026-11-21 09:06:39  word word word word word word word word word      123456789\n" +
				"                     word word word end\n",
		},
		"wide characters wrapped": {
			[]column{words("WHAT"), numbers("N")},
			[][]string{{strings.Repeat("a", 64) + " " + strings.Repeat("数", 8), strings.Repeat("9", 13)}},
			"WHAT" + strings.Repeat(" ", 75) + "N\n" + strings.Repeat("a", 64) + "   9999999999999\n" + strings.Repeat("数", 8) + "\n",
		},
		"numbers that don't fit": {
			[]column{words("ID"), numbers("CREDITS"), numbers("DEBITS")},
			[][]string{{"a", strings.Repeat("9", 38), "1"}, {"b", "2", strings.Repeat("9", 38)}},
			"ID       a\nCREDITS  99999999999999999999999999999999999999\nDEBITS   1\n\n" +
				"ID       b\nCREDITS  2\nDEBITS   99999999999999999999999999999999999999\n",
		},
	} {
		var out bytes.Buffer
		g := screen{out: &out, columns: columnsMax}.newTable(c.columns...)
		for _, row := range c.rows {
			g.row(row...)
		}
		if err := g.flush(); err != nil || out.String() != c.want {
			t.Errorf("%s: %v\n got\n%s\nwant\n%s", name, err, out.String(), c.want)
		}
	}
}

// Where there is no terminal, each row is one line with whole cells. Colors are only on a terminal.
func TestPipesGetWholeRows(t *testing.T) {
	for _, c := range []struct {
		screen screen
		want   string
	}{
		{screen{}, "ID" + strings.Repeat(" ", 67) + "N\n" + strings.Repeat("a", 64) + " b  -1\n"},
		{screen{columns: 200, isColor: true},
			"\x1b[1mID" + strings.Repeat(" ", 66) + "\x1b[0m\x1b[1m N  \x1b[0m\n" + strings.Repeat("a", 64) + " b  \x1b[31m-1\x1b[0m\n"},
	} {
		var out bytes.Buffer
		c.screen.out = &out
		g := c.screen.newTable(words("ID"), numbers("N"))
		g.row(strings.Repeat("a", 64)+" b", "-1")
		if err := g.flush(); err != nil || out.String() != c.want {
			t.Errorf("%v: got\n%q\nwant\n%q", err, out.String(), c.want)
		}
	}
}

// Every table fits the width, as a table or as records. No line ends in spaces, and no number is wrapped.
func TestTablesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		columns := []column{words("ACCOUNT"), numbers("QUANTITY"), words("DESCRIPTION"), numbers("COST"), words("ASSET")}
		g := screen{out: &out, columns: columnsMax}.newTable(columns...)
		var all []string
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			cells := []string{
				rapid.StringMatching(`[A-Za-z0-9._:@-]{1,64}`).Draw(t, "account"),
				rapid.StringMatching(`-?[0-9]{1,38}\.[0-9]{2}`).Draw(t, "quantity"),
				rapid.StringOfN(rapid.SampledFrom([]rune("ab 数-")), 0, 256, -1).Draw(t, "description"),
				rapid.StringMatching(`-?[0-9]{1,38}`).Draw(t, "cost"),
				rapid.StringMatching(`[A-Z]{1,64}`).Draw(t, "asset"),
			}
			all = append(all, cells[1], cells[3])
			g.row(cells...)
		}
		if err := g.flush(); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if text.StringWidth(line) > columnsMax {
				t.Fatalf("%d columns: %s", text.StringWidth(line), line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Fatalf("%q ends in spaces", line)
			}
		}
		for _, number := range all {
			if !strings.Contains(out.String(), number) {
				t.Fatalf("%s is missing in\n%s", number, out.String())
			}
		}
	})
}
