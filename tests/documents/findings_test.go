package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ledger.example/internal/watch/audit"
)

// The table of findings in docs/audit.md has each code once. The rows of findings that a rebuild repairs say so,
// and all others say that one must not rebuild first.
func TestEachFindingHasInstructions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "audit.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "\n| finding | do |\n|---|---|\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	instructions := make(map[string]string)
	quoted := regexp.MustCompile("`([a-z_]+)`")
	for row := range strings.Lines(rows) {
		cells := strings.Split(row, " | ")
		for _, code := range quoted.FindAllStringSubmatch(cells[0], -1) {
			if instructions[code[1]] != "" {
				t.Errorf("%s has two rows", code[1])
			}
			instructions[code[1]] = cells[1]
		}
	}
	for _, c := range audit.Codes() {
		do := instructions[string(c.Code)]
		rebuilds, forbids := strings.HasPrefix(do, "[Rebuild](#rebuild)"), strings.Contains(do, "**Do not rebuild")
		if rebuilds != c.IsBehind || forbids == c.IsBehind {
			t.Errorf("%s: %q, and a rebuild repairs it: %t", c.Code, do, c.IsBehind)
		}
		delete(instructions, string(c.Code))
	}
	if len(instructions) > 0 {
		t.Errorf("the audit has no findings %v", instructions)
	}
}
