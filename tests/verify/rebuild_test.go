package verify

import (
	"slices"
	"testing"
	"time"

	"ledger.example/cmd/ledger/audit"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// ofProjections are the codes of what can be made anew from events.
var ofProjections = []audit.Code{
	audit.BalanceWrong, audit.BalanceBehind, audit.SegmentWrong, audit.SegmentBehind, audit.SegmentMissing,
	audit.SummaryWrong, audit.MembershipWrong, audit.MembershipBehind,
}

// After a rebuild of what can be rebuilt, the audit finds nothing any more.
func TestARebuildMendsWhatTheAuditFinds(t *testing.T) {
	mended := 0
	for _, c := range slices.Concat(ofBalances(), ofAccounts()) {
		b := copyOfBook(t)
		if slices.ContainsFunc(c.plant(b), func(w want) bool { return !slices.Contains(ofProjections, w.code) }) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			client := b.client(t)
			p := projections.NewProjector(views.NewViews(client, books), time.Now, nil)
			p.Tune(projections.Tuning{Stretch: stretch, Segments: 90})
			strays := 0
			for _, account := range []string{"bank", "jane"} {
				err := p.RebuildAccount(t.Context(), account, "", false, func(part projections.Part) { strays += len(part.Rebuilt.Strays) })
				if err != nil {
					t.Fatal(err)
				}
			}
			if report := verify(t, client, 0); !report.Sound() || strays > 0 {
				t.Errorf("%d strays, %+v", strays, report)
			}
		})
		mended++
	}
	if mended < 20 {
		t.Errorf("only %d corruptions are of projections", mended)
	}
}
