package api

import (
	"context"

	"ledger.example/events"
	"ledger.example/projections"
)

// ruleFromAfter is the rule of the two ways to say where to begin.
const ruleFromAfter = "must not be given together with after"

// Journal is what happened, in the order in which it was listed. Errors are those of package store.
type Journal interface {
	After(ctx context.Context, s projections.Slice) (projections.Listed[projections.ResolvedEntry], error)
}

// happened is an entry of the journal.
type happened struct {
	Event       string      `json:"event"`
	At          string      `json:"at"`
	Cursor      string      `json:"cursor"` // of what follows
	Transaction transaction `json:"transaction"`
}

// journalPage is a page of the journal, which has no end.
type journalPage struct {
	Data []happened `json:"data"`
	Next string     `json:"next_cursor"`
}

// listJournal lists what happened after a cursor, or from a time on, else from the beginning.
func (a *api) listJournal(r *request) (reply, error) {
	l := r.list("ledger", a.config.Ledger).by(isJournalPosition)
	s := r.sliceAfter(paramAfter, l)
	if from, given := a.past(r, paramFrom); given {
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
	listed = within(listed, func(h projections.ResolvedEntry) (string, int) {
		return h.Position, weight(h.Transaction)
	})
	page := journalPage{Data: make([]happened, len(listed.Items)), Next: l.cursor(listed.Next)}
	for i, h := range listed.Items {
		page.Data[i] = happened{
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
