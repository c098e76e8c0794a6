package verify

import (
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// The audit reports one item of each type whose form is newer than the code, or missing.
func TestItemsOfOtherFormsAreFound(t *testing.T) {
	altered := make(map[string]store.Key)
	b := copyOfBook(t)
	for k := range b {
		altered[b.text(k, store.AttrType)] = k
	}
	for kind, k := range altered {
		for name, change := range map[string]change{
			"newer": set(k, store.AttrForm, store.Integer(events.Form+1)), "missing": unset(k, store.AttrForm),
		} {
			b := copyOfBook(t)
			change(b)
			report := verify(t, b.client(t), 0)
			if !slices.ContainsFunc(report.Findings, func(f audit.Finding) bool {
				return f.Key == k && f.Attribute == store.AttrForm
			}) {
				t.Errorf("%s form of a %s: %+v", name, kind, report.Findings)
			}
		}
	}
}
