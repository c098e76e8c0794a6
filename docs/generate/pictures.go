package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// A picture is drawn from a text that anybody can read and edit: its first line is the title, and after an empty line
// come lines, boxes and arrows of box-drawing characters, and words. Each character is a cell of the picture.

// The size of a cell in pixels, the size of the letters, and the margin, in cells.
const cellWidth, cellHeight, letters, margin = 8, 17, 13, 1

// arms are the halves of a cell through which a character draws a line: to the left, right, up and down.
var arms = map[rune]string{
	'─': "lr", '│': "ud", '┌': "rd", '┐': "ld", '└': "ru", '┘': "lu", '├': "rud", '┤': "lud", '┬': "lrd", '┴': "lru",
	'┼': "lrud", '►': "l", '◄': "r", '▲': "d", '▼': "u",
}

// heads are the corners of the tips of arrows, in halves of a cell from its middle.
var heads = map[rune][3][2]float64{
	'►': {{-1, -.6}, {1, 0}, {-1, .6}},
	'◄': {{1, -.6}, {-1, 0}, {1, .6}},
	'▲': {{-1.2, .4}, {0, -1}, {1.2, .4}},
	'▼': {{-1.2, -.4}, {0, 1}, {1.2, -.4}},
}

// drawing is a text by cells: rows of characters.
type drawing [][]rune

func (d drawing) at(row, column int) rune {
	if row < 0 || row >= len(d) || column < 0 || column >= len(d[row]) {
		return ' '
	}
	return d[row][column]
}

func (d drawing) has(row, column int, arm string) bool {
	return strings.Contains(arms[d.at(row, column)], arm)
}

// picture draws a text as SVG.
func picture(text string) string {
	title, rest, _ := strings.Cut(text, "\n")
	var d drawing
	width := 0
	for line := range strings.Lines(strings.TrimLeft(rest, "\n")) {
		d = append(d, []rune(strings.TrimRight(line, "\n")))
		width = max(width, len(d[len(d)-1]))
	}
	var out strings.Builder
	w, h := (width+2*margin)*cellWidth, (len(d)+2*margin)*cellHeight
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<title>%s</title>
<style>
text { font: %dpx ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre; }
.line { fill: none; stroke: #57606a; stroke-width: 1.3; }
.tip { fill: #57606a; } .box { fill: #0969da; fill-opacity: .07; }
</style>
<rect width="100%%" height="100%%" rx="6" fill="#ffffff"/>
`, w, h, w, h, html.EscapeString(title), letters)
	d.boxes(&out)
	d.lines(&out)
	d.words(&out)
	out.WriteString("</svg>\n")
	return out.String()
}

// middle is the middle of a cell, in pixels.
func middle(row, column int) (x, y float64) {
	return (float64(column+margin) + .5) * cellWidth, (float64(row+margin) + .5) * cellHeight
}

// boxes fills each closed box. A line may cross or leave its edges.
func (d drawing) boxes(out *strings.Builder) {
	for row := range d {
		for left := range d[row] {
			if d[row][left] != '┌' {
				continue
			}
			right, bottom := left+1, row+1
			for d.has(row, right, "l") && d.has(row, right, "r") {
				right++
			}
			for d.has(bottom, left, "u") && d.has(bottom, left, "d") {
				bottom++
			}
			if d.at(row, right) == '┐' && d.at(bottom, left) == '└' && d.at(bottom, right) == '┘' {
				x, y := middle(row, left)
				fmt.Fprintf(out, "<rect class=\"box\" x=\"%g\" y=\"%g\" width=\"%d\" height=\"%d\"/>\n",
					x, y, (right-left)*cellWidth, (bottom-row)*cellHeight)
			}
		}
	}
}

// lines draws all lines, and the tips of arrows.
func (d drawing) lines(out *strings.Builder) {
	var path, tips strings.Builder
	half := map[rune]string{
		'l': fmt.Sprint("h-", cellWidth/2.), 'r': fmt.Sprint("h", cellWidth/2.),
		'u': fmt.Sprint("v-", cellHeight/2.), 'd': fmt.Sprint("v", cellHeight/2.),
	}
	for row := range d {
		for column, c := range d[row] {
			x, y := middle(row, column)
			for _, arm := range arms[c] {
				fmt.Fprintf(&path, "M%g %g%s", x, y, half[arm])
			}
			if head, ok := heads[c]; ok {
				tips.WriteString("M")
				for _, corner := range head {
					fmt.Fprintf(&tips, "%g %g ", x+corner[0]*cellWidth/2, y+corner[1]*cellHeight/2)
				}
				tips.WriteString("Z")
			}
		}
	}
	fmt.Fprintf(out, "<path class=\"line\" stroke-linecap=\"square\" d=\"%s\"/>\n", path.String())
	fmt.Fprintf(out, "<path class=\"tip\" d=\"%s\"/>\n", tips.String())
}

// words writes what is no line. Two spaces or a line end a run of words.
func (d drawing) words(out *strings.Builder) {
	for row, cells := range d {
		text := strings.Map(func(c rune) rune {
			if arms[c] != "" {
				return ' '
			}
			return c
		}, string(cells))
		for column := 0; text != ""; {
			spaces := len(text) - len(strings.TrimLeft(text, " "))
			column, text = column+spaces, text[spaces:]
			run, _, _ := strings.Cut(text, "  ")
			run = strings.TrimRight(run, " ")
			if run == "" {
				break
			}
			x, y := middle(row, column)
			length := utf8.RuneCountInString(run)
			fmt.Fprintf(out, "<text x=\"%g\" y=\"%g\" textLength=\"%d\">%s</text>\n",
				x-cellWidth/2, y+letters/3, length*cellWidth, html.EscapeString(run))
			column, text = column+length, text[len(run):]
		}
	}
}
