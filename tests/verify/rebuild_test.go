package verify

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/system"
)

// repairs reports whether a rebuild repairs what has a code.
func repairs(code audit.Code) bool {
	isNumbered := func(c audit.CodeMeaning) bool { return c.Code == code && c.IsNumbered }
	return slices.Contains(projectionCodes, code) || slices.ContainsFunc(audit.Codes(), isNumbered)
}

// projectionCodes are codes of findings that a rebuild repairs.
var projectionCodes = []audit.Code{
	audit.BalanceWrong, audit.BalanceLost, audit.BalanceBehind, audit.SegmentWrong, audit.SegmentBehind,
	audit.SegmentMissing,
	audit.SummaryWrong, audit.SummaryIncomplete,
	audit.HoldEntryWrong, audit.HoldEntryBehind, audit.HoldEntryWithoutHold,
	audit.ListEntryBehind, audit.ListEntryWrong, audit.ListEntryWithoutTransaction,
	audit.ListedAccountBehind, audit.ListedAccountDiffers, audit.ListedAccountWithoutVersion,
	audit.JournalBehind, audit.JournalWrong, audit.JournalAltered,
}

// rebuildBook rebuilds the accounts that corruptions alter, a group, and all lists. It returns the number of strays, and
// the error of list.
func rebuildBook(t *testing.T, client *dynamodb.Client, dropMissing bool) (strays int, err error) {
	t.Helper()
	p := rebuild.NewRebuilder(table.NewTable(client, books), time.Now, nil)
	p.Tune(projections.Tuning{Stretch: segmentPostings, Segments: 90})
	count := func(part rebuild.Report) { strays += len(part.Strays) }
	for _, account := range []string{"bank", "jane", "ann", "shop"} {
		err := p.Account(t.Context(), rebuild.Scope{Account: account, DropMissing: dropMissing}, count)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Group(t.Context(), "desk", false, count); err != nil {
		t.Fatal(err)
	}
	err = list(t, client, time.Now, rebuild.Scope{DropMissing: dropMissing}, count)
	return strays, err
}

// A rebuild repairs every corruption of projections. A dry run before it writes nothing, and neither does a second one.
func TestRebuildRepairsProjections(t *testing.T) {
	sound := copyOfBook(t).listed()
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool {
		isOfEvents := func(w want) bool { return !repairs(w.code) }
		return c.altersEvents() || slices.ContainsFunc(c.wanted, isOfEvents)
	})
	if len(all) < 30 {
		t.Errorf("only %d corruptions of projections, want at least 30", len(all))
	}
	tryEach(t, all, func(b book, _ wants) (wrong string) {
		client := b.client(t)
		contents := func() book { return system.Contents(t, client, books) }
		before := contents()
		err := list(t, client, time.Now, rebuild.Scope{DryRun: true}, nil)
		if err != nil || !reflect.DeepEqual(contents(), before) {
			wrong += fmt.Sprintln("a dry run writes, or fails:", err)
		}
		strays, err := rebuildBook(t, client, true)
		if report := verify(t, client, 0); err != nil || !report.Sound() || strays > 0 {
			wrong += fmt.Sprintf("%v, %d strays, %s\n", err, strays, some(report.Findings))
		}
		mended := contents()
		if got := mended.listed(); !maps.Equal(got, sound) {
			wrong += fmt.Sprintf("the journal has %v, want %v\n", got, sound)
		}
		if _, err = rebuildBook(t, client, true); err != nil || !reflect.DeepEqual(contents(), mended) {
			wrong += fmt.Sprintln("a second rebuild writes, or fails:", err)
		}
		return wrong
	})
}

// A rebuild raises no false alarm while clients place and end holds, and change roles and groups.
func TestRebuildUnderLoad(t *testing.T) {
	underLoad(t, copyOfBook(t), func(client *dynamodb.Client, posted func() int64) {
		v, rebuilds := table.NewTable(client, books), 0
		for ; !t.Failed() && (posted() < *transactions || rebuilds < 8); rebuilds++ {
			c := repair.Config{Table: v, Scope: rebuild.Scope{Account: []string{"ann", "shop"}[rebuilds%2]},
				Report: func(r rebuild.Report) {
					isWrong := func(d rebuild.Difference) bool { return !d.Behind }
					if r.Err != nil || len(r.Strays) > 0 || slices.ContainsFunc(r.Differences, isWrong) {
						t.Errorf("false alarm: %+v", r)
					}
				}}
			if c.Scope.DryRun = rebuilds%4 > 1; rebuilds%8 == 7 {
				c.Scope.Account, c.ListsOnly = "", true
				c.Append, c.Indexed = projections.NewLister(v, nil, nil, nil).Append, indexed
			}
			if err := repair.New(c).Run(t.Context()); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%d rebuilds, %d transactions", rebuilds, posted())
	})
}

// After a rebuild the audit still finds every corruption of events.
func TestRebuildHidesNoDamageToEvents(t *testing.T) {
	full.Only(t, "plants each corruption of an event, and rebuilds the book")
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool {
		return !c.altersEvents() ||
			!slices.Contains([]string{"transactions", "holds", "reversals", "changes", "groups"}, c.section)
	})
	if len(all) < 50 {
		t.Errorf("only %d corruptions of events, want at least 50", len(all))
	}
	tryEach(t, all, func(b book, wanted wants) (wrong string) {
		b.recomputeChecksums() // else checksums would show every corruption
		client := b.client(t)
		if _, err := rebuildBook(t, client, false); err != nil {
			return err.Error()
		}
		report, lasting := verify(t, client, 0), 0
		for _, w := range wanted {
			if repairs(w.code) {
				continue
			}
			lasting++
			isWanted := func(f audit.Finding) bool { return want{f.Code, f.Key, f.Attribute} == w }
			if !slices.ContainsFunc(report.Findings, isWanted) {
				wrong += fmt.Sprintf("the rebuild hid %v\n", w)
			}
		}
		if lasting == 0 || report.Sound() {
			wrong += fmt.Sprintf("%d lasting of %q", lasting, wanted)
		}
		return wrong
	})
}
