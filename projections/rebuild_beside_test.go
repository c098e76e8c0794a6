package projections_test

import (
	"context"
	"errors"
	"testing"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// interrupted are views on which something happens, once, right after the first page of postings was read.
type interrupted struct {
	*viewstest.Memory
	then func()
}

func (i *interrupted) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	page, more, err := i.Memory.Postings(ctx, k, after, through)
	if then := i.then; then != nil {
		i.then = nil
		then()
	}
	return page, more, err
}

// segmented is a book of twenty postings in five segments.
func segmented(t *testing.T) *book {
	b := newBook(t)
	b.projector.Shrink(projections.SettleWindow, 4, 10, 0)
	var even []int
	for n := range 20 {
		even = append(even, 2*n+2)
	}
	b.refold(jane, b.post(jane, even...)...)
	if n := len(b.Segments(jane)); n != 5 {
		t.Fatalf("%d segments", n)
	}
	return b
}

// rebuildWith rebuilds jane's balance; then happens after the first page of postings.
func (b *book) rebuildWith(then func()) {
	b.Helper()
	projector, reader := b.projector, b.reader
	b.on(&interrupted{Memory: b.Memory, then: then})
	b.projector.Shrink(projections.SettleWindow, 4, 10, 0)
	operator := b.projector
	b.projector, b.reader = projector, reader
	_, err := operator.Rebuild(b.Context(), jane, false)
	b.must(err)
}

// A rebuild that was cut off after it saved its way leaves a balance that any refold reads to the end.
func TestRebuildSavesItsWay(t *testing.T) {
	b := segmented(t)
	b.Damage().LoseBalance(jane)
	whole, projector := b.Segments(jane), b.projector
	errCut := errors.New("cut off")
	b.on(&failing{Memory: b.Memory, before: func(write int, _ projections.Change) error {
		if write == 2 {
			return errCut
		}
		return nil
	}})
	b.projector.Shrink(projections.SettleWindow, 4, 3, 0)
	if _, err := b.projector.Rebuild(t.Context(), jane, false); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	saved := b.stored(jane)
	if saved.Seal != saved.Base || saved.Seal.Count != 12 || !saved.Unfinished || saved.Head != (projections.Fold{}) {
		t.Errorf("saved %+v", saved)
	}
	b.projector = projector
	b.refold(jane, ksuid(2))
	same(t, "postings", b.stored(jane).Head, ones(40, 20))
	same(t, "segments", b.Segments(jane), whole)
}

// By a wrong count a projector takes a late posting for counted, just when a rebuild has read the stretch without it.
func TestRebuildLooksOnceMore(t *testing.T) {
	b := segmented(t)
	s := b.Segments(jane)[0]
	s.Count++
	b.Damage().Segment(s)
	b.rebuildWith(func() {
		version := b.stored(jane).Version
		b.refold(jane, b.post(jane, 3)...)
		if b.stored(jane).Version != version {
			t.Error("the projector was not deceived")
		}
	})
	same(t, "postings", b.stored(jane).Head.Count, 21)
	same(t, "postings of the segment", b.Segments(jane)[0].Count, 5)
}

// A command makes sure of a posting that lies above the seal of a balance that was lost, just when a rebuild has read its stretch
// without it: when the seal is above the posting again, it must be in it.
func TestRebuildReadsAnewAboveTheSeal(t *testing.T) {
	b := segmented(t)
	b.Damage().LoseBalance(jane)
	b.rebuildWith(func() {
		id := b.post(jane, 3)[0]
		b.must(b.reader.MakeSure(t.Context(), jane.Account, jane.Asset, id))
	})
	read, err := b.reader.Balance(t.Context(), jane, nil)
	b.must(err)
	same(t, "postings of a strong read", read.Head.Count, 21)
	if b.stored(jane).Seal.Through < ksuid(3) {
		t.Error("the seal is below the posting: this proves nothing")
	}
}

// A grant that a projector took for shown by a membership's wrong number, just when a rebuild had looked at the grants, is shown.
func TestRebuildLooksAtGrantsOnceMore(t *testing.T) {
	b := newBook(t)
	m := projections.Membership{Account: "jane", User: "ann", Role: events.RoleViewer, Number: 1}
	b.must(b.Grant(t.Context(), m))
	wrong := m
	wrong.Number = 9
	b.Damage().Membership(wrong)
	plain := b.projector
	m.Role, m.Number = events.RoleOwner, 2
	b.on(&granted{Memory: b.Memory, then: func() {
		b.must(b.Grant(t.Context(), m))
		b.must(plain.Remember(t.Context(), "jane", "ann"))
	}})
	_, err := b.projector.RebuildMembership(t.Context(), "jane", "ann", false)
	b.must(err)
	found, err := b.StoredMembership(t.Context(), "jane", "ann")
	b.must(err)
	same(t, "membership", found.Value, m)
}

// granted are views on which something happens, once, right after the newest grant was read.
type granted struct {
	*viewstest.Memory
	then func()
}

func (g *granted) NewestGrant(ctx context.Context, account, user string) (projections.Membership, error) {
	m, err := g.Memory.NewestGrant(ctx, account, user)
	if then := g.then; then != nil {
		g.then = nil
		then()
	}
	return m, err
}
