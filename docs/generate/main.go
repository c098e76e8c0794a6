// Command generate computes parts of the documents and writes them between their comments:
//
//	<!-- generated: items -->
//	| item | is | …
//	<!-- end -->
//
// These are lists of contents, and the tables that no test can compare with the code: roles of routes, keys of items,
// what is in template.yaml, and dollars, which are computed from the counts in capacity.md, the prices in cost.md and
// the templates. In template.yaml itself it writes the filters of the stream, between comments of YAML. It also writes
// the OpenAPI document, the licences of what is linked, and the pictures, each from its text in the folder pictures. go
// generate runs it in the folder docs.
package main

import (
	"errors"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// markdown is a table: its head and its rows.
type markdown struct {
	head string // cells separated by |; a final colon aligns the column to the right
	rows []string
}

func (t *markdown) add(cells ...string) {
	t.rows = append(t.rows, "| "+strings.Join(cells, " | ")+" |\n")
}

func (t markdown) String() string {
	cells := strings.Split(t.head, "|")
	align := make([]string, len(cells))
	for i, cell := range cells {
		align[i] = "---"
		if strings.HasSuffix(cell, ":") {
			cells[i], align[i] = strings.TrimSuffix(cell, ":"), "---:"
		}
	}
	return "| " + strings.Join(cells, " | ") + " |\n|" + strings.Join(align, "|") + "|\n" + strings.Join(t.rows, "")
}

// region is a generated part of a document, or of a line in one.
var region = regexp.MustCompile(`(?s)((?:<!--|#) generated: ([a-z-]+)(?: -->)?\n?)(.*?)( *(?:<!--|#) end\b)`)

func main() {
	log.SetFlags(0)
	for file, is := range stale() {
		check(os.WriteFile(file, is, 0o644))
		log.Printf("%s has changed", file)
	}
}

// stale returns the files that differ from what is computed, with what they must have. Their names are relative to the
// folder docs, which must be the working directory.
func stale() map[string][]byte {
	stack := readTemplate("../template.yaml")
	bill := readBill(stack)
	idle, idleTable := bill.idle()
	regions := map[string]string{
		"access":            accessTable().String(),
		"idle":              idleTable.String(),
		"idle-both":         cents(idle.both),
		"idle-ledger":       cents(idle.ledger),
		"items":             itemTable().String(),
		"lister-filters":    filters(listerFilters()),
		"lister-keys":       writtenKeys("lister"),
		"load":              bill.loadTable().String(),
		"million":           bill.millionTable().String(),
		"month":             bill.monthTable().String(),
		"numbered-behind":   numberedCodes(true),
		"numbered-wrong":    numberedCodes(false),
		"parameters":        parameterTable(stack).String(),
		"permissions":       permissionTable(stack).String(),
		"projector-filters": filters(projectorFilters()),
		"projector-keys":    writtenKeys("projector"),
		"rebuilt-items":     rebuiltItems(),
		"servers":           bill.serversTable().String(),
		"servers-first":     bill.breakEven(1, bill.onDemand),
		"servers-year":      bill.breakEven(kept, bill.onDemand),
		"quotas":            bill.quotaTable().String(),
		"sweeper-keys":      writtenKeys("sweeper"),
	}
	used, found := make(map[string]bool), make(map[string][]byte)
	compare := func(file string, compute func(before string) (after string)) {
		before, err := os.ReadFile(file)
		if !errors.Is(err, fs.ErrNotExist) { // a new picture
			check(err)
		}
		if after := compute(string(before)); after != string(before) {
			found[file] = []byte(after)
		}
	}
	pages, err := filepath.Glob("*.md")
	check(err)
	for _, file := range append(pages, "../CONTRIBUTING.md", "../template.yaml") {
		compare(file, func(before string) string {
			return region.ReplaceAllStringFunc(before, func(part string) string {
				m := region.FindStringSubmatch(part)
				computed, ok := regions[m[2]]
				if m[2] == "contents" {
					computed, ok = contents(before), true
				}
				if !ok {
					log.Fatalf("%s: nothing computes %q", file, m[2])
				}
				used[m[2]] = true
				return m[1] + computed + m[4]
			})
		})
	}
	texts, err := filepath.Glob("pictures/*.txt")
	check(err)
	for _, file := range texts {
		text, err := os.ReadFile(file)
		check(err)
		compare(strings.TrimSuffix(file, "txt")+"svg", func(string) string { return picture(string(text)) })
	}
	compare("../functions/api/openapi.json", func(string) string { return openAPI() })
	compare("../THIRD_PARTY.txt", func(string) string { return thirdParty() })
	for name := range regions {
		if !used[name] {
			log.Fatalf("no document shows %q", name)
		}
	}
	return found
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
