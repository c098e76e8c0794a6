// Command generate computes parts of the documents and writes them between their comments:
//
//	<!-- generated: prices -->
//	| price | of | …
//	<!-- end -->
//
// It measures the requests of the ledger to a store in memory, and reads the templates. go generate runs it in the
// folder docs.
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
	stack, watch := readTemplate("../template.yaml"), readTemplate("../watch.yaml")
	trades := measureTrades()
	all := loadsOf(trades, stack)
	regions := map[string]fmt.Stringer{
		"access":         accessTable(),
		"items":          itemTable(),
		"parameters":     parameterTable(stack),
		"permissions":    permissionTable(stack),
		"million":        millionTable(trades, stack),
		"lifecycle":      lifecycleTable(measureLifecycle()),
		"idle-month":     idleTable(stack, watch),
		"prices":         priceTable(),
		"capacity":       tradeTable(trades),
		"under-load":     refoldTable(trades[0]),
		"load":           loadTable(all),
		"account":        accountTable(trades[0], trades[1]),
		"quotas":         quotaTable(all, stack),
		"dollars-month":  dollarTable(all, stack),
		"restored-table": stack.restored(),
	}
	used := make(map[string]bool)
	for _, document := range []string{
		"access.md", "capacity.md", "cost.md", "deployment.md", "design.md", "operations.md", "performance.md",
	} {
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
