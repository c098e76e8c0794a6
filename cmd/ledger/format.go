package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/internal/spreadsheet"
)

// The formats in which commands print their data, the values of --format.
const (
	formatTable = "table" // for people
	formatCSV   = "csv"   // for people with a spreadsheet
	formatJSON  = "json"  // for programs: the answers of the API, or one object
)

// The names of the flags of formats. Those of single formats mean the same as --format.
const (
	flagFormat = "format"
	flagRaw    = "raw"
)

// formatFlags adds --format with a command's formats, --json, and --raw if CSV is one of the formats. A command without
// choices has all formats.
func (env *environment) formatFlags(cmd *cobra.Command, choices ...string) {
	if choices == nil {
		choices = []string{formatTable, formatCSV, formatJSON}
	}
	choiceFlag(cmd, &env.format, flagFormat, formatTable, strings.Join(choices, ", "), choices...)
	env.aliasFlag(cmd, formatJSON)
	if slices.Contains(choices, formatCSV) {
		cmd.Flags().BoolVar(&env.raw, flagRaw, false,
			"print texts in CSV as they were posted, also those like formulas")
	}
}

// csvFlag adds --csv, an older name of --format csv. It follows formatFlags.
func (env *environment) csvFlag(cmd *cobra.Command) *cobra.Command {
	env.aliasFlag(cmd, formatCSV)
	cmd.MarkFlagsMutuallyExclusive(formatCSV, formatJSON)
	return cmd
}

// jsonFlag adds --json to a command whose data has no table: it prints a log, or has formats of its own.
func (env *environment) jsonFlag(cmd *cobra.Command, usage string) {
	env.singleFormat(cmd, formatJSON, usage)
}

// aliasFlag adds a flag that means the same as --format with its name.
func (env *environment) aliasFlag(cmd *cobra.Command, format string) {
	env.singleFormat(cmd, format, "the same as --format "+format)
	cmd.MarkFlagsMutuallyExclusive(flagFormat, format)
}

// singleFormat adds a flag without a value that sets the format of its name.
func (env *environment) singleFormat(cmd *cobra.Command, format, usage string) {
	cmd.Flags().BoolFunc(format, usage, func(text string) error {
		is, err := strconv.ParseBool(text)
		if is {
			env.format = format
		}
		return err
	})
}

// checkFormat validates the flags of formatFlags together.
func (env *environment) checkFormat() error {
	if env.raw && env.format != formatCSV {
		return errors.New("--raw needs --format csv")
	}
	return nil
}

// isJSON reports whether data and errors are JSON.
func (env *environment) isJSON() bool { return env.format == formatJSON }

// asksJSON reports whether a command line asks for JSON. It serves for those that cannot be parsed.
func asksJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true", "--format=json":
			return true
		case "--format":
			if i+1 < len(args) && args[i+1] == formatJSON {
				return true
			}
		}
	}
	return false
}

// writeCSV prints rows. Texts that a spreadsheet would run as formulas are escaped, unless --raw is given.
func (s screen) writeCSV(rows [][]spreadsheet.Cell) error {
	return spreadsheet.Write(s.out, rows, spreadsheet.Style(s.raw))
}

// printCSV prints a table as CSV: a column for each of the table, or for each name of a list of names and values.
func (g *grid) printCSV() error {
	var rows [][]spreadsheet.Cell
	if g.isList {
		heading, values := make([]spreadsheet.Cell, len(g.rows)), make([]spreadsheet.Cell, len(g.rows))
		for i, cells := range g.rows {
			heading[i] = spreadsheet.Text(nameInCSV(fmt.Sprint(cells[0])))
			value := fmt.Sprint(cells[1])
			if values[i] = spreadsheet.Text(value); decimal.MatchString(value) {
				values[i] = spreadsheet.Amount(value)
			}
		}
		return g.writeCSV(append(rows, heading, values))
	}
	if g.isHeaded {
		heading := make([]spreadsheet.Cell, len(g.of))
		for i, c := range g.of {
			heading[i] = spreadsheet.Text(nameInCSV(c.heading))
		}
		rows = append(rows, heading)
	}
	for _, cells := range g.rows {
		row := make([]spreadsheet.Cell, len(cells))
		for i, cell := range cells {
			if row[i] = spreadsheet.Text(fmt.Sprint(cell)); g.of[i].isNumber {
				row[i] = spreadsheet.Amount(fmt.Sprint(cell))
			}
		}
		rows = append(rows, row)
	}
	return g.writeCSV(rows)
}

// decimal matches numbers, which are no formulas.
var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// nameInCSV returns the name of a column: lower case, with underscores.
func nameInCSV(heading string) string { return strings.ReplaceAll(strings.ToLower(heading), " ", "_") }
