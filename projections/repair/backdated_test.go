package repair_test

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/internal/store"
	"ledger.example/projections"
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
			_, rebuilder := on(&viewstest.Hooked{Table: b.Table, BeforeWrite: func(write int, _ []store.Write) error {
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
