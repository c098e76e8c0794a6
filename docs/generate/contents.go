package main

import (
	"regexp"
	"strings"
)

// codeBlock is a fenced block, in which a line that begins with # is no heading.
var codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")

// pageHeading is a heading of the second or third level.
var pageHeading = regexp.MustCompile(`(?m)^(###?) (.+)$`)

// notSlug is what an anchor leaves out of its heading.
var notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// columns is the longest line of a list of contents.
const columns = 120

// contents lists the headings of a page: a line for each of the second level, with those of the third level below it.
func contents(page string) string {
	var lines []string
	level := ""
	for _, h := range pageHeading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		slug := strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(h[2]), ""), " ", "-")
		link := "[" + h[2] + "](#" + slug + ")"
		switch last := len(lines) - 1; {
		case h[1] == "##":
			lines = append(lines, "- "+link)
		default:
			lines[last] += map[string]string{"##": ":", "###": ","}[level]
			if len(lines[last])+len(" "+link+",") <= columns {
				lines[last] += " " + link
			} else {
				lines = append(lines, "  "+link)
			}
		}
		level = h[1]
	}
	return strings.Join(lines, "\n") + "\n"
}
