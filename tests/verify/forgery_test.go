package verify

import (
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// keepsEvidence fails t if the events of b are altered, and the findings lead to a rebuild: what a projection shows may
// be the only trace of an event that was altered or deleted.
func (b book) keepsEvidence(t *testing.T, report audit.Report) {
	t.Helper()
	if !report.Sound() && report.Rebuildable() && !sameEvents(b, copyOfBook(t)) {
		t.Errorf("%+v lead to a rebuild", report.Findings)
	}
}

// Projections that still show the original of an event are evidence, whether the checksum was recomputed or not.
func TestForgedEventsAreNotRebuilt(t *testing.T) {
	for _, c := range rows(t) {
		if c.section != forgeries {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b := copyOfBook(t)
			c.plant(b)
			b.keepsEvidence(t, verify(t, b.client(t), 0))
			b.eachEvent(func(k store.Key, e events.Event) { b[k] = store.EventItem(e) })
			report := verify(t, b.client(t), 0)
			b.keepsEvidence(t, report)
			for _, w := range c.wanted {
				isWanted := func(f audit.Finding) bool { return want{f.Code, f.Key, f.Attribute} == w }
				if !slices.ContainsFunc(report.Findings, isWanted) {
					t.Errorf("%v is missing in %+v", w, report.Findings)
				}
			}
		})
	}
}
