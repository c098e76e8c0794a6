package api

import (
	"context"

	"ledger.example/events"
	"ledger.example/projections"
)

// ruleFromAfter is the rule for from in a request with after.
const ruleFromAfter = "must not be given together with after"

// Journal reads the journal, in the order in which its entries were listed. Errors are those of package store.
type Journal interface {
	After(ctx context.Context, s projections.Slice) (projections.Page[projections.ResolvedEntry], error)
}

// journalEntry is an entry of the journal.
type journalEntry struct {
	Event       string      `json:"event"`
	At          string      `json:"at"`
	Cursor      string      `json:"cursor"` // the position right after this entry
	Transaction transaction `json:"transaction"`
}

// journalPage is a page of the journal. It always has a next cursor, because the journal has no end.
type journalPage struct {
	Data []journalEntry `json:"data"`
	Next string         `json:"next_cursor"`
}

// listJournal lists entries of the journal: after a cursor, from a time on, or from the beginning.
func (a *api) listJournal(r *request) (reply, error) {
	l := r.list("ledger", a.config.Ledger).by(isJournalPosition)
	s := r.sliceAfter(paramAfter, l)
	if from, given := a.pastTime(r, paramFrom); given {
		if _, both := r.query[paramAfter]; both {
			r.failOnce(paramFrom, ruleFromAfter)
		}
		s.After = projections.JournalFrom(wholeMicros(from))
	}
	if err := r.check(); err != nil {
		return reply{}, err
	}
	listed, err := a.config.Journal.After(r.http.Context(), s)
	if err != nil {
		return reply{}, err
	}
	listed = cutPage(listed, func(h projections.ResolvedEntry) (string, int) {
		return h.Position, maxBytes(h.Transaction)
	})
	page := journalPage{Data: make([]journalEntry, len(listed.Items)), Next: l.cursor(listed.Next)}
	for i, h := range listed.Items {
		page.Data[i] = journalEntry{
			h.Event, events.FormatTime(h.At), l.cursor(h.Position), showHold(h.Transaction),
		}
	}
	return ok(page)
}

// isJournalPosition reports whether text can be a position in the journal.
func isJournalPosition(text string) bool {
	_, _, ok := projections.JournalPosition(text)
	return ok
}
