package verify

import (
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// forgeries alter or delete events. Only projections and guards still show the original.
func (b book) forgeries() []corruption {
	grant, newest := store.Grant.Key("jane", "u-1", 3), store.Change.Key("firm", 4)
	current, guard := store.Current.Key("firm"), store.Spend.Key("firm", "USD")
	member := store.Membership.Key("jane", "u-1")
	return []corruption{
		{"hold of another actor", set(openHold, "Actor", store.String("forger")),
			atItems(audit.HoldEntryWrong, b.holdKey("ann", "h-open"), b.holdKey("shop", "h-open"))},
		{"hold that expires later", set(openHold, "ExpiresAt", store.String(events.FormatTime(time.Now().Add(time.Hour)))),
			atItems(audit.HoldEntryWithoutHold, b.expiryKey("h-open"))},
		{"end by another actor", set(partEnd, "Actor", store.String("forger")),
			atItems(audit.HoldEntryWrong, b.holdKey("ann", "h-part"), b.holdKey("shop", "h-part"))},
		{"role of the newest grant", set(grant, "Role", store.String("owner")), atItems(audit.MembershipDiffers, member)},
		{"newest grant gone", drop(grant), atItems(audit.MembershipWithoutGrant, member)},
		{"state of the newest change", set(newest, "State", store.String("frozen")),
			atItems(audit.AccountCurrentWrong, current)},
		{"newest change gone with its copy", drop(newest, current), wants{{audit.GuardAhead, guard, store.AttrChange}}},
		{"header gone with its postings", drop(append(b.postingsOf(gold), gold)...),
			atItems(audit.BalanceCountsMore, janeGOLD)},
	}
}

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
	for _, c := range copyOfBook(t).forgeries() {
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
