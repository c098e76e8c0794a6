package verify

import (
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// The audit reports one item of each type whose form is newer than the code, or missing.
func TestItemsOfOtherFormsAreFound(t *testing.T) {
	altered := make(map[string]table.Key)
	b := copyOfBook(t)
	for k := range b {
		altered[b.text(k, table.AttrType)] = k
	}
	for kind, k := range altered {
		for name, change := range map[string]change{
			"newer": set(k, table.AttrForm, ddb.Integer(events.Form+1)), "missing": unset(k, table.AttrForm),
		} {
			b := copyOfBook(t)
			change(b)
			report := verify(t, b.client(t), 0)
			if !slices.ContainsFunc(report.Findings, func(f audit.Finding) bool {
				return f.Key == k && f.Attribute == table.AttrForm
			}) {
				t.Errorf("%s form of a %s: %+v", name, kind, report.Findings)
			}
		}
	}
}
