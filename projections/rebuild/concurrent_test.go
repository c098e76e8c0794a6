package rebuild_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// rebuildWith rebuilds jane's balance. It calls then once, right after the first page of postings was read.
func (b *book) rebuildWith(then func()) {
	b.Helper()
	var once sync.Once
	_, rebuilder := on(&viewstest.Hooked{Table: b.Table,
		AfterPostings: func(page []table.Item) ([]table.Item, error) {
			once.Do(then)
			return page, nil
		}}, b.Clock, tuning)
	b.Must(rebuilder.Balance(b.Context(), jane).Err)
}

// Because a stored count is too high, a projector takes a late posting for counted, after the rebuild has read the
// stretch without it. The rebuild must read the stretch again.
func TestRebuildRepeatsAfterAWrongCount(t *testing.T) {
	b := segmented(t)
	s := b.AllSegments(jane)[0]
	s.Count++
	b.Damage().Segment(s)
	b.rebuildWith(func() {
		version := b.Stored(jane).Version
		b.Refold(jane, b.PostOnes(jane, 3)...)
		if b.Stored(jane).Version != version {
			t.Error("the projector counted the posting: this proves nothing")
		}
	})
	viewstest.Same(t, "postings", b.Stored(jane).Head.Count, 21)
	viewstest.Same(t, "postings of the segment", b.AllSegments(jane)[0].Count, 5)
}

// While a lost balance is rebuilt, EnsureVisible finds its posting above the seal, after the rebuild has read the
// posting's stretch without it. When the rebuild has moved the seal past the posting, the seal must include it.
func TestRebuildFoldsAgainAboveTheSeal(t *testing.T) {
	b := segmented(t)
	b.Damage().LoseBalance(jane)
	b.rebuildWith(func() {
		id := b.PostOnes(jane, 3)[0]
		b.Must(b.Reader.EnsureVisible(t.Context(), jane.Account, jane.Asset, id))
	})
	read, err := b.Reader.Balance(t.Context(), jane, nil)
	b.Must(err)
	viewstest.Same(t, "postings of a strong read", read.Head.Count, 21)
	if b.Stored(jane).Seal.Through < ksuid(3) {
		t.Error("the seal is below the posting: this proves nothing")
	}
}

// Because a stored membership's number is too high, a projector skips a new grant, after the rebuild has read the
// grants. The rebuild must read them again.
func TestRebuildRepeatsAfterAWrongNumber(t *testing.T) {
	b := newBook(t)
	m := projections.Membership{Account: "jane", User: "ann", Role: events.RoleViewer, Number: 1}
	ann := projections.Target{View: projections.Members, Account: "jane", User: "ann"}
	b.Must(b.Grant(t.Context(), m))
	wrong := m
	wrong.Number = 9
	b.Damage().Membership(wrong)
	m.Role, m.Number = events.RoleOwner, 2
	var once sync.Once
	_, rebuilder := on(&viewstest.Hooked{Table: b.Table, AfterGrant: func() {
		once.Do(func() {
			b.Must(b.Grant(t.Context(), m))
			b.Must(b.Projector.Refresh(t.Context(), ann, projections.Seen{}))
		})
	}}, b.Clock, tuning)
	b.Must(rebuilder.Rebuild(t.Context(), ann))
	found, err := b.rebuilder.StoredMembership(t.Context(), projections.Membership{Account: "jane", User: "ann"})
	b.Must(err)
	m.GrantedBy, m.GrantedAt = found.Value.GrantedBy, found.Value.GrantedAt // those of every grant here
	viewstest.Same(t, "membership", found.Value, m)
}

// A stretch that late postings have made long is not split. Otherwise a rebuild that is interrupted after writing the
// first part would leave a stored segment that overlaps it.
func TestInterruptedRebuildLeavesNoOverlappingSegments(t *testing.T) {
	b := segmented(t)
	b.PostOnes(jane, 1, 3, 5, 7, 11)
	_, rebuilder := on(viewstest.CutOff(b.Table), b.Clock, projections.Tuning{Stretch: 4, Segments: 1})
	if err := rebuilder.Balance(t.Context(), jane).Err; !errors.Is(err, viewstest.ErrCut) {
		t.Fatal(err)
	}
	var at events.KSUID
	for _, s := range b.AllSegments(jane) {
		if s.After != at {
			t.Errorf("the segment through %s begins after %q, the one before it ends at %q", s.Through, s.After, at)
		}
		at = s.Through
	}
	viewstest.Same(t, "postings of the first segment", b.AllSegments(jane)[0].Count, 8)
	b.Refold(jane) // the projector takes the balance for lost and rebuilds it
	viewstest.Same(t, "postings of the second segment", b.AllSegments(jane)[1].Count, 5)
	viewstest.Same(t, "postings", b.Stored(jane).Head, ones(40, 25))
}

