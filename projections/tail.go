package projections

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"ledger.example/events"
)

// settledMost is how many settled postings may be left above the seal by a refold that remembers them, so that the seal is moved
// for several pages' worth at once. A strong read reads these, too: some 16 KB at the most.
const settledMost = 64

// tail is the postings that are counted above a balance's seal.
type tail struct {
	after    events.KSUID // postings has all those after it
	postings []Posting
}

// add takes in the next posting. The seal is where it is by now: what lies below may be dropped.
func (t *tail) add(p Posting, seal events.KSUID) {
	if len(t.postings) < aboveMost {
		t.postings = append(t.postings, p)
		return
	}
	if seal > t.after {
		t.cut(seal)
	} else {
		t.postings = nil
	}
	if len(t.postings) == 0 {
		t.after = p.ID
		return
	}
	t.postings = append(t.postings, p)
}

// cut drops the postings at or below seal.
func (t *tail) cut(seal events.KSUID) {
	n := 0
	for n < len(t.postings) && t.postings[n].ID <= seal {
		n++
	}
	t.postings = slices.Delete(t.postings, 0, n)
	t.after = max(t.after, seal)
}

// postings returns the postings after the seal.
//
// Where it is remembered which are counted, they and those that records told the figures of are all that is to be shown, and
// only what the seal is to go past is read: strong reads go by it, so that nothing but the table can tell what lies below. The
// seal stays while that is not worth a request. A posting that no record told of yet is shown when one does.
func (r *refold) postings(ctx context.Context) iter.Seq2[Posting, error] {
	b := r.balance
	known := r.known.with(r.told)
	if known == nil {
		return postings(ctx, r.views, b.Key, b.Seal.Through, "")
	}
	settled, _ := known.find(r.settled)
	if settled <= r.Projector.settled {
		r.settled = ""
		return func(yield func(Posting, error) bool) {
			for _, p := range known.above {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
	return func(yield func(Posting, error) bool) {
		rest := known.above
		for p, err := range postings(ctx, r.views, b.Key, b.Seal.Through, r.settled) {
			if err == nil && len(rest) > 0 && rest[0].ID < p.ID {
				err = missing(rest[0], b.Key)
			}
			if !yield(p, err) || err != nil {
				return
			}
			if len(rest) > 0 && rest[0].ID == p.ID {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 && rest[0].ID <= r.settled {
			yield(Posting{}, missing(rest[0], b.Key))
			return
		}
		for _, p := range rest {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func missing(p Posting, k Key) error {
	return fmt.Errorf("%w: %s of %s in %s was counted and is not there", ErrPostingsMissing, p.ID, k.Asset, k.Account)
}

// with returns m with the postings that were told besides; nil unless all above the seal are known, and all that was told.
func (m *remembered) with(told []mark) *remembered {
	if m == nil || !m.all {
		return nil
	}
	for _, t := range told {
		if t.figures == nil {
			return nil
		}
		at, _ := m.find(t.id)
		m.above = slices.Insert(m.above, at, Posting{ID: t.id, Quantity: t.figures.Quantity, Cost: t.figures.Cost})
	}
	return m
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
		m.all = !r.stored.Unfinished && r.tail.after <= seal
		r.tail.cut(seal)
		m.above = r.tail.postings
	}
	m.add(read)
	return m
}
