package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"ledger.example/events"
)

// What a refold that remembers may leave above the seal, so that the seal is moved for several pages' worth at once: so many
// settled postings (a strong read reads these, too: some 16 KB at the most), of which the first was settled for no longer than
// that. A posting whose record never comes is found, and shown, when the seal goes past it.
const (
	settledMost = 64
	settledFor  = time.Minute
)

// ErrFiguresDiffer is returned when a posting is found to have other figures than its record showed: one of them was altered.
var ErrFiguresDiffer = errors.New("posting was counted with other figures")

// tail is the postings that are counted above a balance's seal.
type tail struct {
	after    events.KSUID // postings has all those after it
	postings []Posting
}

// add takes in the next posting. The seal is where it is by now: what lies below may be dropped.
func (t *tail) add(p Posting, seal events.KSUID) {
	if len(t.postings) >= aboveMost {
		if seal <= t.after {
			t.after, t.postings = p.ID, nil
			return
		}
		t.cut(seal)
	}
	t.postings = append(t.postings, p)
}

// cut drops the postings at or below seal.
func (t *tail) cut(seal events.KSUID) {
	n := 0
	for n < len(t.postings) && t.postings[n].ID <= seal {
		n++
	}
	if n > 0 {
		t.postings = slices.Clone(t.postings[n:]) // what is kept for long holds nothing else
	}
	t.after = max(t.after, seal)
}

// postings returns the postings after the seal.
//
// Where it is remembered which are counted, they and those that records told the figures of are all that is to be shown, and
// only what the seal is to go past is read: strong reads go by it, so that nothing but the table can tell what lies below. The
// seal stays while that is not worth a request. A posting that no record told of yet is shown when one does.
func (r *refold) postings(ctx context.Context) iter.Seq2[Posting, error] {
	b := r.balance
	if !r.known.tell(r.told) {
		return postings(ctx, r.views, b.Key, b.Seal.Through, "")
	}
	above := r.known.above
	if !r.worthReading() {
		r.settled = ""
		return func(yield func(Posting, error) bool) {
			for _, p := range above {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
	return func(yield func(Posting, error) bool) {
		rest := above
		for p, err := range postings(ctx, r.views, b.Key, b.Seal.Through, r.settled) {
			if err == nil && len(rest) > 0 && rest[0].ID == p.ID {
				if rest[0] != p {
					err = fmt.Errorf("%w: %s of %s in %s", ErrFiguresDiffer, p.ID, b.Asset, b.Account)
				}
				rest = rest[1:]
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
		if len(rest) > 0 && rest[0].ID <= r.settled {
			yield(Posting{}, fmt.Errorf("%w: %s of %s in %s was counted and is not there", ErrPostingsMissing, rest[0].ID, b.Asset, b.Account))
			return
		}
		for _, p := range rest {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// worthReading tells whether the settled postings that are remembered are so many, or so old, that the seal is to go past them.
func (r *refold) worthReading() bool {
	settled, _ := r.known.find(r.settled)
	if settled == 0 {
		return false
	}
	return settled > r.Projector.leave || r.settled.Time().Sub(r.known.above[0].ID.Time()) > settledFor
}

// tell takes in the postings that were told besides, and tells whether m now has all that is to be counted above the seal: nil
// has none, and nothing is taken in unless the figures of all were told.
func (m *remembered) tell(told []mark) bool {
	if m == nil || !m.all || slices.ContainsFunc(told, func(t mark) bool { return t.figures == nil }) {
		return false
	}
	for _, t := range told {
		at, _ := m.find(t.id)
		m.above = slices.Insert(m.above, at, Posting{ID: t.id, Quantity: t.figures.Quantity, Cost: t.figures.Cost})
	}
	return true
}

// learned returns what this attempt, which succeeded, knows of the stored balance; read are postings that it read, of which each
// is counted by now.
func (r *refold) learned(read []events.KSUID) *remembered {
	m := r.known
	if m == nil {
		m = &remembered{}
	}
	m.balance = r.stored
	if seal := r.stored.Seal.Through; r.tail != nil {
		m.all = r.tail.after <= seal
		r.tail.cut(seal)
		m.above = r.tail.postings
	}
	m.add(read)
	return m
}
