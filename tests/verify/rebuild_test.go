package verify

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/tests/full"
	"ledger.example/tests/system"
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
	audit.JournalBehind, audit.JournalWrong, audit.JournalAltered,
}

// rebuild rebuilds the accounts that corruptions alter, a group, and all lists. It returns the number of strays, and
// the error of list.
func rebuild(t *testing.T, client *dynamodb.Client, dropMissing bool) (strays int, err error) {
	t.Helper()
	p := repair.NewRebuilder(store.NewTable(client, books), time.Now, nil)
	p.Tune(projections.Tuning{Stretch: segmentPostings, Segments: 90})
	count := func(part repair.Report) { strays += len(part.Strays) }
	for _, account := range []string{"bank", "jane", "ann", "shop"} {
		err := p.Account(t.Context(), repair.Scope{Account: account, DropMissing: dropMissing}, count)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Group(t.Context(), "desk", false, count); err != nil {
		t.Fatal(err)
	}
	err = list(t, client, time.Now, repair.Scope{DropMissing: dropMissing}, count)
	return strays, err
}

// A rebuild repairs every corruption of projections.
func TestRebuildRepairsProjections(t *testing.T) {
	mended, sound := 0, copyOfBook(t)
	for _, c := range corruptions(t) {
		isOfEvents := func(w want) bool { return !repairs(w.code) }
		if slices.ContainsFunc(c.wanted, isOfEvents) {
			continue
		}
		b := copyOfBook(t)
		if c.plant(b); !sameEvents(b, sound) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			client := b.client(t)
			before := system.Contents(t, client, books)
			err := list(t, client, time.Now, repair.Scope{DryRun: true}, nil)
			if err != nil || !reflect.DeepEqual(system.Contents(t, client, books), before) {
				t.Errorf("a dry run writes, or fails: %v", err)
			}
			strays, err := rebuild(t, client, true)
			if err != nil {
				t.Fatal(err)
			}
			if report := verify(t, client, 0); !report.Sound() || strays > 0 {
				t.Errorf("%d strays, %s", strays, some(report.Findings))
			}
			mended := system.Contents(t, client, books)
			if got := book(mended).listed(); !maps.Equal(got, sound.listed()) {
				t.Errorf("the journal has %v, want %v", got, sound.listed())
			}
			if _, err = rebuild(t, client, true); err != nil || !reflect.DeepEqual(system.Contents(t, client, books), mended) {
				t.Errorf("a second rebuild writes, or fails: %v", err)
			}
		})
		mended++
	}
	if mended < 30 {
		t.Errorf("only %d corruptions of projections, want at least 30", mended)
	}
}

// A rebuild raises no false alarm while clients place and end holds, and change roles and groups.
func TestRebuildUnderLoad(t *testing.T) {
	underLoad(t, copyOfBook(t), func(client *dynamodb.Client, posted func() int64) {
		v, rebuilds := store.NewTable(client, books), 0
		for ; !t.Failed() && (posted() < *transactions || rebuilds < 8); rebuilds++ {
			c := repair.Config{Table: v, Scope: repair.Scope{Account: []string{"ann", "shop"}[rebuilds%2]},
				Report: func(r repair.Report) {
					isWrong := func(d repair.Difference) bool { return !d.Behind }
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

// sameEvents reports whether two books have the same events.
func sameEvents(b, c book) bool {
	is := func(of book) book {
		events := maps.Clone(of)
		maps.DeleteFunc(events, func(k store.Key, _ store.Item) bool { return !store.IsEvent(k.SK) })
		return events
	}
	return reflect.DeepEqual(is(b), is(c))
}

// After a rebuild the audit still finds every corruption of events.
func TestRebuildHidesNoDamageToEvents(t *testing.T) {
	full.Only(t, "plants each corruption of an event, and rebuilds the book")
	tried := 0
	sound := copyOfBook(t)
	for _, c := range corruptions(t) {
		if !slices.Contains([]string{"transactions", "holds", "reversals", "changes", "groups"}, c.section) {
			continue
		}
		b := copyOfBook(t)
		if c.plant(b); sameEvents(b, sound) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			b.recomputeChecksums() // else checksums would show every corruption
			client := b.client(t)
			if _, err := rebuild(t, client, false); err != nil && !errors.Is(err, events.ErrMalformedEvent) {
				t.Error(err)
			}
			if verify(t, client, 0).Sound() {
				t.Errorf("the rebuild hid %q", c.wanted)
			}
		})
		tried++
	}
	if tried < 50 {
		t.Errorf("only %d corruptions of events, want at least 50", tried)
	}
}
