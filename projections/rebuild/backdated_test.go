package rebuild_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// rebuildBeside rebuilds jane's balance, and calls then once: before the balance is read, or after the first page of
// postings was.
func (b *book) rebuildBeside(beforeBalance bool, then func()) rebuild.Report {
	b.Helper()
	done := false
	once := func() {
		if !done {
			done = true
			then()
		}
	}
	hooked := &viewstest.Hooked{Table: b.Table}
	if beforeBalance {
		hooked.BeforeBalance = func(events.Pair) error { once(); return nil }
	} else {
		hooked.AfterPostings = func(page []table.Item) ([]table.Item, error) { once(); return page, nil }
	}
	_, rebuilder := on(hooked, b.Clock, tuning)
	report := rebuilder.Balance(b.Context(), jane)
	b.Must(report.Err)
	return report
}

// A backdated posting that is recorded while a rebuild reads is young, wherever its KSUID is: in a segment, in the open
// stretch, or as the first of all. After LateFor it is late no longer, and the item that lacks it is wrong.
func TestYoungBackdatedPostingIsNotADifference(t *testing.T) {
	for name, at := range map[string]int{"first": 1, "in a segment": 11, "in the open stretch": 43, "last": 99} {
		for _, beforeBalance := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, before the balance is read: %t", name, beforeBalance), func(t *testing.T) {
				b := segmented(t)
				b.Refold(jane, b.PostOnes(jane, 42, 44)...)
				lost := func(name string) (wrong int) {
					for _, d := range b.dry() {
						if !d.Behind {
							wrong++
						}
					}
					return wrong
				}
				report := b.rebuildBeside(beforeBalance, func() { b.PostBackdated(jane, at) })
				if beforeBalance && len(report.Differences) == 0 {
					t.Error("no difference: this proves nothing")
				}
				for _, d := range report.Differences {
					if !d.Behind {
						t.Errorf("%+v", d)
					}
				}
				b.Must(b.rebuilder.Balance(t.Context(), jane).Err)
				b.PostBackdated(jane, at+1002)
				b.PostBackdated(jane, at+2)
				if n := lost("young"); n > 0 {
					t.Errorf("%d differences of young postings", n)
				}
				b.Time = b.Time.Add(rebuild.LateFor + time.Second)
				b.PostBackdated(jane, at+4) // what is young does not excuse what is not
				if lost("old") == 0 {
					t.Error("postings that nobody has counted for LateFor are no difference")
				}
			})
		}
	}
}

// Rebuilds run while clients post, most of it backdated, and projectors count each posting within half of LateFor. No
// rebuild finds anything wrong. A large posting that no projector counts is found, whatever else is young.
func TestRebuildsBesideBackdatedPostings(t *testing.T) {
	for seed := range uint64(100) {
		for _, loses := range []bool{false, true} {
			h := newBeside(t, seed)
			h.run(loses)
			if t.Failed() {
				t.Fatalf("seed %d, loses a posting: %t", seed, loses)
			}
		}
	}
}

// beside is a book with clients and projectors that are about to act.
type beside struct {
	*book
	*rand.Rand
	used    map[int]bool // milliseconds that have a posting
	waiting []unseen
}

// unseen is a posting whose record no projector has received yet.
type unseen struct {
	id       events.KSUID
	recorded time.Time
}

func newBeside(t *testing.T, seed uint64) *beside {
	h := &beside{book: newBook(t), Rand: rand.New(rand.NewPCG(seed, 37)), used: make(map[int]bool)}
	for range 12 {
		h.step()
	}
	h.project(true)
	return h
}

// unused returns a millisecond of the past without a posting.
func (h *beside) unused() int {
	at := h.IntN(1_000_000)
	for h.used[at] {
		at = h.IntN(1_000_000)
	}
	h.used[at] = true
	return at
}

// step is what a client or a projector does next. Time may pass.
func (h *beside) step() {
	switch h.IntN(4) {
	case 0:
		if now := int(h.Time.Sub(morning).Milliseconds()); !h.used[now] {
			h.used[now] = true
			h.waiting = append(h.waiting, unseen{h.PostOnes(jane, now)[0], h.Time})
		}
	case 1:
		h.waiting = append(h.waiting, unseen{h.PostBackdated(jane, h.unused())[0], h.Time})
	case 2:
		h.project(false)
	default:
		h.Time = h.Time.Add(time.Duration(h.IntN(3000)) * time.Millisecond)
		h.project(false)
	}
}

// project projects some postings, in any order, and all that have waited for half of LateFor.
func (h *beside) project(all bool) {
	var ids []events.KSUID
	h.waiting = slices.DeleteFunc(h.waiting, func(u unseen) bool {
		isDue := all || h.Time.Sub(u.recorded) > rebuild.LateFor/2 || h.IntN(3) == 0
		if isDue {
			ids = append(ids, u.id)
		}
		return isDue
	})
	h.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		h.Refold(jane, id)
	}
}

const large = 1_000_000

func (h *beside) run(loses bool) {
	if loses {
		lost := events.Figures{Quantity: events.NewAmount(large), Backdated: true, RecordedAt: h.Time}
		h.Must(h.Post(h.Context(), jane, projections.Posting{ID: ksuid(h.unused()), Figures: lost}))
		for began := h.Time; h.Time.Sub(began) <= rebuild.LateFor; {
			h.step()
		}
	}
	sometimes := func() {
		if h.IntN(3) == 0 {
			h.step()
		}
	}
	_, rebuilder := on(&viewstest.Hooked{
		Table:         h.Table,
		BeforeBalance: func(events.Pair) error { h.step(); return nil },
		AfterPostings: func(page []table.Item) ([]table.Item, error) { sometimes(); return page, nil },
		BeforeWrite:   func(int, []table.Write) error { sometimes(); return nil },
	}, h.Clock, tuning)
	wrong := 0
	scope := rebuild.Scope{Account: "jane", DryRun: loses || h.IntN(2) == 0}
	h.Must(rebuilder.Account(h.Context(), scope, func(p rebuild.Report) {
		if p.Err != nil || len(p.Strays) > 0 {
			h.Errorf("%+v", p)
		}
		for _, d := range p.Differences {
			if !d.Behind {
				wrong++
			}
			if !d.Behind && !loses {
				h.Errorf("false alarm: %+v", d)
			}
		}
	}))
	counted := h.Stored(jane).Head.Credits.Cmp(events.NewAmount(large)) > 0 // by the refold of another posting beside it
	if loses && wrong == 0 && !counted {
		h.Error("nobody has counted a posting, and that is no difference")
	}
}
