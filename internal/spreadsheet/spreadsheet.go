// Package spreadsheet writes CSV (RFC 4180) for people, who open it in a spreadsheet. The API, the command line and the
// console write the same columns with it.
//
// A spreadsheet runs a text such as =1+1 as a formula, and anybody who may post can write one into a description. So a
// text that begins with = + - @, a tab or a carriage return gets an apostrophe in front, which spreadsheets take for
// "this is a text". So does a text that begins with apostrophes before one of these, so that a reader can take off one
// apostrophe and has the text as it was. Amounts are written as they are: a negative one begins with a minus sign.
package spreadsheet

import (
	"encoding/csv"
	"io"
	"strings"
)

// Cell is a text or an amount.
type Cell struct {
	value  string
	isText bool
}

// Text returns the cell of a text.
func Text(text string) Cell { return Cell{text, true} }

// Amount returns the cell of a number, which is never escaped.
func Amount(decimal string) Cell { return Cell{value: decimal} }

// Texts returns the cells of texts.
func Texts(all ...string) []Cell {
	cells := make([]Cell, len(all))
	for i, text := range all {
		cells[i] = Text(text)
	}
	return cells
}

// Style says how texts are written.
type Style bool

const (
	Safe Style = false // escaped
	Raw  Style = true  // as they are, for programs
)

// Write writes rows.
func Write(w io.Writer, rows [][]Cell, style Style) error {
	to := csv.NewWriter(w)
	for _, row := range rows {
		record := make([]string, len(row))
		for i, cell := range row {
			if record[i] = cell.value; cell.isText && style != Raw {
				record[i] = escaped(cell.value)
			}
		}
		if err := to.Write(record); err != nil {
			return err
		}
	}
	to.Flush()
	return to.Error()
}

// escaped returns a text that no spreadsheet takes for a formula.
func escaped(text string) string {
	begin := strings.TrimLeft(text, "'")
	if begin != "" && strings.ContainsRune("=+-@\t\r", rune(begin[0])) {
		return "'" + text
	}
	return text
}
