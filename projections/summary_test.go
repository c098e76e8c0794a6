package projections_test

import (
	"testing"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// A balance may become visible before the summary that was written with it. If a refold then makes the balance zero,
// the stale summary seems to need no change. The refold must write it anyway: the write fails if the version changes.
func TestSummaryOlderThanItsBalanceIsWritten(t *testing.T) {
	b := newBook(t)
	first := posting(1, 5)
	b.Must(b.Post(t.Context(), jane, first))
	head := projections.Fold{Through: first.ID, Credits: events.NewAmount(5), Count: 1}
	b.Must(b.Write(t.Context(), projections.Change{
		Balance: projections.Balance{Pair: jane, Head: head, First: first.ID},
		Summary: &projections.Summary{Account: jane.Account, Assets: 1, First: first.ID},
	}))
	second := posting(2, -5)
	b.Must(b.Post(t.Context(), jane, second))
	b.Requests()
	b.Refold(jane, second.ID)
	if r := b.Requests(); r.TransactWrites != 1 {
		t.Errorf("the summary was left alone: %+v", r)
	}
	viewstest.Same(t, "summary", b.summary("jane").Version, 2)
}