// A rebuild that ends between two of its writes leaves the first posting that it counted, even if that one was late. If
// all segments are written, the projector finishes the balance from there, and does not look below the seal again.
func TestInterruptedRebuildLeavesTheFirstPosting(t *testing.T) {
	b := newBook(t)
	for n := range 6 { // a segment and a half
		b.Refold(jane, b.PostBackdated(jane, 2*n+2)...)
	}
	first := b.PostBackdated(jane, 1, 13, 15, 17)[0]
	_, rebuilder := on(viewstest.CutOff(b.Table), b.Clock, projections.Tuning{Stretch: 4, Segments: 2})
	if err := rebuilder.Balance(t.Context(), jane).Err; !errors.Is(err, viewstest.ErrCut) || !b.Stored(jane).Unfinished {
		t.Fatalf("%v: this proves nothing", err)
	}
	b.Refold(jane)
	if now := b.Stored(jane); now.Unfinished || now.First != first {
		t.Errorf("the first posting is %s, stored is %+v", first, now)
	}
}

// All or some segments of a balance are lost, and it is written each time that sixty postings were read. What an attempt
// counted is not counted again by the next one, so the rebuild comes to an end.
func TestRebuildOfAHotBalance(t *testing.T) {
	for name, kept := range map[string]int{"all segments are lost": 0, "all but the last": 1} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			for n := range 100 {
				b.Refold(jane, b.PostOnes(jane, n+1)...)
			}
			b.Time = b.Time.Add(time.Hour)
			b.Refold(jane, b.PostOnes(jane, 101, 102, 103, 104)...)
			stored := b.AllSegments(jane)
			for _, s := range stored[:len(stored)-kept] {
				b.Damage().LoseSegment(s)
			}
			read := 0
			_, rebuilder := on(&viewstest.Hooked{Table: b.Table,
				AfterPostings: func(page []table.Item) ([]table.Item, error) {
					if read += len(page); read >= 60 {
						read = 0
						now := b.Stored(jane)
						b.Must(projections.NewViews(b.Table).Write(t.Context(), projections.Change{Balance: now}))
					}
					return page, nil
				}}, b.Clock, tuning)
			b.Must(rebuilder.Balance(b.Context(), jane).Err)
			viewstest.Same(t, "segments", len(b.AllSegments(jane)), len(stored))
		})
	}
}

// A rebuild writes lost segments in several changes, and ends after the first one. The base is then the end of the
// segments that are stored: an audit finds nothing wrong.
func TestInterruptedRebuildLeavesTheBaseAtTheLastSegment(t *testing.T) {
	b := segmented(t)
	for _, s := range b.AllSegments(jane) {
		b.Damage().LoseSegment(s)
	}
	wrong := b.Stored(jane)
	wrong.Head.Count++
	b.Damage().Balance(wrong)
	_, rebuilder := on(viewstest.CutOff(b.Table), b.Clock, projections.Tuning{Stretch: 4, Segments: 2})
	report := rebuilder.Balance(t.Context(), jane)
	ofBalance := func(d rebuild.Difference) bool { return table.Balance.Is(d.Key.SK) } // which is not written yet
	if !errors.Is(report.Err, viewstest.ErrCut) || slices.ContainsFunc(report.Differences, ofBalance) {
		t.Fatalf("%+v", report)
	}
	segments := b.AllSegments(jane)
	viewstest.Same(t, "segments", len(segments), 2)
	viewstest.Same(t, "base", b.Stored(jane).Base, ones(16, 8))
}

// A rebuild has counted all stretches when a posting becomes visible in the last one. A second rebuild counts it and
// ends after its first change: the seal includes the posting, the base does not reach it, and EnsureVisible finds it
// counted there. The first rebuild must count the stretch again, although its segment is unchanged.
func TestRebuildFoldsAgainAboveTheBase(t *testing.T) {
	b := segmented(t)
	for _, s := range b.AllSegments(jane)[:3] { // so that the second rebuild has several changes to write
		s.Credits = events.NewAmount(99)
		b.Damage().Segment(s)
	}
	tuned := projections.Tuning{Stretch: 4, Segments: 1}
	var once sync.Once
	_, rebuilder := on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(int, []table.Write) error {
		once.Do(func() {
			late := b.PostOnes(jane, 37)[0]
			_, second := on(viewstest.CutOff(b.Table), b.Clock, tuned)
			if err := second.Balance(t.Context(), jane).Err; !errors.Is(err, viewstest.ErrCut) {
				t.Fatal(err)
			}
			b.Must(b.Reader.EnsureVisible(t.Context(), jane.Account, jane.Asset, late))
		})
		strong, err := b.Reader.Balance(t.Context(), jane, nil)
		b.Must(err)
		viewstest.Same(t, "postings of a strong read", strong.Head.Count, 21)
		return nil
	}}, b.Clock, tuned)
	b.Must(rebuilder.Balance(t.Context(), jane).Err)
	strong, err := b.Reader.Balance(t.Context(), jane, nil)
	b.Must(err)
	viewstest.Same(t, "postings of a strong read", strong.Head.Count, 21)
}
