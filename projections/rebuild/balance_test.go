package rebuild_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// A rebuild moves the seal past the backdated postings that it counts, and never moves it back: strong reads leave out
// those above the seal. So they show all that they showed before, also between two writes of a rebuild in steps, and
// after a rebuild that ends between them.
func TestRebuildKeepsBackdatedPostingsShown(t *testing.T) {
	for _, c := range []struct {
		name   string
		behind time.Duration          // the clock of the rebuild
		lost   []int                  // backdated postings that the projector never heard of
		open   func(*book) (more int) // before the rebuild
	}{
		{name: "late in two segments", lost: []int{3, 5, 11}},
		{name: "late in the first and the open stretch", lost: []int{3, 41, 43}},
		{name: "a clock that is behind", behind: 70 * time.Minute, lost: []int{3, 11, 41}},
		{name: "a long open stretch", lost: []int{3, 39}, open: func(b *book) int {
			b.Projector.Tune(projections.Tuning{Stretch: 1000, Segments: 10})
			ids := b.PostBackdated(jane, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112)
			b.Refold(jane, ids...)
			return len(ids)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t)
			shown := 0
			for n := range 22 { // five segments and a half
				b.Refold(jane, b.PostBackdated(jane, 2*n+2)...)
				shown++
			}
			if c.open != nil {
				shown += c.open(b)
			}
			b.PostBackdated(jane, c.lost...)
			all := shown + len(c.lost)
			strong := func(when string) int {
				read, err := b.Reader.Balance(t.Context(), jane, nil)
				b.Must(err)
				if read.Head.Count < int64(shown) {
					t.Errorf("%s: a strong read counts %d of %d postings", when, read.Head.Count, shown)
				}
				return int(read.Head.Count)
			}
			seal := b.Stored(jane).Seal.Through
			writes := 0
			_, rebuilder := on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []table.Write) error {
				shown = max(shown, strong(fmt.Sprintf("before write %d", write)))
				writes++
				return nil
			}}, func() time.Time { return b.Time.Add(-c.behind) }, projections.Tuning{Stretch: 4, Segments: 1})
			b.Must(rebuilder.Balance(t.Context(), jane).Err)
			if writes < 2 {
				t.Errorf("%d writes: this proves nothing", writes)
			}
			shown = all
			strong("after the rebuild")
			if now := b.Stored(jane).Seal.Through; now < seal {
				t.Errorf("the seal went back from %s to %s", seal, now)
			}
		})
	}
}

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
	want := []rebuild.Stray{{
		Key: table.Segment.Key("jane", "USD", string(ksuid(4000))), Why: "the segment ends after the settled postings",
	}}
	viewstest.Same(t, "strays", report.Strays, want)
	b.PostOnes(jane, 3500) // minted 1.5 s ago
	read, err := b.Reader.Balance(t.Context(), jane, nil)
	b.Must(err)
	viewstest.Same(t, "a strong read", read.Head, ones(4000, 5))

	b.Time = b.Time.Add(table.SettleWindow) // now nothing can be committed below its end
	report = b.rebuilder.Balance(t.Context(), jane)
	b.Must(report.Err)
	viewstest.Same(t, "strays once it is settled", len(report.Strays), 0)
	viewstest.Same(t, "base", b.Stored(jane).Base, ones(4000, 5))
}

// The refold of the next posting, also of a late one, or of one that is delivered again, restores a lost balance with
// its segments and summary.
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
		if again := rapid.SliceOfDistinct(rapid.SampledFrom(d.posted[k]), func(p projections.Posting) events.KSUID {
			return p.ID
		}).Draw(t, "delivered again"); len(again) > 0 {
			ids := make([]events.KSUID, len(again))
			for i, p := range again {
				ids[i] = p.ID
			}
			d.must(d.projector.Refold(t.Context(), k, ids))
			d.exact()
		} else if rapid.Bool().Draw(t, "ensure visible") {
			reader := projections.NewReader(d.store.Table, nil)
			d.post(k)
			d.must(reader.EnsureVisible(t.Context(), k.Account, k.Asset, d.posted[k][len(d.posted[k])-1].ID))
		}
		for range rapid.IntRange(1, 5).Draw(t, "more") {
			d.post(k)
			d.must(d.projector.Refold(t.Context(), k, []events.KSUID{d.posted[k][len(d.posted[k])-1].ID}))
		}
		all, _ := naive(d.posted[k], "", "")
		reader := projections.NewReader(d.store.Table, nil)
		strong, err := reader.Balance(t.Context(), k, nil)
		d.must(err)
		credits, _, err := reader.Funds(t.Context(), k.Account, k.Asset)
		d.must(err)
		if strong.Head.Count != all.Count || strong.Head.Credits != all.Credits || credits != all.Credits {
			t.Errorf("strong %+v, credits %s, wanted %+v", strong.Head, credits, all)
		}
		d.exact()
	})
}

// A lost balance counts once in the summary also if its first posting is delivered again, in accounts of as many assets
// as a summary can be recomputed of.
func TestALostBalanceOfALargeAccountCountsOnce(t *testing.T) {
	b := newBook(t)
	k, first := jane, []events.KSUID(nil)
	for n := range projections.CountedAssets {
		k.Asset = fmt.Sprintf("X%03d", n)
		first = b.PostOnes(k, 1)
		b.Refold(k, first...)
	}
	b.Damage().LoseBalance(k)
	b.Projector, _ = on(b.Table, b.Clock, tuning)
	b.Refold(k, first...)
	s, err := b.Summary(t.Context(), k.Account)
	b.Must(err)
	if s.Assets != projections.CountedAssets || s.Holdings != s.Assets {
		t.Errorf("%d of %d balances are counted, %d holdings", s.Assets, projections.CountedAssets, s.Holdings)
	}
}

// If the rebuild of a lost balance is interrupted, the next refold completes it, and the segments remain the same.
func TestLostBalanceIsRebuiltCompletely(t *testing.T) {
	b := segmented(t)
	late := b.PostOnes(jane, 3)
	b.Refold(jane, late...)
	segments := b.AllSegments(jane)
	b.Damage().LoseBalance(jane)
	twoAtOnce := projections.Tuning{Stretch: 4, Segments: 2}
	projector, _ := on(viewstest.CutOff(b.Table), b.Clock, twoAtOnce)
	if err := projector.Refold(t.Context(), jane, late); !errors.Is(err, viewstest.ErrCut) {
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
	fields := make(map[string][]rebuild.Field)
	for _, d := range b.dry() {
		fields[d.Key.SK] = d.Fields
	}
	viewstest.Same(t, "differences", fields, map[string][]rebuild.Field{
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
