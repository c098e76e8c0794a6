package projections_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections/viewstest"
)

// Records of a hold and of its end may come in any order, twice, and in different batches. Once the end was seen, the hold
// is never in the list of open holds again.
func TestEndedHoldIsNotListedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newListerStore(t)
		h, other := viewstest.Held("h-1", 1), viewstest.Held("h-2", 2)
		ended := viewstest.Ended(h, events.OutcomeCaptured, 20, 30)
		if err := n.Put(t.Context(), h, other, ended); err != nil {
			t.Fatal(err)
		}
		all, isEnded := []events.Event{h, other, ended}, false
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var batch []events.Event
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, 2), 1, 4).Draw(t, "batch") {
				batch, isEnded = append(batch, all[i]), isEnded || i == 2
			}
			if failed, err := n.lister.List(t.Context(), eventRecords(batch...)); failed != "" || err != nil {
				t.Fatal(failed, err)
			}
			q := table.Query{
				Index: table.IndexInverse, Partition: table.OpenHold.PK2("0"),
				Within: table.OpenHold.Partitions(),
			}
			for item, err := range table.All(t.Context(), n.Table, q) {
				if _, id, _ := table.OpenHold.Parse(table.ItemKey(item)); err != nil || id == "h-1" && isEnded {
					t.Fatalf("%s is listed, %v", id, err)
				}
			}
		}
	})
}

// A hold and its end are in one batch, and the entry of the end is not written. The record of the end is delivered again,
// without that of the hold.
func TestEndAnswersForItself(t *testing.T) {
	n := newListerStore(t)
	h := viewstest.Held("h-1", 1)
	ended := viewstest.Ended(h, events.OutcomeReleased, 0, 9)
	if err := n.Put(t.Context(), h, ended); err != nil {
		t.Fatal(err)
	}
	if failed, err := n.lister.List(t.Context(), eventRecords(h)); failed != "" || err != nil {
		t.Fatal(failed, err)
	}
	isOpen := func() bool {
		t.Helper()
		item, _, err := n.Table.Get(t.Context(), table.OpenHold.Key(events.FormatTime(h.ExpiresAt), h.ID), table.Strong)
		if err != nil {
			t.Fatal(err)
		}
		return item[table.AttrPK2] != nil
	}
	broken := true
	n.beforeOpen = func(string) error {
		if broken {
			return errBroken
		}
		return nil
	}
	batch := eventRecords(h, ended)
	failed, err := n.lister.List(t.Context(), batch)
	if failed != "1001" || err != nil || !isOpen() {
		t.Fatalf("failed %q, %v", failed, err)
	}
	broken = false
	if failed, err := n.lister.List(t.Context(), batch[1:]); failed != "" || err != nil || isOpen() {
		t.Errorf("failed %q, %v, and it is open: %t", failed, err, isOpen())
	}
}

// A malformed end does not stop its batch: its hold has no header, or is no hold.
func TestEndWithoutItsHold(t *testing.T) {
	n := newListerStore(t)
	h := posted("t-1", 1, nil)
	if err := n.Put(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"t-1", "nothing"} {
		n.log.Reset()
		h.ID = id
		failed, err := n.lister.List(t.Context(), eventRecords(viewstest.Ended(h, events.OutcomeReleased, 0, 9)))
		if failed != "" || err != nil || !strings.Contains(n.log.String(), "RecordsMalformed=1") {
			t.Errorf("%s: failed %q, %v, log %s", id, failed, err, n.log.String())
		}
	}
	viewstest.Same(t, "journal", n.JournalText(t), []string{"t-1 ended", "nothing ended"})
}
