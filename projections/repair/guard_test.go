package repair_test

import (
	"errors"
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/projections/viewstest"
)

// A balance that counts more postings than exist is rebuilt only with DropMissing. Other wrong balances are rebuilt.
func TestBalanceThatCountsTooManyPostingsIsNotRebuilt(t *testing.T) {
	m, accounts := books(t)
	ran(t, repair.Config{Table: m.Table})
	head := func(k events.Pair) projections.Fold {
		b, _, err := m.Balance(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return b.Head
	}
	more := events.Pair{Account: accounts[3], Asset: "USD"}
	wrong := events.Pair{Account: accounts[4], Asset: "USD"}
	for k, count := range map[events.Pair]int64{more: 4, wrong: 3} {
		b, _, err := m.Balance(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		b.Head.Count, b.Head.Credits = count, events.NewAmount(4)
		m.Damage().Balance(b)
	}
	for _, c := range []struct {
		dry, drop     bool
		failed, count int64 // count is that of the balance that counts more, after the run
	}{{true, false, 0, 4}, {false, false, 1, 4}, {false, true, 0, 3}} {
		reported, refused := 0, 0
		collectReport := func(p repair.Report) {
			if slices.ContainsFunc(p.Differences, func(d repair.Difference) bool { return d.CountsMore }) {
				reported++
			}
			if errors.Is(p.Err, repair.ErrCountsMore) {
				refused++
			}
		}
		scope := repair.Scope{DryRun: c.dry, DropMissing: c.drop}
		failed := ran(t, repair.Config{Table: m.Table, Report: collectReport, Scope: scope}).Counts().Failed
		if head(more).Count != c.count || failed != c.failed || int64(refused) != failed || int64(reported) != 1-failed {
			t.Errorf("%+v: %+v, %d failed, %d reported, %d refused", c, head(more), failed, reported, refused)
		}
	}
	if head(wrong).Credits != events.NewAmount(3) {
		t.Errorf("another wrong balance was not rebuilt: %+v", head(wrong))
	}
}

// A Difference lists the fields that differ, except the key and the version.
func TestDifferencesNameFields(t *testing.T) {
	b := segmented(t)
	wrong := b.Stored(jane)
	wrong.Version += 7
	wrong.Head.Credits, wrong.Head.PendingDebits = events.NewAmount(-5), events.NewAmount(3)
	wrong.Seal.Through, wrong.Unfinished = ksuid(1), true
	b.Damage().Balance(wrong)
	segment := b.AllSegments(jane)[0]
	segment.Count, segment.After = 9, ksuid(1)
	b.Damage().Segment(segment)
	fields := make(map[string][]repair.Field)
	for _, d := range b.dry() {
		fields[d.Key.SK] = d.Fields
	}
	viewstest.Same(t, "differences", fields, map[string][]repair.Field{
		"BALANCE#USD": {
			{Name: "seal.through", Stored: string(ksuid(1)), Becomes: string(ksuid(40))},
			{Name: "head.credits", Stored: "-5", Becomes: "20"},
			{Name: "head.pending_debits", Stored: "3", Becomes: "0"},
			{Name: "unfinished", Stored: "true", Becomes: "false"},
		},
		"SEGMENT#USD#" + string(segment.Through): {
			{Name: "after", Stored: string(ksuid(1)), Becomes: ""}, {Name: "count", Stored: "9", Becomes: "4"},
		},
	})
}
