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
	ids         map[string]bool // of all entries, to whether it is from a tag
	similar     map[digest]bool // of the entries that the ledger did not have
	sent        []string        // their ids
	first, last string          // days
}

func newAgain(m *mapping, all []*request) *again {
	a := &again{mapping: m, ids: make(map[string]bool), similar: make(map[digest]bool), first: "9"}
	for _, r := range all {
		a.ids[r.ID] = m.ids[r.ID]
		a.first, a.last = min(a.first, r.day()), max(a.last, r.day())
	}
	return a
}

// remember takes the entries that are sent.
func (a *again) remember(sent []*request) {
	for _, r := range sent {
		a.sent = append(a.sent, r.ID)
		a.similar[similar(r.day(), r.Description, r.Postings)] = true
	}
}

const (
	// listedWait is how long Gone waits until the ledger lists what was sent. Its list is about a second behind.
	listedWait  = 20 * time.Second
	listedPause = 500 * time.Millisecond
)

// Gone returns the entries in the ledger that are of this book and that the book no longer has, and those of the book
// that were reversed a moment ago, which the next import posts anew. It is called after the
// lines were sent. isBad reports whether the transaction of a line was not posted. Of this book is what was imported
// from a file of its name; between its first and its last day, also what was imported from a file with which it shares
// entries; and what differs from a new entry in its amounts only.
func (l Lines) Gone(ctx context.Context, isBad func(id string) bool) ([]Gone, error) {
	a := l.again
	if a == nil || !a.hasAccounts { // it is the first import
		return nil, nil
	}
	a.sent = slices.DeleteFunc(a.sent, isBad)
	for end := time.Now().Add(listedWait); ; {
		gone, isWhole, err := a.gone(ctx)
		if err != nil || isWhole || time.Now().After(end) {
			return gone, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(listedPause):
		}
	}
}

// gone reads the ledger's list, and reports whether it has all that was sent. Then it has what was posted before, too.
func (a *again) gone(ctx context.Context) (gone []Gone, isWhole bool, err error) {
	p, _, err := a.readPast(ctx, nil)
	if err != nil {
		return nil, false, err
	}
	listed, shared := make(map[string]bool), make(map[string]bool)
	for _, entries := range p.entries {
		for _, e := range entries {
			listed[e.id] = true
			if isTagged, isInBook := a.ids[e.id]; isInBook && !isTagged && e.book != "" {
				shared[e.book] = true
			}
		}
	}
	for id, e := range p.reversed {
		if isTagged, isInBook := a.ids[id]; isInBook && !isTagged {
			listed[id] = true
			gone = append(gone, Gone{e.id, e.at, e.description, true})
		}
	}
	isUnlisted := func(id string) bool { return !listed[id] && !a.ids[id] }
	for _, entries := range p.entries {
		for _, e := range entries {
			day := dayOf(client.Transaction{PostedAt: e.at})
			isWithin := a.first <= day && day <= a.last
			isOurs := e.book == a.book() || shared[e.book] && isWithin || a.similar[e.similar]
			if _, isInBook := a.ids[e.id]; isInBook || !isOurs {
				continue
			}
			r, err := a.Ledger.Transaction(ctx, e.id) // the list may lack a reversal
			if err != nil {
				return nil, false, err
			}
			if !isReversed(r.Value) {
				gone = append(gone, Gone{e.id, e.at, e.description, false})
			}
		}
	}
	slices.SortFunc(gone, func(a, b Gone) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return gone, !slices.ContainsFunc(a.sent, isUnlisted), nil
}
