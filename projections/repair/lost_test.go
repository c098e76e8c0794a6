package repair_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// The refold of the next posting restores a lost balance with its segments and summary, also if postings were late.
func TestRefoldRestoresALostBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDamaged(t)
		k := rapid.SampledFrom(damagedKeys).Draw(t, "pair")
		for _, k := range damagedKeys { // all other balances are correct
			if len(d.posted[k]) > 0 {
				d.refold(k)
			}
		}
		if len(d.posted[k]) == 0 {
			return // no balance is stored
		}
		d.store.Damage().LoseBalance(k)
		if rapid.Bool().Draw(t, "ensure visible") {
			reader := projections.NewReader(d.store.Table, nil)
			d.post(k)
			d.must(reader.EnsureVisible(t.Context(), k.Account, k.Asset, d.posted[k][len(d.posted[k])-1].ID))
		}
		for range rapid.IntRange(1, 5).Draw(t, "more") {
			d.post(k)
			last := d.posted[k][len(d.posted[k])-1].ID
			if !slices.ContainsFunc(d.posted[k], func(p projections.Posting) bool { return p.ID < last }) {
				return // the first posting of all: the balance looks like a new one
			}
			d.must(d.projector.Refold(t.Context(), k, []events.KSUID{last}))
		}
		all, _ := naive(d.posted[k], "", "")
		reader := projections.NewReader(d.store.Table, nil)
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

// If the rebuild of a lost balance is interrupted, the next refold completes it, and the segments remain the same.
func TestLostBalanceIsRebuiltCompletely(t *testing.T) {
	b := segmented(t)
	late := b.PostOnes(jane, 3)
	b.Refold(jane, late...)
	segments := b.AllSegments(jane)
	b.Damage().LoseBalance(jane)
	twoAtOnce := projections.Tuning{Stretch: 4, Segments: 2}
	projector, _ := on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []store.Write) error {
		return map[bool]error{true: errCut}[write > 1]
	}}, b.Clock, twoAtOnce)
	if err := projector.Refold(t.Context(), jane, late); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	if saved := b.Stored(jane); !saved.Unfinished || saved.Base.Count == 0 || saved.Base.Count >= 20 {
		t.Fatalf("saved %+v", saved)
	}
	b.Projector, _ = on(b.Table, b.Clock, twoAtOnce)
	b.Refold(jane, b.PostOnes(jane, 50)...)
	viewstest.Same(t, "postings", b.Stored(jane).Head, ones(50, 22))
	viewstest.Same(t, "segments", b.AllSegments(jane), segments)
	b.Refold(jane, late...)
	viewstest.Same(t, "postings", b.Stored(jane).Head, ones(50, 22))
	summary, err := b.Summary(t.Context(), "jane")
	b.Must(err)
	viewstest.Same(t, "summary", summary.Assets, 1)
}
