package repair_test

import (
	"testing"
	"time"

	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/projections/viewstest"
)

// A stored segment whose end is not settled is a stray. A rebuild that kept it would move base and seal to its end, and
// strong reads would miss a posting with a lower KSUID that is committed and acknowledged after that.
func TestSegmentWithAnUnsettledEndIsNotKept(t *testing.T) {
	b := newBook(t)
	b.Time = morning.Add(5 * time.Second)
	b.Refold(jane, b.PostOnes(jane, 1000, 2000, 3000, 4000)...)
	forged := projections.Segment{Pair: jane, Fold: ones(4000, 4)}
	b.Damage().Segment(forged)
	report := b.rebuilder.Balance(t.Context(), jane)
	b.Must(report.Err)
	want := []repair.Stray{{
		Key: store.Segment.Key("jane", "USD", string(ksuid(4000))), Why: "the segment ends after the settled postings",
	}}
	viewstest.Same(t, "strays", report.Strays, want)
	b.PostOnes(jane, 3500) // minted 1.5 s ago
	read, err := b.Reader.Balance(t.Context(), jane, nil)
	b.Must(err)
	viewstest.Same(t, "a strong read", read.Head, ones(4000, 5))

	b.Time = b.Time.Add(store.SettleWindow) // now nothing can be committed below its end
	report = b.rebuilder.Balance(t.Context(), jane)
	b.Must(report.Err)
	viewstest.Same(t, "strays once it is settled", len(report.Strays), 0)
	viewstest.Same(t, "base", b.Stored(jane).Base, ones(4000, 5))
}
