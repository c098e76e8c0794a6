package books

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ledger.example/client"
)

// Gone is an entry that only the ledger has, or only the book.
type Gone struct {
	ID, At, Description string
	IsReversed          bool // the book has it, but it was reversed during the import
}

// again is what of a book is needed to find the entries in the ledger that it no longer has.
type again struct {
	*mapping
	ids         map[digest]bool // hashes of the ids of all entries, to whether it is from a tag
	keys        map[key]bool    // of all entries
	similar     map[digest]bool // of the entries that the ledger did not have
	hasAny      bool            // an earlier import posted something
	first, last string          // days
}

func newAgain(m *mapping, p *past) *again {
	a := &again{mapping: m, ids: make(map[digest]bool), keys: make(map[key]bool), similar: make(map[digest]bool),
		hasAny: p.hasAny, first: p.first, last: p.last}
	for i := range m.out.entries {
		e := &m.out.entries[i]
		a.ids[digestOf(m.out.id(e))], a.keys[e.key] = e.isTagged, true
		if e.found == Another {
			a.similar[e.similar] = true
		}
	}
	return a
}

const (
	// listedWait is how long Gone waits until the ledger lists what was sent. Its list is about a second behind.
	listedWait  = 20 * time.Second
	listedPause = 500 * time.Millisecond
)

// Gone returns the entries in the ledger that are of this book and that the book no longer has, and those of the book
// that were reversed a moment ago, which the next import posts anew. It is called after the lines were sent. isBad
// reports whether the transaction of a line was not posted. Of this book is what was imported from a file of its name;
// between its first and its last day, also what was imported from a file of which it has half (sharesHalf); and what
// differs from a new entry in its amounts only.
func (l *Lines) Gone(ctx context.Context, isBad func(id string) bool) ([]Gone, error) {
	a := l.again
	if a == nil || !a.hasAny && !a.hasAccounts { // it is the first import
		return nil, nil
	}
	if err := l.waitListed(ctx, isBad); err != nil {
		return nil, err
	}
	return a.gone(ctx)
}

// waitListed waits until the ledger lists the entry that was sent last. Then it lists what was posted before, too.
func (l *Lines) waitListed(ctx context.Context, isBad func(id string) bool) error {
	i := len(l.entries) - 1
	for ; i >= 0; i-- {
		if e := &l.entries[i]; e.found == Another && !isBad(l.id(e)) {
			break
		}
	}
	if i < 0 {
		return nil
	}
	id := l.id(&l.entries[i])
	from, to := timesOf(string(l.entries[i].key.day[:]))
	for end := time.Now().Add(listedWait); ; {
		for t, err := range l.again.Ledger.Posted(ctx, from, to) {
			if err != nil || t.ID == id {
				return err
			}
		}
		if time.Now().After(end) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(listedPause):
		}
	}
}

// candidate is an entry that may be gone.
type candidate struct {
	id, book string
	isOurs   bool // whatever else the book has of its file
}

// gone reads the ledger's list once.
func (a *again) gone(ctx context.Context) (gone []Gone, err error) {
	var candidates []candidate
	reversed := make(map[string]bool)
	within, shared := make(map[string]int), make(map[string]int)
	for t, err := range a.Ledger.Posted(ctx, time.Time{}, time.Time{}) {
		if err != nil {
			return nil, err
		}
		isTagged, isInBook := a.ids[digestOf(t.Reverses)]
		if t.Reverses != "" && isInBook && !isTagged {
			reversed[t.Reverses] = true
		}
		k, _, ok := keyOfID(t)
		if !ok {
			continue
		}
		book, day := t.Metadata[TagBook], string(k.day[:])
		isWithin := a.first <= day && day <= a.last
		if isWithin {
			within[book]++
		}
		if isTagged, isInBook = a.ids[digestOf(t.ID)]; isInBook {
			if isWithin && !isTagged {
				shared[book]++
			}
			continue
		}
		c := candidate{t.ID, book, book == a.bookName() ||
			!a.keys[k] && a.similar[similar(day, t.Description, client.Legs(t.Postings))]}
		if c.isOurs || isWithin && book != "" {
			candidates = append(candidates, c)
		}
	}
	for id := range reversed {
		candidates = append(candidates, candidate{id: id, isOurs: true})
	}
	for _, c := range candidates {
		if !c.isOurs && !sharesHalf(shared[c.book], within[c.book]) {
			continue
		}
		r, err := a.Ledger.Transaction(ctx, c.id) // the list may lack a reversal
		if err != nil {
			return nil, err
		}
		if t := r.Value; isReversed(t) == reversed[c.id] {
			gone = append(gone, Gone{t.ID, t.PostedAt, t.Description, reversed[c.id]})
		}
	}
	slices.SortFunc(gone, func(a, b Gone) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return gone, nil
}
