// Command generate computes parts of the documents and writes them between their comments:
//
//	<!-- generated: items -->
//	| item | is | …
//	<!-- end -->
//
// These are the tables that no test can compare with the code: roles of routes, keys of items, and what is in
// template.yaml. It also writes the OpenAPI document. go generate runs it in the folder docs.
package main

import (
	"fmt"
	"log"
	"os"
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

// region is a generated part of a document.
var region = regexp.MustCompile(`(?s)(<!-- generated: ([a-z-]+) -->\n)(.*?)(<!-- end -->\n)`)

func main() {
	log.SetFlags(0)
	writeOpenAPI()
	stack := readTemplate("../template.yaml")
	regions := map[string]fmt.Stringer{
		"access":         accessTable(),
		"items":          itemTable(),
		"parameters":     parameterTable(stack),
		"permissions":    permissionTable(stack),
		"restored-table": stack.restored(),
	}
	used := make(map[string]bool)
	for _, document := range []string{"access.md", "deployment.md", "design.md", "operations.md"} {
		before, err := os.ReadFile(document)
		check(err)
		after := region.ReplaceAllStringFunc(string(before), func(part string) string {
			m := region.FindStringSubmatch(part)
			computed, ok := regions[m[2]]
			if !ok {
				log.Fatalf("%s: nothing computes %q", document, m[2])
			}
			used[m[2]] = true
			return m[1] + computed.String() + m[4]
		})
		if after != string(before) {
			check(os.WriteFile(document, []byte(after), 0o644))
			log.Printf("%s has changed", document)
		}
	}
	for name := range regions {
		if !used[name] {
			log.Fatalf("no document shows %q", name)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
