package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"ledger.example/events"
)

// JournalEntry has one event of the journal.
type JournalEntry struct {
	// The same whenever the event is told: the partition key and the sort key of its item, with a slash between.
	ID   string `json:"id" most:"999"`
	Type string `json:"type" is:"EventType"` // one of events.Types
	// When it was recorded.
	At string `json:"at" is:"Time"`
	// The position right after this entry.
	Cursor string `json:"cursor" most:"999"`
	// What the event made, as of this event: an Asset, an Account, a Member, a Group, an AccountGroups
	// (`account.grouped`, `account.ungrouped`), a Period, or a Transaction without what was reversed of it
	// (`transaction.posted`, `hold.…`).
	Data json.RawMessage `json:"data"`
	// The canonical form of the event (RFC 8785). Its SHA-256 begins with the event's stored checksum.
	Canonical string `json:"canonical" most:"409600"`
}

// EventType is the syntax of the type of an event.
const EventType = "EventType"

// Transaction returns the transaction of events.TypePosted and of the types of holds, as of this event. ok is false for
// other types.
func (e JournalEntry) Transaction() (t Transaction, ok bool, err error) {
	switch e.Type {
	case events.TypePosted, events.TypeHeld, events.TypeCaptured, events.TypeReleased, events.TypeExpired:
		err = json.Unmarshal(e.Data, &t)
		return t, err == nil, err
	}
	return t, false, nil
}

// JournalPage has a page of the journal. It is empty if there are no newer entries yet.
type JournalPage struct {
	Data []JournalEntry `json:"data"`
	// The position of the next page. It is never null, because the journal has no end.
	NextCursor string `json:"next_cursor" most:"999"`
}

// JournalQuery selects entries of the journal. The zero value begins with its first entry.
type JournalQuery struct {
	// A cursor of an entry, or the `next_cursor` of a page. The entries after it follow. Without it, the journal begins
	// with its first entry. One of another ledger, or of a ledger that was restored to before the cursor, is refused.
	After string `query:"after" is:"Cursor" filter:"-"`
	// Begin with the entries that were listed at this time. It must not be in the future. It cannot be given together
	// with `after`.
	From time.Time `query:"from" time:"past" without:"after" filter:"-" example:"2026-11-21T00:00:00Z"`
	// Only events of this type. A cursor is valid for any type.
	Type string `query:"type" is:"EventType" filter:"-" example:"transaction.posted"`
	// The most entries on the page.
	Limit *int `query:"limit" least:"1" most:"100" default:"20" filter:"-"`
}

// Each event, in the order in which it was listed, soon after it was recorded: transactions and ends of holds, assets,
// accounts and their changes, groups, and grants. The end of a hold may come before its hold. The journal is about 20
// seconds behind the ledger. It has no end: store `next_cursor`, and send it with the next request. A program that
// continues with the cursor of the last entry that it processed misses no entry, but may get one twice.
var ListJournal = Op[JournalQuery, JournalPage]{
	ID: "listJournal", Path: "/v1/journal", Summary: "Read the journal", May: admins,
}

// JournalPage reads one page of the journal, with at most limit (1 to PageLimit) entries. A page may be short. With
// q.After, q.From is ignored.
func (c *Client) JournalPage(ctx context.Context, q JournalQuery, limit int) (Reply[JournalPage], error) {
	if q.Limit = &limit; q.After != "" {
		q.From = time.Time{}
	}
	return ListJournal.Call(ctx, c, q)
}

// Journal iterates over the entries of the journal, in the order in which they were listed: soon after they were
// recorded, but the end of a hold may come before its hold. It stops at the newest entry; the journal is about 20
// seconds behind. To follow the journal, store the cursor of each entry that you processed, and call Journal again with
// the last one. You then miss no entry, but may get one twice. After an error the iteration ends.
func (c *Client) Journal(ctx context.Context, from JournalQuery) iter.Seq2[JournalEntry, error] {
	return func(yield func(JournalEntry, error) bool) {
		for from := from; ; { // a copy: each range over the iterator begins at from
			r, err := c.JournalPage(ctx, from, PageLimit)
			if err != nil {
				yield(JournalEntry{}, err)
				return
			}
			for _, e := range r.Value.Data {
				if !yield(e, nil) {
					return
				}
			}
			if r.Value.NextCursor == from.After {
				return
			}
			from.After = r.Value.NextCursor
		}
	}
}
