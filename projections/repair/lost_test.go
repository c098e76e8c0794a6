package repair_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// A balance item that is lost comes back right with the next posting, whatever came late before: figures, segments and
// summary.
func TestALostBalanceComesBackRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDamaged(t)
		k := rapid.SampledFrom(damagedKeys).Draw(t, "pair")
		for _, k := range damagedKeys { // every other one is right
			if len(d.posted[k]) > 0 {
				d.refold(k)
			}
		}
		if len(d.posted[k]) == 0 {
			return // there is none to lose
		}
		d.store.Damage().LoseBalance(k)
		if rapid.Bool().Draw(t, "made sure of") {
			reader := projections.NewReader(d.store, nil)
			d.post(k)
			d.must(reader.EnsureVisible(t.Context(), k.Account, k.Asset, d.posted[k][len(d.posted[k])-1].ID))
		}
		for range rapid.IntRange(1, 5).Draw(t, "more") {
			d.post(k)
			last := d.posted[k][len(d.posted[k])-1].ID
			if !slices.ContainsFunc(d.posted[k], func(p projections.Posting) bool { return p.ID < last }) {
				return // posted late, and before all others: the balance looks like a new one
			}
			d.must(d.projector.Refold(t.Context(), k, []events.KSUID{last}))
		}
		all, _ := naive(d.posted[k], "", "")
		reader := projections.NewReader(d.store, nil)
		strong, err := reader.Balance(t.Context(), k, nil)
		d.must(err)
		credits, err := reader.Funds(t.Context(), k.Account, k.Asset)
		d.must(err)
		if strong.Head.Count != all.Count || strong.Head.Credits != all.Credits || credits != all.Credits {
			t.Errorf("strong %+v, credits %s, wanted %+v", strong.Head, credits, all)
		}
		d.exact()
	})
}

// The rebuild of a balance that was lost may be cut off: then the next refold goes on with it, and closes no segments
// of its own.
func TestLostBalanceIsRebuiltCompletely(t *testing.T) {
	b := segmented(t)
	late := b.PostOnes(jane, 3)
	b.Refold(jane, late...)
	whole := b.Segments(jane)
	b.Damage().LoseBalance(jane)
	twoAtOnce := projections.Tuning{Stretch: 4, Segments: 2}
	projector, _ := on(&viewstest.Hooked{Store: b.Store, BeforeWrite: func(write int, _ projections.Change) error {
		return map[bool]error{true: errCut}[write > 1]
	}}, b.Clock, twoAtOnce)
	if err := projector.Refold(t.Context(), jane, late); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	if saved := b.Stored(jane); !saved.Unfinished || saved.Base.Count == 0 || saved.Base.Count >= 20 {
		t.Fatalf("saved %+v", saved)
	}
	b.Projector, _ = on(b.Store, b.Clock, twoAtOnce)
	b.Refold(jane, b.PostOnes(jane, 50)...)
	viewstest.Same(t, "postings", b.Stored(jane).Head, ones(50, 22))
	viewstest.Same(t, "segments", b.Segments(jane), whole)
	b.Refold(jane, late...)
	viewstest.Same(t, "postings", b.Stored(jane).Head, ones(50, 22))
	summary, err := b.Summary(t.Context(), "jane")
	b.Must(err)
	viewstest.Same(t, "summary", summary.Assets, 1)
}
