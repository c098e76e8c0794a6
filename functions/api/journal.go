package api

import (
	"bytes"
	"encoding/json"
	"errors"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Entry returns an entry of the journal as the API shows it, with its cursor.
func Entry(e projections.ResolvedEntry, cursor string) (client.JournalEntry, error) {
	data, err := marshal(showEvent(e))
	return client.JournalEntry{
		ID: e.Event.ID(), Type: e.Type, At: events.FormatTime(e.At), Cursor: cursor, Data: data,
		Canonical: string(events.AppendCanonical(nil, e.Recorded)),
	}, err
}

// journalPage is a page of the journal. It always has a next cursor, because the journal has no end.
type journalPage struct {
	Data []json.RawMessage `json:"data"` // of client.JournalEntry
	Next string            `json:"next_cursor"`
}

// journal shows entries of the journal: after a cursor, from a time on, or from the beginning.
func (a *api) journal(r *request, in *client.JournalQuery, l listed, s projections.Slice) (reply, error) {
	if !in.From.IsZero() {
		s.After = projections.JournalFrom(in.From).String()
	}
	listed, err := a.config.Journal.After(r.ctx(), s, in.Type)
	if errors.Is(err, projections.ErrNotInJournal) {
		r.failCursor(paramAfter, errCursorElsewhere)
		return reply{}, r.check()
	}
	if err != nil {
		return reply{}, err
	}
	page := journalPage{Data: make([]json.RawMessage, len(listed.Items))}
	for i, e := range listed.Items {
		entry, err := Entry(e, l.cursor(e.Position))
		if err != nil {
			return reply{}, err
		}
		if page.Data[i], err = marshal(entry); err != nil {
			return reply{}, err
		}
	}
	shown := 0
	listed = cutPage(listed, func(e projections.ResolvedEntry) (string, int) {
		shown++
		return e.Position, escapedBytes(page.Data[shown-1])
	})
	page.Data, page.Next = page.Data[:len(listed.Items)], l.cursor(listed.Next)
	return ok(page)
}

// escapedBytes returns how many bytes a JSON text takes in the answer of a Lambda function, where it is in a string.
func escapedBytes(text []byte) int {
	return len(text) + bytes.Count(text, []byte(`"`)) + bytes.Count(text, []byte(`\\`))
}

// showEvent shows what an event made, as a GET of it would right after the event.
func showEvent(entry projections.ResolvedEntry) any {
	switch e := entry.Recorded.(type) {
	case events.TransactionPosted:
		return showTransaction(events.Transaction{Header: e})
	case events.HoldEnded:
		header, _ := entry.Of.(events.TransactionPosted)
		return showTransaction(events.Transaction{Header: header, Ended: &e})
	case events.AssetRegistered:
		return showAsset(e)
	case events.AccountOpened:
		return showAccount(ledger.NewAccount(e, nil))
	case events.AccountChanged:
		opening, _ := entry.Of.(events.AccountOpened)
		return showAccount(ledger.NewAccount(opening, &e))
	case events.GroupRegistered:
		return showGroup(e)
	case events.AccountGrouped:
		return showGroups(e.Changed(), e.Account, e.Groups)
	case events.PeriodClosed:
		return showPeriod(e)
	case events.MemberGranted:
		return showRole(e.Account, e.Group, e.User, e.Role)
	}
	return nil
}
